"""`learn_structure`: from a log to a structure in one call, with or without a report."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, Unpack

from numpy.typing import ArrayLike

from structuredbandits.errors import InvalidInput, StructureWarning
from structuredbandits.learning._cells import Engine, WeightKind, read_cells
from structuredbandits.learning._learning_report import LearningReport, learning_report
from structuredbandits.learning._own_logs import ProbabilityColumn
from structuredbandits.learning._reward_detection import RewardFamily
from structuredbandits.learning._segment_columns import doubtful_segments
from structuredbandits.learning.estimation import (
    EmptyCells,
    EstimationOptions,
    Estimator,
    SigmaRule,
    estimate_structure,
)
from structuredbandits.learning.kinds import SEGMENTS, KindsReport, learn_kinds
from structuredbandits.progress import Mode
from structuredbandits.structure import Structure


class LearnedStructure(NamedTuple):
    """A learned structure and the report of how it was learned."""

    structure: Structure
    report: LearningReport | KindsReport


def learn_structure(
    log: Any,
    *,
    arm: str,
    segment: str | Sequence[str] | None = None,
    reward: str,
    subject: str | None = None,
    kinds: int | None = None,
    weight: str | None = None,
    weight_kind: WeightKind = "importance",
    probability: ProbabilityColumn = None,
    estimate: Estimator = "raw",
    level: float = 0.95,
    sigma: ArrayLike | SigmaRule | None = None,
    empty: EmptyCells = "drop-segment",
    min_count: float = 1.0,
    minimize: bool = False,
    name: str | None = None,
    rewards: RewardFamily = None,
    engine: Engine = "auto",
    progress: Mode = "off",
) -> Structure:
    """Learn from a log how each arm's mean reward depends on the segment or kind of a user.

    The segments become Θ. Later a policy learns from rewards which segment fits a visitor whose
    segment is not known. With a ``subject`` column, hidden kinds of visitors are learned from who
    liked what, and become Θ if they predict held-out subjects better than segments do.
    `learn_structure_with_report` also returns a report.

    Parameters
    ----------
    log
        The path of a CSV, Parquet or JSON-lines file, a pattern, a folder or a list of paths (all
        of which may be larger than memory); a pandas DataFrame; an Arrow table; or any Ibis table,
        whose database then computes the group-by. One row is one reward.
    arm, reward
        Names of columns.
    segment
        Name of one column or of several: every combination that occurs is one segment. Optional
        with a ``subject``.
    subject
        Name of the column that identifies a person, to learn hidden kinds; see `learn_kinds`. It
        goes with ``minimize``, ``name``, ``engine`` and ``progress`` only.
    kinds
        The number of hidden kinds; chosen on held-out subjects if None.
    weight
        Name of a column of weights of at least 0; all rows count the same if None.
    weight_kind
        "importance" for survey weights: only their proportions matter, and unequal weights make
        means less certain. "frequency" for counts: a row of weight 3 stands for 3 equal rows.
    probability
        Name of a column with the probability with which the arm of the row was chosen, as in the
        log of a bandit. Each reward is weighted by its inverse, since the plain means of such a
        log are biased: a policy stops showing an arm after low rewards. By default the column
        "probability" is used if the log has it and ``weight`` is not given; False ignores it.
        Without such a column, or if it holds only 0 and 1, a log that looks like a bandit's own
        gets a `StructureWarning`.
    estimate
        "raw": the mean of every cell. "shrink": means moved towards the arm's mean over all
        segments, by as much as sampling noise warrants (a two-level normal model per arm; the
        spread between segments is estimated, and the standard errors include its uncertainty).
        "bounds": raw means with confidence bounds, so that policies exclude only what the log
        excludes.
    level
        Confidence level of each single bound.
    sigma
        The standard deviation of rewards about their mean. "estimate": estimated within cells and
        pooled over all of them; "per-arm": estimated per arm; "range": half the range of all
        rewards, which is valid for every bounded reward; or one number, or one per arm. None is
        half the range of Bernoulli and bounded rewards, and "estimate" for others.
    empty
        What to do with a segment in which an arm has no rewards: "drop-segment" leaves it out and
        the report counts it; "arm-mean" uses the arm's mean over all segments, with a standard
        error that includes how far segments differ; "error" raises.
    min_count
        Cells with fewer rewards count as empty.
    minimize
        True if rewards are costs.
    name
        Name of the structure.
    rewards
        What a reward is: "gaussian"; "bernoulli", which is 0 or the largest reward of its arm; or
        "bounded" by the smallest and the largest reward of the log. None detects it: rewards of 0
        and 1 (also True and False) are Bernoulli, whole numbers from 1 to 5, 7 or 10 are bounded,
        and all others Gaussian. The report says which.
    engine
        "pandas", "ibis" (DuckDB for files), or "auto": DuckDB for files if it is installed,
        pandas for tables in memory. They agree to about 12 digits. Both read
        CSV files as text, so that a label "007" stays unchanged.
    progress
        "auto" shows a bar on a terminal, "lines" also elsewhere, "off" never.

    Returns
    -------
    Structure
        With means, counts, standard errors, the segments' shares as prior, the family of the
        rewards, sigma, and for Bernoulli and bounded rewards their estimated noise. A standard
        error is the estimated sigma divided by the root of the count; the variance is pooled,
        since many cells hold too few rewards for an estimate of their own.

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
    return learn_structure_with_report(
        log,
        arm=arm,
        segment=segment,
        reward=reward,
        subject=subject,
        kinds=kinds,
        weight=weight,
        weight_kind=weight_kind,
        probability=probability,
        estimate=estimate,
        level=level,
        sigma=sigma,
        empty=empty,
        min_count=min_count,
        minimize=minimize,
        name=name,
        rewards=rewards,
        engine=engine,
        progress=progress,
    ).structure


