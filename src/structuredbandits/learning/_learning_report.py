"""The report on a learned structure: which of its means are weak, and which segments look alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structuredbandits.errors import InvalidInput, InvalidStructure
from structuredbandits.learning._cells import RowCounts
from structuredbandits.learning._own_logs import UNWEIGHTED, Weighting
from structuredbandits.learning.estimation import Repairs, check_level
from structuredbandits.structure import FloatArray, Structure, show_theta

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 5


class ThinCell(NamedTuple):
    """A cell whose mean is estimated from few rewards."""

    segment: str
    arm: str
    rewards: float
    mean: float
    standard_error: float


@dataclass(frozen=True, eq=False, repr=False)
class LearningReport:
    """The quality of a learned structure; made by `learning_report`.

    Attributes
    ----------
    structure
        The learned structure.
    few
        A cell with fewer rewards is thin.
    level
        The confidence level at which two segments count as different.
    thin_cells
        Cells with few rewards, the least certain first.
    lookalikes : (segments,)
        For each segment, the number of others that no arm distinguishes from it: no arm's means
        differ significantly at the level, over all arms together.
    confusable : (segments,)
        As `lookalikes`, counting only segments with another best arm: confusing the two costs
        reward.
    never_best
        Arms that are not best (with bounds: that cannot be best) in any segment.
    rows, repairs
        The rows that were read, and the repairs; None if only the structure is known.
    weighting
        By which probabilities the rewards were weighted, and whether the means may be biased.
    """

    structure: Structure
    few: float
    level: float
    thin_cells: tuple[ThinCell, ...]
    lookalikes: np.ndarray
    confusable: np.ndarray
    never_best: tuple[str, ...]
    rows: RowCounts | None = None
    repairs: Repairs | None = None
    weighting: Weighting = UNWEIGHTED

    @property
    def lost_lookalikes(self) -> tuple[str, ...]:
        """Segments that no arm distinguishes from any other."""
        others = self.structure.n_parameters - 1
        if others == 0:
            return ()
        positions = np.flatnonzero(self.lookalikes == others).tolist()
        return tuple(self.structure.label(i) for i in positions)

    def lookalikes_of(self, segment: object) -> tuple[str, ...]:
        """Return the segments from which no arm distinguishes this one."""
        position = self.structure.parameters.index(self.structure.parameters.resolve(segment))
        flags = _indistinct(self.structure, position, _threshold(self.structure, self.level))
        return tuple(self.structure.label(i) for i in np.flatnonzero(flags).tolist())

    def to_frame(self) -> pd.DataFrame:
        """Return one row per segment and arm: mean, count, standard error, whether best."""
        import pandas as pd

        structure = self.structure
        labels = np.array([structure.label(i) for i in range(structure.n_parameters)], dtype=object)
        counts, errors = _known(structure)
        return pd.DataFrame(
            {
                "segment": np.repeat(labels, structure.n_arms),
                "arm": np.tile(np.array(structure.arms, dtype=object), structure.n_parameters),
                "mean": structure.means.ravel(),
                "count": counts.ravel(),
                "standard_error": errors.ravel(),
                "best": structure.optimal.ravel(),
            }
        )

    def lines(self) -> list[str]:
        """Return the report as sentences."""
        return [
            *_row_lines(self),
            *_family_lines(self),
            *_weighting_lines(self),
            *_repair_lines(self),
            *_quality_lines(self),
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<LearningReport of {self.structure!r}>"


def learning_report(
    structure: Structure,
    *,
    few: float = 5.0,
    level: float = 0.95,
    rows: RowCounts | None = None,
    repairs: Repairs | None = None,
    weighting: Weighting = UNWEIGHTED,
) -> LearningReport:
    """Report where a learned structure is weak.

    Parameters
    ----------
    structure
        With counts and standard errors, such as one from `learn_structure`.
    few
        A cell with fewer rewards is thin.
    level
        The confidence level at which two segments count as different: no arm distinguishes them
        if no difference of means is significant, with a Bonferroni correction over all arms.
    rows, repairs, weighting
        What was read, repaired and weighted while learning; see `learn_structure_with_report`.

    Examples
    --------
    >>> structure = Structure.from_table(
    ...     [[4.0, 3.0], [4.1, 3.0]], sigma=1, counts=[[9, 3], [9, 9]],
    ...     standard_errors=[[0.3, 0.6], [0.3, 0.3]],
    ... )
    >>> print(learning_report(structure))
    1 of 4 cells has fewer than 5 rewards; the least certain: 0, 2 (3 rewards, 3 ± 0.6).
    No arm distinguishes 2 of 2 segments from any other segment.
    Best in no segment: 2.
    """
    check_level(level)
    if not (np.isfinite(few) and few >= 0):
        raise InvalidInput(f"few = {few!r} is not a number of rewards; give 0 or more.")
    counts, errors = _known(structure)
    thin = np.argwhere(counts < few * (1.0 - 1e-9)).tolist()
    thin.sort(key=lambda cell: (-errors[cell[0], cell[1]], cell))
    lookalikes, confusable = _count_lookalikes(structure, level)
    return LearningReport(
        structure=structure,
        few=few,
        level=level,
        thin_cells=tuple(
            ThinCell(
                structure.label(i),
                structure.arms[k],
                float(counts[i, k]),
                float(structure.means[i, k]),
                float(errors[i, k]),
            )
            for i, k in thin
        ),
        lookalikes=lookalikes,
        confusable=confusable,
        never_best=tuple(
            arm for k, arm in enumerate(structure.arms) if not structure.optimal[:, k].any()
        ),
        rows=rows,
        repairs=repairs,
        weighting=weighting,
    )


def _known(structure: Structure) -> tuple[FloatArray, FloatArray]:
    if structure.counts is None or structure.standard_errors is None:
        raise InvalidStructure(
            "the structure has no counts or no standard errors; learn it from a log, or give them."
        )
    return structure.counts, structure.standard_errors


def _threshold(structure: Structure, level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(1.0 - 0.5 * (1.0 - level) / structure.n_arms))


def _indistinct(structure: Structure, position: int, threshold: float) -> np.ndarray:
    """Return (segments,) bool: the other segments that no arm distinguishes from this one."""
    _, errors = _known(structure)
    distance = np.abs(structure.means - structure.means[position])
    noise = np.sqrt(np.square(errors) + np.square(errors[position]))
    flags = np.asarray((distance <= threshold * noise).all(axis=1))
    flags[position] = False
    return flags


def _count_lookalikes(structure: Structure, level: float) -> tuple[np.ndarray, np.ndarray]:
    threshold = _threshold(structure, level)
    best = np.argmax(structure.sign * structure.means, axis=1)
    lookalikes = np.zeros(structure.n_parameters, dtype=np.int64)
    confusable = np.zeros_like(lookalikes)
    for i in range(structure.n_parameters):
        flags = _indistinct(structure, i, threshold)
        lookalikes[i] = flags.sum()
        confusable[i] = (flags & (best != best[i])).sum()
    return lookalikes, confusable


def _row_lines(report: LearningReport) -> list[str]:
    if report.rows is None:
        return []
    rows = report.rows
    lines = [f"{_number(rows.used, 'reward')} used of {_number(rows.total, 'row')}."]
    for number, why in (
        (rows.missing_reward, "no reward (or NaN)"),
        (rows.missing_label, "no arm or no segment"),
        (rows.weightless, "weight 0"),
    ):
        if number:
            lines.append(f"{_number(number, 'row')} left out: {why}.")
    return lines


def _family_lines(report: LearningReport) -> list[str]:
    rewards = report.structure.rewards
    if not rewards.limited:
        return []
    pairs = set(zip(rewards.low, rewards.high, strict=True))
    low, high = min(rewards.low), max(rewards.high)
    if rewards.is_bernoulli:
        prize = f"{high:g}" if len(pairs) == 1 else "the prize of the arm"
        what = f"Bernoulli, 0 or {prize}"
    else:
        what = f"bounded between {low:g} and {high:g}"
    return [f"Rewards are treated as {what}; the option rewards changes this."]


def _weighting_lines(report: LearningReport) -> list[str]:
    lines, weighting = [], report.weighting
    if weighting.column is not None:
        counts = report.structure.counts
        size = "" if counts is None else f"; the effective sample size is {counts.sum():,.0f}"
        lines.append(
            f"Rewards are weighted by 1 / {weighting.column}, since the log's policy may have "
            f"chosen arms by their earlier rewards{size}."
        )
    if weighting.doubt is not None:
        lines.append(weighting.doubt)
    return lines


def _repair_lines(report: LearningReport) -> list[str]:
    if report.repairs is None:
        return []
    repairs, lines = report.repairs, []
    if repairs.dropped_segments:
        named = [f"{show_theta(s)} ({n})" for s, n in repairs.dropped_segments]
        lost = f" with {_number(repairs.dropped_rows, 'reward')}" if repairs.dropped_rows else ""
        lines.append(
            f"{_number(len(named), 'segment')}{lost} left out, since some arm has too few rewards "
            f"there (number of empty cells): {_some(named)}."
        )
    if repairs.filled_cells:
        named = [f"{show_theta(s)}, {arm}" for s, arm in repairs.filled_cells]
        lines.append(
            f"{_number(len(named), 'empty cell')} filled with the arm's mean: {_some(named, ';')}."
        )
    if repairs.borrowed_sigma:
        lines.append(
            "Rewards never vary in these arms, which use the standard deviation of all arms: "
            f"{_some(list(repairs.borrowed_sigma))}."
        )
    return lines


def _quality_lines(report: LearningReport) -> list[str]:
    lines, structure = [], report.structure
    if report.thin_cells:
        worst = report.thin_cells[0]
        number = len(report.thin_cells)
        lines.append(
            f"{number:,} of {structure.means.size:,} cells {'has' if number == 1 else 'have'} "
            f"fewer than {report.few:g} rewards; the least certain: {worst.segment}, {worst.arm} "
            f"({_number(worst.rewards, 'reward')}, {worst.mean:.3g} ± {worst.standard_error:.2g})."
        )
    lost = report.lost_lookalikes
    if lost:
        lines.append(
            f"No arm distinguishes {len(lost):,} of {structure.n_parameters:,} segments from any "
            "other segment."
        )
    if report.confusable.any():
        number = int((report.confusable > 0).sum())
        lines.append(
            f"{number:,} of {structure.n_parameters:,} segments have a lookalike with another "
            "best arm: a policy that treats the means as exact may play the wrong one."
        )
    if report.never_best:
        lines.append(f"Best in no segment: {_some(list(report.never_best))}.")
    return lines


def _number(count: float, what: str) -> str:
    return (
        f"{count:,.15g} {what}{'' if count == 1 else 's'}"
        if count == int(count)
        else (f"{count:.3g} {what}s")
    )


def _some(names: list[str], between: str = ",") -> str:
    rest = len(names) - _SHOWN
    return f"{between} ".join(names[:_SHOWN]) + (f" and {rest:,} more" if rest > 0 else "")
