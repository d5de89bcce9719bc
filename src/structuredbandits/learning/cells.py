"""A log as a table of cells: how often, how much and how widely each segment rewarded each arm.

One group-by makes it, in pandas or in a database; everything that is learned follows from it.
This module must not know how means are estimated.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from structuredbandits.errors import InvalidInput, InvalidReward
from structuredbandits.learning.grouping import EXAMPLE, Columns, group_frames, key_names, merge
from structuredbandits.learning.logs import find_files, is_path, stream
from structuredbandits.learning.tables import (
    as_table,
    group_table,
    has_duckdb,
    is_ibis_table,
    open_files,
    require_ibis,
)
from structuredbandits.simulation.progress import Mode, reporting
from structuredbandits.structure.theta import FloatArray, Theta, read_only

if TYPE_CHECKING:
    import pandas as pd

Engine = Literal["auto", "pandas", "ibis"]
WeightKind = Literal["importance", "frequency"]
_ENGINES = ("auto", "pandas", "ibis")
_KINDS = ("importance", "frequency")
# Not "007", which is a code, nor "1e5", nor a number too long to be kept exactly.
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,9})?")


class RowCounts(NamedTuple):
    """What became of the rows of a log."""

    total: int
    used: int
    missing_reward: int
    """Left out: no reward is written, or NaN."""
    missing_label: int
    """Left out: no arm or no segment is written."""
    weightless: int
    """Left out: their weight is 0."""


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """What a log says about each segment and arm; made by `read_cells`.

    Attributes
    ----------
    segments
        The values of the segment columns, sorted; tuples if there are several columns.
    segment_names, arms
        Names of the segment columns, and of the arms.
    counts : (segments, arms)
        How many rewards each mean stands on: rows, or with weights the number of equally
        weighted rows that would be as precise. 0 where there are none.
    weights : (segments, arms)
        Sums of weights; their shares are the prior.
    means : (segments, arms)
        NaN where there are no rewards.
    deviations : (segments, arms)
        Sums of squared (weighted) distances from the cell's mean.
    freedom : (segments, arms)
        By what deviations are divided for an unbiased variance: one less than the number of rows.
    low, high : (segments, arms)
        The least and the largest reward.
    rows
        How many rows there were, and why some were left out.
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

    def to_frame(self) -> pd.DataFrame:
        """Return flat rows: one for each segment and arm with rewards."""
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
    engine: Engine = "auto",
    progress: Mode = "off",
) -> Cells:
    """Group a log by segment and arm: all that is ever learned from it.

    Parameters are those of `learn_structure`, which calls this; use it directly to try several
    estimates on one reading of a large log, with `estimate_structure`.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"genre": ["war", "art", "war"], "age": [20] * 3, "stars": [3, 4, 5]})
    >>> cells = read_cells(log, arm="genre", segment="age", reward="stars")
    >>> cells.arms, cells.segments, cells.counts, cells.means
    (('art', 'war'), (20,), array([[1., 2.]]), array([[4., 4.]]))
    """
    columns = _columns(arm, segment, reward, weight)
    if engine not in _ENGINES:
        raise InvalidInput(f"engine = {engine!r} is unknown; choose one of {', '.join(_ENGINES)}.")
    if weight_kind not in _KINDS:
        raise InvalidInput(
            f"weight_kind = {weight_kind!r} is unknown; choose {' or '.join(_KINDS)}."
        )
    raw = _raw_cells(log, columns, engine, progress)
    return _checked(raw, columns, weight_kind if weight is not None else "frequency")


def _columns(arm: str, segment: str | Sequence[str], reward: str, weight: str | None) -> Columns:
    segments = (segment,) if isinstance(segment, str) else tuple(segment)
    if not segments:
        raise InvalidInput("segment names no column; give at least one, such as ['age'].")
    columns = Columns(arm, segments, reward, weight)
    seen: set[str] = set()
    for name in columns.all:
        if not isinstance(name, str):
            raise InvalidInput(f"{name!r} is not the name of a column; give a text.")
        if name in seen:
            raise InvalidInput(
                f"column {name!r} is given twice; arm, segment, reward and weight are different "
                "columns."
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
    # JSON lines are read piece by piece, whoever groups them.
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


def _checked(raw: pd.DataFrame, columns: Columns, kind: WeightKind) -> Cells:
    """Refuse what cannot be repaired, leave out what is missing, and count it."""
    labels = _labels(raw, columns)
    if raw["unreadable"].any():
        examples = [text for text in raw[EXAMPLE].tolist() if isinstance(text, str)]
        raise InvalidReward(
            f"column {columns.reward!r} holds {int(raw['unreadable'].sum()):,} rewards that are no "
            f"numbers, such as {examples[0]!r}; turn them into numbers or remove these rows."
        )
    if raw["infinite"].any():
        raise InvalidReward(
            f"column {columns.reward!r} holds {int(raw['infinite'].sum()):,} infinite rewards; "
            "remove these rows or give finite numbers."
        )
    if raw["bad_weights"].any():
        raise InvalidInput(
            f"column {columns.weight!r} holds {int(raw['bad_weights'].sum()):,} weights that are "
            "negative, missing or no finite numbers; give weights from 0 on."
        )
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
    merged = merge([named, named.iloc[:0]], columns)
    return _as_arrays(merged, columns, kind, rows)


def _labels(raw: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """Key values as plain Python numbers and texts, the same from every engine."""
    import pandas as pd

    names = key_names(columns)
    read = {name: _column_labels(raw[name].tolist()) for name in names}
    read[names[-1]] = [None if v is None else str(v) for v in read[names[-1]]]
    return pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in read.items()}).set_index(
        raw.index
    )


def _column_labels(values: list[Any]) -> list[float | str | None]:
    """Numbers if all are numbers, texts otherwise.

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
    """One key as a number or a text; None if it is missing."""
    if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int) and abs(value) >= 2**53:
        return str(value)  # a float could not tell it from its neighbour
    if isinstance(value, int | float):
        return int(value) if float(value).is_integer() else float(value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    text = str(value).strip()
    return text or None


def _number(value: float | str) -> float | None:
    """The number that a label is; a text only if it is written as plainly as numbers are."""
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
    # Kish's effective number: weights that say how important a row is do not add information.
    counts = weight if kind == "frequency" else np.square(weight) / squared
    freedom = weight - 1.0 if kind == "frequency" else weight - squared / weight
    single = len(columns.segment) == 1
    return Cells(
        segments=tuple(key[0] if single else key for key in segments),
        segment_names=columns.segment,
        arms=tuple(arms),
        counts=spread(counts, 0.0),
        weights=spread(weight, 0.0),
        means=spread(merged["mean"], np.nan),
        deviations=spread(merged["deviations"], 0.0),
        freedom=spread(np.maximum(freedom, 0.0), 0.0),
        low=spread(merged["low"], np.nan),
        high=spread(merged["high"], np.nan),
        rows=rows,
    )


def _arm_order(name: str) -> tuple[bool, float, str]:
    """Numbers by size before texts by alphabet, as in 1, 2, 10, all."""
    number = _number(name)
    return (number is None, number if number is not None else 0.0, name)
