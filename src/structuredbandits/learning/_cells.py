"""A log as a table of cells: counts, means and variances of rewards per segment and arm.

One group-by computes it, in pandas or in a database; everything that is learned follows from it.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from structuredbandits.errors import InvalidInput, InvalidReward
from structuredbandits.learning._ibis_grouping import (
    as_table,
    group_table,
    has_duckdb,
    is_ibis_table,
    open_files,
    require_ibis,
)
from structuredbandits.learning._own_logs import (
    UNWEIGHTED,
    ProbabilityColumn,
    Weighting,
    doubt_of,
    find_probability,
)
from structuredbandits.learning._pandas_grouping import (
    EXAMPLE,
    Columns,
    group_frames,
    key_names,
    merge,
)
from structuredbandits.learning.log_reader import column_names, find_files, is_path, stream
from structuredbandits.progress import Mode, reporting
from structuredbandits.structure import FloatArray, Theta, read_only

if TYPE_CHECKING:
    import pandas as pd

Engine = Literal["auto", "pandas", "ibis"]
WeightKind = Literal["importance", "frequency"]
_ENGINES = ("auto", "pandas", "ibis")
_KINDS = ("importance", "frequency")
# Not "007", which is a code, nor "1e5", nor a number too long to be kept exactly.
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,9})?")


class RowCounts(NamedTuple):
    """How many rows of a log were used, and why others were left out."""

    total: int
    used: int
    missing_reward: int
    """Left out: the reward is missing or NaN."""
    missing_label: int
    """Left out: the arm or the segment is missing."""
    weightless: int
    """Left out: their weight is 0."""


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """The statistics of a log per cell, which is one segment and one arm; made by `read_cells`.

    Attributes
    ----------
    segments
        The values of the segment columns, sorted; tuples if there are several columns.
    segment_names, arms
        Names of the segment columns, and of the arms.
    counts : (segments, arms)
        The number of rewards per cell; with weights the effective sample size, which is the
        number of equally weighted rows that would be as precise. 0 where there are none.
    weights : (segments, arms)
        Sums of weights, without probabilities; their shares are the prior.
    means : (segments, arms)
        NaN where there are no rewards.
    deviations : (segments, arms)
        Sums of squared (weighted) distances from the cell's mean.
    freedom : (segments, arms)
        The divisor of the deviations for an unbiased variance: the number of rows minus one.
    low, high : (segments, arms)
        The least and the largest reward.
    rows
        The number of rows, and why some were left out.
    weighting
        The column of probabilities by which rewards were weighted, if there is one.
    whole
        Whether every reward is a whole number.
    used : (segments,)
        The number of rows per segment.
    """

    segments: tuple[Theta, ...]
    segment_names: tuple[str, ...]
    arms: tuple[str, ...]
    counts: FloatArray
    weights: FloatArray
    means: FloatArray
    deviations: FloatArray
    freedom: FloatArray
    low: FloatArray
    high: FloatArray
    rows: RowCounts
    weighting: Weighting = UNWEIGHTED
    whole: bool = False
    used: FloatArray | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return flat rows: one per segment and arm with rewards."""
        import pandas as pd

        i, k = np.nonzero(self.counts)
        labels = [s if isinstance(s, tuple) else (s,) for s in self.segments]
        columns: dict[str, Any] = {
            name: [labels[row][place] for row in i] for place, name in enumerate(self.segment_names)
        }
        columns["arm"] = [self.arms[column] for column in k]
        spread = np.sqrt(self.deviations[i, k] / np.maximum(self.freedom[i, k], 1e-300))
        columns |= {
            "count": self.counts[i, k],
            "mean": self.means[i, k],
            "standard_deviation": np.where(self.freedom[i, k] > 0, spread, np.nan),
            "low": self.low[i, k],
            "high": self.high[i, k],
        }
        return pd.DataFrame(columns)

    def __repr__(self) -> str:
        return (
            f"<Cells: {self.rows.used:,} rewards, {len(self.segments):,} segments, "
            f"{len(self.arms)} arms>"
        )


def read_cells(
    log: Any,
    *,
    arm: str,
    segment: str | Sequence[str],
    reward: str,
    weight: str | None = None,
    weight_kind: WeightKind = "importance",
    probability: ProbabilityColumn = None,
    engine: Engine = "auto",
    progress: Mode = "off",
) -> Cells:
    """Group a log by segment and arm.

    The parameters are those of `learn_structure`, which calls this function. Use it directly to
    try several estimates with `estimate_structure` while reading a large log once.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"genre": ["war", "art", "war"], "age": [20] * 3, "stars": [3, 4, 5]})
    >>> cells = read_cells(log, arm="genre", segment="age", reward="stars")
    >>> cells.arms, cells.segments, cells.counts, cells.means
    (('art', 'war'), (20,), array([[1., 2.]]), array([[4., 4.]]))
    """
    columns = _columns(arm, segment, reward, weight)
    present = column_names(log)
    chance = find_probability(probability, present, columns.all, weight)
    columns = _columns(arm, segment, reward, weight, chance)
    _check_engine(engine)
    if weight_kind not in _KINDS:
        raise InvalidInput(
            f"weight_kind = {weight_kind!r} is unknown; choose {' or '.join(_KINDS)}."
        )
    if chance is not None and weight is not None and weight_kind == "frequency":
        raise InvalidInput(
            f"counts in column {weight!r} cannot be combined with the probabilities in "
            f"{chance!r}; give one row per decision, or probability=False."
        )
    raw = _raw_cells(log, columns, engine, progress)
    merged, rows = _merged(raw, columns)
    plain = weight is None and (chance is None or not raw["random"].any())
    cells = _as_arrays(merged, columns, "frequency" if plain else weight_kind, rows)
    n_random = int(raw["random"].sum())
    doubt = doubt_of(probability, chance, n_random, present, cells.weights, cells.means)
    return replace(cells, weighting=Weighting(chance if n_random else None, doubt))


