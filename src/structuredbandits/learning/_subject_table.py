"""A log per subject: how often each arm was shown to each person, and what it earned.

The table is sparse: most subjects see few arms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structuredbandits.errors import InvalidInput
from structuredbandits.learning._cells import Engine, RowCounts, group_log
from structuredbandits.learning._pandas_grouping import Columns
from structuredbandits.progress import Mode
from structuredbandits.structure import FloatArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from structuredbandits.environments import Persons

IntArray = NDArray[np.int64]
_MOST_VALUES = 20  # rewards with more values count as continuous


class RewardLimits(NamedTuple):
    """The smallest and the largest reward of a log, and whether all rewards are one of the two."""

    low: float
    high: float
    two_values: bool


@dataclass(frozen=True, eq=False, repr=False)
class SubjectTable:
    """Counts, sums and squares of rewards per subject and arm; made by `read_subjects`.

    Attributes
    ----------
    arms
        Names of the arms.
    counts, sums, squares : (subjects, arms)
        Sparse: the number of rewards, their sum and the sum of their squares.
    limits
        The range of the rewards.
    segments
        For each subject the value of the segment columns, or empty if there are none.
    rows
        The number of rows, and why some were left out; None for a part of a table.
    """

    arms: tuple[str, ...]
    counts: csr_array
    sums: csr_array
    squares: csr_array
    limits: RewardLimits
    segments: tuple[object, ...] = ()
    rows: RowCounts | None = None

    @property
    def n_subjects(self) -> int:
        """The number of subjects."""
        return int(self.counts.shape[0])

    def of(self, subjects: IntArray) -> SubjectTable:
        """Return the table of these subjects."""
        return SubjectTable(
            self.arms,
            self.counts[subjects],
            self.sums[subjects],
            self.squares[subjects],
            self.limits,
            tuple(self.segments[i] for i in subjects) if self.segments else (),
        )

    def __repr__(self) -> str:
        rewards = int(self.counts.sum())
        return f"<SubjectTable: {rewards:,} rewards, {self.n_subjects:,} subjects>"


def least_variance(table: SubjectTable) -> float:
    """Return the smallest variance that a normal density of the rewards may have.

    Rewards such as 1 to 5 stars have few values. A density with a smaller variance would exceed 1
    over the step between them, and a model could gain any log score by predicting single values.
    It is 0 if rewards have many values.

    Examples
    --------
    >>> from structuredbandits.environments import Persons
    >>> round(least_variance(table_of(Persons([1, 2, 3], ["a", "b", "a"], [1, 2, 5]))), 4)
    0.1592
    """
    single = table.counts.data == 1
    if table.sums.nnz != table.counts.nnz or not single.any():
        return 0.0
    values = np.unique(table.sums.data[single])
    if not 2 <= len(values) <= _MOST_VALUES:
        return 0.0
    return float(np.square(np.diff(values).min()) / (2.0 * np.pi))


def table_of(persons: Persons, segments: tuple[object, ...] = ()) -> SubjectTable:
    """Return the table of an environment of persons, with all its arms.

    Examples
    --------
    >>> from structuredbandits.environments import Persons
    >>> table_of(Persons(["ann", "ann", "bob"], ["a", "b", "a"], [5, 3, 4])).counts.toarray()
    array([[1., 1.], [1., 0.]])
    """
    from scipy.sparse import csr_array

    rows = persons.to_frame()
    values = rows["reward"].to_numpy()
    who = np.repeat(np.arange(persons.n_persons), persons.counts.sum(axis=1))
    arm = np.repeat(
        np.tile(np.arange(len(persons.arms)), persons.n_persons), persons.counts.ravel()
    )
    shape = (persons.n_persons, len(persons.arms))

    def table(entries: FloatArray) -> csr_array:
        return csr_array((entries, (who, arm)), shape=shape)

    different = np.unique(values)
    return SubjectTable(
        persons.arms,
        table(np.ones(len(values))),
        table(values),
        table(values * values),
        RewardLimits(float(different[0]), float(different[-1]), len(different) <= 2),
        segments,
    )


def read_subjects(
    log: Any,
    *,
    arm: str,
    reward: str,
    subject: str,
    segment: str | Sequence[str] = (),
    engine: Engine = "auto",
    progress: Mode = "off",
) -> SubjectTable:
    """Group a log by subject and arm, in one pass.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"who": [1, 1, 2], "film": ["a", "b", "a"], "stars": [5, 3, 4]})
    >>> table = read_subjects(log, arm="film", reward="stars", subject="who")
    >>> table.counts.toarray(), table.limits
    (array([[1., 1.], [1., 0.]]), RewardLimits(low=3.0, high=5.0, two_values=False))
    """
    known = (segment,) if isinstance(segment, str) else tuple(segment)
    columns = Columns(arm, (subject, *known), reward, None)
    if len(set(columns.all)) < len(columns.all):
        raise InvalidInput(
            f"the columns {', '.join(columns.all)} are not all different; give different columns "
            "for arm, subject, segment and reward."
        )
    merged, rows = group_log(log, columns, engine=engine, progress=progress)
    import pandas as pd
    from scipy.sparse import csr_array

    who, _ = pd.factorize(merged["key_0"], sort=False)
    arm_codes, arm_names = pd.factorize(merged[f"key_{1 + len(known)}"], sort=True)
    if len(arm_names) < 2:
        raise InvalidInput(
            f"the log holds only the arm {arm_names[0]!r}; give one with at least 2 arms."
        )
    shape = (int(who.max()) + 1, len(arm_names))
    number, mean = merged["weight"].to_numpy(), merged["mean"].to_numpy()
    deviations = merged["deviations"].to_numpy()
    low, high = float(merged["low"].min()), float(merged["high"].max())
    # All rewards are low or high exactly if every cell has the largest possible spread.
    most = number * (mean - low) * (high - mean)
    slack = 1e-9 * max(high - low, 1e-300) ** 2 * number

    def table(values: FloatArray) -> csr_array:
        made = csr_array((values, (who, arm_codes)), shape=shape)
        made.sum_duplicates()
        return made

    return SubjectTable(
        tuple(map(str, arm_names)),
        table(number),
        table(number * mean),
        table(deviations + number * mean * mean),
        RewardLimits(low, high, bool((np.abs(deviations - most) <= slack).all())),
        _segments(merged, who, len(known)) if known else (),
        rows,
    )


def _segments(merged: Any, who: IntArray, n_columns: int) -> tuple[object, ...]:
    """Return for each subject the segment with most of its rows."""
    names = [f"key_{place + 1}" for place in range(n_columns)]
    rows = merged[names].assign(subject=who, number=merged["weight"].to_numpy())
    totals = rows.groupby(["subject", *names], sort=True)["number"].sum().reset_index()
    best = totals.sort_values(["subject", "number"], kind="stable").drop_duplicates(
        "subject", keep="last"
    )
    values = [tuple(row) if n_columns > 1 else row[0] for row in best[names].to_numpy().tolist()]
    return tuple(values)
