"""`learn_structure`: from a log to a structure in one call.

This module knows the order of the work. It must not know formats or formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, overload

from numpy.typing import ArrayLike

from structuredbandits.learning.cells import Engine, WeightKind, read_cells
from structuredbandits.learning.estimate import (
    EmptyCells,
    Estimator,
    SigmaRule,
    estimate_structure,
)
from structuredbandits.learning.report import LearningReport, learning_report
from structuredbandits.simulation.progress import Mode
from structuredbandits.structure import Structure


class LearnedStructure(NamedTuple):
    """What `learn_structure` returns if a report is asked for."""

    structure: Structure
    report: LearningReport


@overload
def learn_structure(
    log: Any,
    *,
    arm: str,
    segment: str | Sequence[str],
    reward: str,
    weight: str | None = ...,
    weight_kind: WeightKind = ...,
    estimate: Estimator = ...,
    level: float = ...,
    sigma: ArrayLike | SigmaRule | None = ...,
    empty: EmptyCells = ...,
    min_count: float = ...,
    minimize: bool = ...,
    name: str | None = ...,
    engine: Engine = ...,
    progress: Mode = ...,
    return_report: Literal[False] = ...,
) -> Structure: ...


@overload
def learn_structure(
    log: Any,
    *,
    arm: str,
    segment: str | Sequence[str],
    reward: str,
    weight: str | None = ...,
    weight_kind: WeightKind = ...,
    estimate: Estimator = ...,
    level: float = ...,
    sigma: ArrayLike | SigmaRule | None = ...,
    empty: EmptyCells = ...,
    min_count: float = ...,
    minimize: bool = ...,
    name: str | None = ...,
    engine: Engine = ...,
    progress: Mode = ...,
    return_report: Literal[True],
) -> LearnedStructure: ...


def learn_structure(
    log: Any,
    *,
    arm: str,
    segment: str | Sequence[str],
    reward: str,
    weight: str | None = None,
    weight_kind: WeightKind = "importance",
    estimate: Estimator = "raw",
    level: float = 0.95,
    sigma: ArrayLike | SigmaRule | None = None,
    empty: EmptyCells = "drop-segment",
    min_count: float = 1.0,
    minimize: bool = False,
    name: str | None = None,
    engine: Engine = "auto",
    progress: Mode = "off",
    return_report: bool = False,
) -> Structure | LearnedStructure:
    """Learn from a log how each arm's mean reward depends on the segment of a user.

    The segments become Θ: later, for somebody whose segment is not known, a policy finds out
    which of them fits.

    Parameters
    ----------
    log
        A path of a CSV, Parquet or JSON-lines file, a pattern, a folder, a list of paths (all of
        them may be larger than memory); a pandas DataFrame; an Arrow table; or any Ibis table,
        whose database then does the one group-by. One row is one reward.
    arm, reward
        Names of columns.
    segment
        Name of a column, or of several: every combination that occurs is one segment.
    weight
        Name of a column of weights from 0 on; all rows count the same if None.
    weight_kind
        "importance" for the weights of a survey: only their proportions matter, and unequal ones
        make means less certain. "frequency" if a row of weight 3 stands for 3 equal rows, such as
        a count.
    estimate
        "raw": the mean of every cell. "shrink": means moved towards the arm's mean over all
        segments, by as much as sampling noise warrants (a normal model of two levels for each
        arm; how far segments differ is estimated, and the standard errors include that it is).
        "bounds": raw means with confidence bounds, for policies that then rule out only what is
        certain.
    level
        Of each bound, taken alone.
    sigma
        How widely rewards vary about their mean, which every policy needs. None or "estimate":
        the standard deviation within cells, pooled over all of them; "per-arm": one for each arm;
        "range": half the range of all rewards, which always suffices for bounded ones; or
        numbers, one or one an arm.
    empty
        What to do with a segment in which an arm has no rewards: "drop-segment" leaves it out and
        the report counts it; "arm-mean" puts the arm's mean over all segments there, with a
        standard error that says how far segments differ; "error" refuses.
    min_count
        Cells with fewer rewards count as empty.
    minimize
        True if rewards are costs.
    name
        Of the structure.
    engine
        "pandas", "ibis" (DuckDB for files), or "auto": DuckDB for files if it is installed,
        pandas for tables in memory. They agree to about 12 digits. CSV files are read as text by
        both, so that a label "007" stays as it is.
    progress
        "auto" shows a bar on a terminal, "lines" also elsewhere, "off" never.
    return_report
        True to get the pair (structure, report). The report can also be made later, without the
        counts of rows, by `learning_report`.

    Returns
    -------
    Structure or LearnedStructure
        With means, counts, standard errors, the segments' shares as prior, and sigma. Standard
        errors are sigma's estimate divided by the root of the count; the variance is pooled,
        since many cells hold too few rewards for one of their own.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({
    ...     "genre": ["drama", "war"] * 6,
    ...     "age": ["young"] * 6 + ["old"] * 6,
    ...     "stars": [5, 2, 4, 1, 5, 3, 2, 4, 3, 5, 1, 4],
    ... })
    >>> structure = learn_structure(log, arm="genre", segment="age", reward="stars")
    >>> structure.to_frame().round(2)
    arm    drama   war
    age
    old     2.00  4.33
    young   4.67  2.00
    >>> structure.prior, structure.counts[0], structure.standard_errors[0].round(2)
    (array([0.5, 0.5]), array([3., 3.]), array([0.47, 0.47]))
    """
    cells = read_cells(
        log,
        arm=arm,
        segment=segment,
        reward=reward,
        weight=weight,
        weight_kind=weight_kind,
        engine=engine,
        progress=progress,
    )
    learned = estimate_structure(
        cells,
        estimate=estimate,
        level=level,
        sigma=sigma,
        empty=empty,
        min_count=min_count,
        minimize=minimize,
        name=name,
    )
    if not return_report:
        return learned.structure
    report = learning_report(learned.structure, rows=cells.rows, repairs=learned.repairs)
    return LearnedStructure(learned.structure, report)