def _columns(
    arm: str,
    segment: str | Sequence[str],
    reward: str,
    weight: str | None,
    probability: str | None = None,
) -> Columns:
    segments = (segment,) if isinstance(segment, str) else tuple(segment)
    if not segments:
        raise InvalidInput("segment names no column; give at least one, such as ['age'].")
    columns = Columns(arm, segments, reward, weight, probability)
    seen: set[str] = set()
    for name in columns.all:
        if not isinstance(name, str):
            raise InvalidInput(f"{name!r} is not the name of a column; give text.")
        if name in seen:
            raise InvalidInput(
                f"column {name!r} is given twice; give different columns for arm, segment, "
                "reward, weight and probability."
            )
        seen.add(name)
    return columns


def _raw_cells(log: Any, columns: Columns, engine: Engine, progress: Mode) -> pd.DataFrame:
    title = "reading the log"
    if is_ibis_table(log):
        if engine == "pandas":
            raise InvalidInput("an Ibis table is grouped by its own database; use engine='ibis'.")
        with reporting(progress, title, 100) as reporter:
            return group_table(log, columns, reporter)
    if engine == "ibis":
        require_ibis()
    files = find_files(log) if is_path(log) else None
    # JSON lines are read piece by piece with every engine.
    if files is not None and files.kind != "jsonl" and engine != "pandas" and has_duckdb():
        table = open_files(files, columns.all)
        with reporting(progress, title, 100) as reporter:
            return group_table(table, columns, reporter)
    pieces = stream(log, columns.all)
    if engine == "ibis":
        arrow = _to_arrow(pieces.frames)
        with reporting("off", title, 100) as reporter:
            return group_table(as_table(arrow), columns, reporter)
    with reporting(progress if pieces.total else "off", title, pieces.total) as reporter:

        def counted() -> Any:
            for frame in pieces.frames:
                yield frame
                reporter.advance(len(frame))

        return group_frames(counted(), columns)


def _to_arrow(frames: Any) -> Any:
    import pandas as pd
    import pyarrow as pa

    frame = pd.concat(list(frames), ignore_index=True)
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except pa.ArrowException as error:
        raise InvalidInput(
            f"the log has a column of mixed kinds ({' '.join(str(error).split())}); make it all "
            "texts or all numbers, or use engine='pandas'."
        ) from None


def _check_engine(engine: str) -> None:
    if engine not in _ENGINES:
        raise InvalidInput(f"engine = {engine!r} is unknown; choose one of {', '.join(_ENGINES)}.")


def group_log(
    log: Any, columns: Columns, *, engine: Engine, progress: Mode
) -> tuple[pd.DataFrame, RowCounts]:
    """Group a log by its key columns: a flat table of moments, one row per combination.

    The keys are called key_0, key_1 and so on, the arm last.
    """
    _check_engine(engine)
    return _merged(_raw_cells(log, columns, engine, progress), columns)


def _merged(raw: pd.DataFrame, columns: Columns) -> tuple[pd.DataFrame, RowCounts]:
    """Raise on invalid values, leave out and count missing ones, and merge equal labels."""
    labels = _labels(raw, columns)
    if raw["unreadable"].any():
        examples = [text for text in raw[EXAMPLE].tolist() if isinstance(text, str)]
        raise InvalidReward(
            f"column {columns.reward!r} holds {int(raw['unreadable'].sum()):,} rewards that are "
            f"not numbers, such as {examples[0]!r}; turn them into numbers or remove these rows."
        )
    if raw["infinite"].any():
        raise InvalidReward(
            f"column {columns.reward!r} holds {int(raw['infinite'].sum()):,} infinite rewards; "
            "remove these rows or give finite numbers."
        )
    if raw["bad_weights"].any():
        raise InvalidInput(
            f"column {columns.weight!r} holds {int(raw['bad_weights'].sum()):,} weights that are "
            "negative, missing or not finite; give weights of at least 0."
        )
    _check_probabilities(raw, columns)
    unnamed = labels.isna().any(axis=1).to_numpy()
    named = raw.loc[~unnamed].assign(
        **{name: labels.loc[~unnamed, name] for name in key_names(columns)}
    )
    rows = RowCounts(
        total=int(raw["rows"].sum()),
        used=int(named["used"].sum()),
        missing_reward=int(named["missing"].sum()),
        missing_label=int(raw.loc[unnamed, "rows"].sum()),
        weightless=int((named["rows"] - named["used"] - named["missing"]).sum()),
    )
    named = named.loc[named["used"] > 0]
    if not len(named):
        raise InvalidInput(
            f"none of the {rows.total:,} rows of the log has an arm, a segment and a reward; "
            "check the names of the columns."
        )
    # Two values can be one label, such as 1 and "1" in different files.
    return merge([named, named.iloc[:0]], columns), rows


