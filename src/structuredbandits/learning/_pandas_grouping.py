"""The group-by of a log in pandas: piece by piece, merged without losing digits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from structuredbandits.errors import InvalidInput
from structuredbandits.learning.log_reader import read_numbers

if TYPE_CHECKING:
    import pandas as pd

NO_ROWS = "the log has no rows; give one with at least one reward of every arm."
# Partial tables are merged at this number, so that memory grows with the cells only.
_MERGE_EVERY = 16


class Columns(NamedTuple):
    """The columns of a log by their role."""

    arm: str
    segment: tuple[str, ...]
    reward: str
    weight: str | None
    probability: str | None = None
    """Of the chosen arm; each row then also counts 1 / probability times."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that are grouped by: segments first, then the arm."""
        return (*self.segment, self.arm)

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is read."""
        optional = (self.weight, self.probability)
        return (*self.keys, self.reward, *(name for name in optional if name is not None))


def key_names(columns: Columns) -> list[str]:
    """Return the names of the key columns in a raw table: key_0, key_1, ..., arm last.

    The names in the log could collide with the names of the sums.
    """
    return [f"key_{place}" for place in range(len(columns.keys))]


#: Sums over the rows of a cell.
SUMS = (
    "rows",
    "missing",
    "infinite",
    "unreadable",
    "bad_weights",
    "weightless",
    "used",
    "bad_probabilities",  # not in [0, 1]
    "impossible",  # probability 0
    "random",  # probability neither 0 nor 1
    "fractional",  # used rewards that are not whole numbers
)
#: Of the used rows: Σw, Σw², Σwr/Σw, Σw(r − mean)², the least and the largest reward; and Σw
#: without probabilities.
MOMENTS = ("weight", "squared_weight", "mean", "deviations", "low", "high", "share")
# By how much rounding may lift a probability above 1.
ROUNDING = 1e-9
#: An example of a reward that is not a number, for the error message; None if there is none.
EXAMPLE = "example"


def group_frames(frames: Iterable[pd.DataFrame], columns: Columns) -> pd.DataFrame:
    """Return the raw table of cells of a log given in pieces."""
    parts: list[pd.DataFrame] = []
    for frame in filter(len, frames):
        parts.append(group_frame(frame, columns))
        if len(parts) >= _MERGE_EVERY:
            parts = [merge(parts, columns)]
    if not parts:
        raise InvalidInput(NO_ROWS)
    return merge(parts, columns)


def group_frame(frame: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """Return the raw table of cells of some rows."""
    import pandas as pd

    names = key_names(columns)
    keys = pd.DataFrame({name: frame[old] for name, old in zip(names, columns.keys, strict=True)})
    try:
        groups = keys.groupby(names, dropna=False, observed=True, sort=False)
        codes = groups.ngroup().to_numpy()
        cells = groups.size().rename("rows").reset_index()
    except TypeError:
        raise InvalidInput(
            f"the columns {', '.join(columns.keys)} hold lists or other values that cannot be "
            "compared; give plain text or numbers."
        ) from None
    number = len(cells)
    rewards = read_numbers(frame[columns.reward])
    weights = np.ones(len(frame))
    bad_weights = np.zeros(len(frame), dtype=bool)
    if columns.weight is not None:
        read = read_numbers(frame[columns.weight])
        weights = np.nan_to_num(read.values, nan=0.0, posinf=0.0, neginf=0.0)
        bad_weights = ~np.isfinite(read.values) | (read.values < 0)
    shares, chances = weights, np.ones(len(frame))
    if columns.probability is not None:
        chances = read_numbers(frame[columns.probability]).values
        # A probability of 0 is left alone here: whether it is a mistake depends on all others.
        weights = weights / np.where(chances > 0.0, np.minimum(chances, 1.0), 1.0)
    infinite = np.isinf(rewards.values)
    weightless = (weights == 0.0) & ~bad_weights
    used = np.isfinite(rewards.values) & (weights > 0.0)

    def count(flags: np.ndarray) -> np.ndarray:
        return np.bincount(codes[flags], minlength=number)

    for name, flags in (
        ("missing", rewards.missing),
        ("infinite", infinite),
        ("unreadable", rewards.unreadable),
        ("bad_weights", bad_weights),
        ("weightless", weightless),
        ("used", used),
        ("bad_probabilities", used & ~((chances >= 0.0) & (chances <= 1.0 + ROUNDING))),
        ("impossible", used & (chances == 0.0)),
        ("random", used & (chances > 0.0) & (chances < 1.0)),
        ("fractional", used & (rewards.values != np.floor(rewards.values))),
    ):
        cells[name] = count(flags)
    cells[EXAMPLE] = _examples(frame[columns.reward], rewards.unreadable, codes, number)
    values, own, codes = rewards.values[used], weights[used], codes[used]
    moments = _moments(values, own, codes, number)
    moments["share"] = np.bincount(codes, weights=shares[used], minlength=number)
    return pd.concat([cells, moments], axis=1)


def _examples(
    column: pd.Series[Any], unreadable: np.ndarray, codes: np.ndarray, number: int
) -> np.ndarray:
    examples = np.full(number, None, dtype=object)
    if unreadable.any():
        first = int(np.argmax(unreadable))
        examples[codes[first]] = str(column.iloc[first])
    return examples


def _moments(
    values: np.ndarray, weights: np.ndarray, codes: np.ndarray, number: int
) -> pd.DataFrame:
    """Compute moments in two passes: the mean first, then the squares about it."""
    import pandas as pd

    def total(terms: np.ndarray) -> np.ndarray:
        return np.bincount(codes, weights=terms, minlength=number)

    weight = total(weights)
    empty = weight == 0.0
    pivot = float(values.mean()) if values.size else 0.0
    mean = pivot + total(weights * (values - pivot)) / np.where(empty, 1.0, weight)
    mean[empty] = 0.0
    low = np.full(number, np.inf)
    high = np.full(number, -np.inf)
    np.minimum.at(low, codes, values)
    np.maximum.at(high, codes, values)
    with np.errstate(over="ignore"):  # rewards of this size raise an error later
        squares = np.square(values - mean[codes])
    return pd.DataFrame(
        {
            "weight": weight,
            "squared_weight": total(np.square(weights)),
            "mean": mean,
            "deviations": total(weights * squares),
            "low": low,
            "high": high,
        }
    )


def merge(parts: Iterable[pd.DataFrame], columns: Columns) -> pd.DataFrame:
    """Merge raw tables: cells of the same key become one, with the exact mean and squares.

    Examples
    --------
    >>> import pandas as pd
    >>> columns = Columns("arm", ("who",), "reward", None)
    >>> log = pd.DataFrame({"arm": ["a"] * 4, "who": ["x"] * 4, "reward": [1.0, 2.0, 3.0, 6.0]})
    >>> halves = [group_frame(log[:2], columns), group_frame(log[2:], columns)]
    >>> merge(halves, columns)[["used", "mean", "deviations"]]
       used  mean  deviations
    0     4   3.0        14.0
    """
    import pandas as pd

    tables = list(parts)
    if len(tables) == 1:
        return tables[0]
    # Categories and text of different pieces are equal keys only as plain objects.
    table = pd.concat([_plain_keys(t, columns) for t in tables], ignore_index=True)
    names = key_names(columns)
    groups = table.groupby(names, dropna=False, observed=True, sort=False)
    codes = groups.ngroup().to_numpy()
    sums = groups[[*SUMS, "weight", "squared_weight", "share"]].sum().reset_index()
    number = len(sums)
    weight = sums["weight"].to_numpy()
    share = table["weight"].to_numpy() / np.where(weight > 0, weight, 1.0)[codes]
    means = table["mean"].to_numpy()
    mean = np.bincount(codes, weights=share * means, minlength=number)
    # A second pass about this mean adds back what rounding lost.
    mean += np.bincount(codes, weights=share * (means - mean[codes]), minlength=number)
    between = table["weight"].to_numpy() * np.square(means - mean[codes])
    own = table["deviations"].to_numpy()
    mean[weight == 0] = 0.0
    return sums.assign(
        mean=mean,
        deviations=np.bincount(codes, weights=own + between, minlength=number),
        low=groups["low"].min().to_numpy(),
        high=groups["high"].max().to_numpy(),
        **{EXAMPLE: groups[EXAMPLE].first().to_numpy(dtype=object)},
    )


def _plain_keys(table: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    return table.astype(dict.fromkeys(key_names(columns), object))