def learn_structure_with_report(
    log: Any,
    *,
    arm: str,
    segment: str | Sequence[str] | None = None,
    reward: str,
    subject: str | None = None,
    kinds: int | None = None,
    weight: str | None = None,
    weight_kind: WeightKind = "importance",
    probability: ProbabilityColumn = None,
    engine: Engine = "auto",
    progress: Mode = "off",
    **estimation: Unpack[EstimationOptions],
) -> LearnedStructure:
    """Learn a structure from a log, and report what was read, what was repaired and what is weak.

    The parameters are those of `learn_structure`. `learning_report` makes the same report later
    from the structure alone, without the counts of rows and the repairs.

    Returns
    -------
    LearnedStructure
        The pair (structure, report).

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({
    ...     "genre": ["drama", "war"] * 6,
    ...     "age": ["young"] * 6 + ["old"] * 6,
    ...     "stars": [5, 2, 4, 1, 5, 3, 2, 4, 3, 5, 1, None],
    ... })
    >>> structure, report = learn_structure_with_report(
    ...     log, arm="genre", segment="age", reward="stars"
    ... )
    >>> print(report)
    11 rewards used of 12 rows.
    1 row left out: no reward (or NaN).
    Rewards are treated as bounded between 1 and 5; the option rewards changes this.
    4 of 4 cells have fewer than 5 rewards; the least certain: old, war (2 rewards, 4.5 ± 0.61).
    """
    if subject is not None:
        return _learn_from_subjects(
            log, arm, reward, subject, segment, kinds, weight, engine, progress, estimation
        )
    if segment is None:
        raise InvalidInput(
            "neither segment nor subject names a column; give the columns that define a segment, "
            "or the column that identifies a person."
        )
    if kinds is not None:
        raise InvalidInput(f"kinds = {kinds} needs the column of subjects; give subject as well.")
    names = [segment] if isinstance(segment, str) else list(segment)
    for doubt in doubtful_segments(log, names):
        warnings.warn(doubt, StructureWarning, stacklevel=3)
    cells = read_cells(
        log,
        arm=arm,
        segment=segment,
        reward=reward,
        weight=weight,
        weight_kind=weight_kind,
        probability=probability,
        engine=engine,
        progress=progress,
    )
    if cells.weighting.doubt is not None:
        warnings.warn(cells.weighting.doubt, StructureWarning, stacklevel=3)
    learned = estimate_structure(cells, **estimation)
    rows = cells.rows._replace(used=cells.rows.used - learned.repairs.dropped_rows)
    report = learning_report(
        learned.structure, rows=rows, repairs=learned.repairs, weighting=cells.weighting
    )
    return LearnedStructure(learned.structure, report)


_WITH_SUBJECTS = ("minimize", "name")


def _learn_from_subjects(
    log: Any,
    arm: str,
    reward: str,
    subject: str,
    segment: str | Sequence[str] | None,
    kinds: int | None,
    weight: str | None,
    engine: Engine,
    progress: Mode,
    estimation: EstimationOptions,
) -> LearnedStructure:
    """Learn hidden kinds; if segments predict better, learn from the segments instead."""
    defaults = EstimationOptions(
        estimate="raw", level=0.95, sigma=None, empty="drop-segment", min_count=1.0
    )
    given = dict(estimation)
    if given.get("sigma") == "estimate":
        given["sigma"] = None
    changed = [name for name, value in given.items() if value != defaults.get(name, value)]
    if weight is not None or changed:
        option = "weight" if weight is not None else changed[0]
        raise InvalidInput(
            f"{option} has no meaning for hidden kinds; leave it out, or learn from segments "
            "without subject."
        )
    options: Any = {name: given[name] for name in _WITH_SUBJECTS if name in given}
    learned = learn_kinds(
        log,
        arm=arm,
        reward=reward,
        subject=subject,
        segment=() if segment is None else segment,
        kinds=kinds,
        engine=engine,
        progress=progress,
        **options,
    )
    if learned.report.chosen != SEGMENTS or segment is None:
        return LearnedStructure(*learned)
    by_segment = learn_structure(
        log, arm=arm, segment=segment, reward=reward, engine=engine, progress=progress, **options
    )
    return LearnedStructure(by_segment, learned.report)