def _check_probabilities(raw: pd.DataFrame, columns: Columns) -> None:
    bad = int(raw["bad_probabilities"].sum())
    if raw["random"].any():  # where all others are 0 or 1, a 0 is only a way of writing
        bad += int(raw["impossible"].sum())
    if bad:
        raise InvalidInput(
            f"column {columns.probability!r} holds {bad:,} probabilities that are missing or not "
            "above 0 and at most 1; give the probability with which the arm of the row was chosen, "
            "or ignore the column with probability=False."
        )


def _labels(raw: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """Return key values as plain Python numbers and text, equal for every engine."""
    import pandas as pd

    names = key_names(columns)
    read = {name: _column_labels(raw[name].tolist()) for name in names}
    read[names[-1]] = [None if v is None else str(v) for v in read[names[-1]]]
    return pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in read.items()}).set_index(
        raw.index
    )


def _column_labels(values: list[Any]) -> list[float | str | None]:
    """Return numbers if all values are numbers, text otherwise.

    Examples
    --------
    >>> _column_labels([18.0, 25.0]), _column_labels(["18", "25.0", ""])
    ([18, 25], [18, 25, None])
    >>> _column_labels(["018", 2]), _column_labels(["1.1", "1.10"])
    (['018', '2'], ['1.1', '1.10'])
    """
    plain = [_plain(value) for value in values]
    numbers = {value: _number(value) for value in plain if value is not None}
    all_numbers = all(number is not None for number in numbers.values())
    if all_numbers and len(set(numbers.values())) == len(numbers):
        return [None if value is None else numbers[value] for value in plain]
    return [None if value is None else str(value) for value in plain]


def _plain(value: Any) -> float | str | None:
    """Return one key as a number or text; None if it is missing."""
    if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int) and abs(value) >= 2**53:
        return str(value)  # a float could not distinguish it from its neighbour
    if isinstance(value, int | float):
        return int(value) if float(value).is_integer() else float(value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    text = str(value).strip()
    return text or None


def _number(value: float | str) -> float | None:
    """Return a label as a number; None for text that is not plainly a number."""
    if not isinstance(value, str):
        return value
    if not _PLAIN_NUMBER.fullmatch(value):
        return None
    number = float(value)
    return int(number) if number.is_integer() else number


def _as_arrays(merged: pd.DataFrame, columns: Columns, kind: WeightKind, rows: RowCounts) -> Cells:
    names = key_names(columns)
    keys = list(zip(*(merged[name].tolist() for name in names[:-1]), strict=True))
    segments = sorted(set(keys))
    arms = sorted(set(merged[names[-1]].tolist()), key=_arm_order)
    place = {segment: i for i, segment in enumerate(segments)}
    column = {name: k for k, name in enumerate(arms)}
    i = np.array([place[key] for key in keys])
    k = np.array([column[name] for name in merged[names[-1]].tolist()])
    shape = (len(segments), len(arms))

    def spread(values: Any, empty: float) -> FloatArray:
        table = np.full(shape, empty)
        table[i, k] = np.asarray(values, dtype=float)
        return read_only(table)

    weight, squared = merged["weight"].to_numpy(), merged["squared_weight"].to_numpy()
    # Kish's effective sample size: importance weights do not add information.
    counts = weight if kind == "frequency" else np.square(weight) / squared
    freedom = weight - 1.0 if kind == "frequency" else weight - squared / weight
    single = len(columns.segment) == 1
    return Cells(
        segments=tuple(key[0] if single else key for key in segments),
        segment_names=columns.segment,
        arms=tuple(arms),
        counts=spread(counts, 0.0),
        weights=spread(merged["share"], 0.0),
        means=spread(merged["mean"], np.nan),
        deviations=spread(merged["deviations"], 0.0),
        freedom=spread(np.maximum(freedom, 0.0), 0.0),
        low=spread(merged["low"], np.nan),
        high=spread(merged["high"], np.nan),
        rows=rows,
        whole=not merged["fractional"].any(),
        used=read_only(spread(merged["used"], 0.0).sum(axis=1)),
    )


def _arm_order(name: str) -> tuple[bool, float, str]:
    """Sort numbers by size before text by alphabet, as in 1, 2, 10, all."""
    number = _number(name)
    return (number is None, number if number is not None else 0.0, name)
