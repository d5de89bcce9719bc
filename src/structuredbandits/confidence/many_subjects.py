"""Plausible θ and competitive arms of many subjects at once, from their evidence alone.

The results are those of the set that a run keeps, `event_driven_set` or `joint_set`; here every θ
is compared again, in one compiled call for all subjects.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from cachetools import LRUCache

from structuredbandits._compiled import inline, kernel
from structuredbandits.confidence.confidence_set import ConfidenceParameters
from structuredbandits.confidence.divergence import ends_of_rate, limits_of, successes_of
from structuredbandits.confidence.evidence import Evidence, evidence_of, summarise
from structuredbandits.confidence.intervals import for_families
from structuredbandits.confidence.joint_set import (
    JointTables,
    fill_misfits,
    joint_tables,
    largest_misfit,
)
from structuredbandits.confidence.radius import log_time, multiplier, unit_width
from structuredbandits.confidence.sorted_tables import gains, points_of

# Sets of allowed arms whose best arms are kept.
_MASKS_KEPT = 256


class Bounds(NamedTuple):
    """The structure's means, or their bounds; costs are negated."""

    lower: np.ndarray  # (parameters, arms)
    upper: np.ndarray  # (parameters, arms)


class ComparedPoints(NamedTuple):
    """What intervals are compared with, and what they are computed from; see `SortedTables`."""

    lower: np.ndarray  # (parameters, arms)
    upper: np.ndarray  # (parameters, arms)
    limits: Any  # GainLimits, or None if rewards are Gaussian


class PlausibleSets:
    """The confidence sets that some parameters define, for evidence of any subjects.

    Examples
    --------
    >>> from structuredbandits.confidence.evidence import new_blocks, rows_of
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[3.0, 2.0, 0.0], [3.0, 0.0, 2.0]], sigma=1.0)
    >>> sets = PlausibleSets(ConfidenceParameters(3.0, "box", known))
    >>> plausible, competitive = sets.of(new_blocks(known.sigma, 1), np.array([1, 2]))
    >>> plausible.tolist(), competitive.tolist()
    ([2], [[False, True, True]])
    """

    def __init__(self, parameters: ConfidenceParameters) -> None:
        self.parameters = parameters
        structure = parameters.structure
        bounds = gains(structure)
        points = points_of(structure, bounds)
        self._bounds = Bounds(np.array(bounds[0]), np.array(bounds[-1]))
        self._box = ComparedPoints(np.array(points[0]), np.array(points[-1]), limits_of(structure))
        self._joint = joint_tables(parameters.structure) if parameters.kind == "joint" else None
        self._best: LRUCache[bytes, np.ndarray] = LRUCache(_MASKS_KEPT)

    def of(self, blocks: np.ndarray, allowed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How many θ are plausible, and which arms are best among the allowed ones at one of them.

        If no θ is plausible, all allowed arms compete.

        Parameters
        ----------
        blocks : (subjects, rows, arms)
            Evidence; costs are negated. Its derived rows are filled in.
        allowed : (allowed,)
            Positions of the allowed arms, ascending.

        Returns
        -------
        plausible : (subjects,) int array
        competitive : (subjects, arms) bool array
        """
        alpha, best = self.parameters.alpha, self._best_within(allowed)
        if self._joint is not None:
            return _joint_many.stored(self._joint, best, blocks, alpha, allowed)  # type: ignore[no-any-return]  # a kernel
        return _box_many.stored(self._box, best, blocks, math.sqrt(alpha), allowed)  # type: ignore[no-any-return]  # a kernel

    def mask(self, block: np.ndarray) -> np.ndarray:
        """Which θ are plausible for the evidence of one subject: (parameters,) bool.

        Parameters
        ----------
        block : (rows, arms)
        """
        alpha = self.parameters.alpha
        if self._joint is not None:
            return np.asarray(_joint_mask(self._joint, block, alpha))
        return np.asarray(_box_mask(self._box, block, math.sqrt(alpha)))

    def _best_within(self, allowed: np.ndarray) -> np.ndarray:
        """Which allowed arms are (possibly) best among them at each θ: (parameters, arms) bool."""
        key = allowed.tobytes()
        held: np.ndarray | None = self._best.get(key)
        if held is None:
            held = best_within(self._bounds, allowed, self.parameters.structure.tolerance)
            self._best[key] = held
        return held


def best_within(bounds: Bounds, allowed: np.ndarray, tolerance: float) -> np.ndarray:
    """Which allowed arms are (possibly) best among them at each θ: (parameters, arms) bool.

    Examples
    --------
    >>> means = np.array([[3.0, 2.0, 0.0]])
    >>> best_within(Bounds(means, means), np.array([1, 2]), tolerance=1e-9)
    array([[False,  True, False]])
    """
    result = np.zeros(bounds.lower.shape, dtype=bool)
    largest = bounds.lower[:, allowed].max(axis=1, keepdims=True)
    result[:, allowed] = bounds.upper[:, allowed] >= largest - tolerance
    return result


@inline
def _fill_ends(
    box: ComparedPoints,
    evidence: Evidence,
    root_alpha: float,
    seen: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> int:
    """Write the arms that were seen and the ends of their intervals; returns how many."""
    received, n_seen = 0.0, 0
    for arm in range(evidence.counts.size):
        summarise(evidence, arm)
        received += evidence.counts[arm]
        if evidence.counts[arm] > 0.0:
            seen[n_seen] = arm
            n_seen += 1
    q = multiplier(root_alpha, unit_width(log_time(int(received))))
    for place in range(n_seen):
        low[place], high[place] = _ends(box, evidence, seen[place], q)
    return n_seen


def _ends(box: ComparedPoints, evidence: Evidence, arm: int, q: float) -> tuple[float, float]:
    """The ends of the interval of an arm that was seen."""
    raise TypeError("_ends is for compiled code")


def _ends_of_gaussian(
    box: ComparedPoints, evidence: Evidence, arm: int, q: float
) -> tuple[float, float]:
    radius = q * evidence.scales[arm]
    return evidence.means[arm] - radius, evidence.means[arm] + radius


def _ends_of_rate(
    box: ComparedPoints, evidence: Evidence, arm: int, q: float
) -> tuple[float, float]:
    total, count, limits = evidence.sums[arm], evidence.counts[arm], box.limits
    successes = successes_of(total, count, limits.floors[arm], limits.ranges[arm])
    return ends_of_rate(successes, count, 0.5 * q * q)  # type: ignore[no-any-return]  # compiled


for_families(_ends, _ends_of_gaussian, _ends_of_rate)


@inline
def _fits(
    box: ComparedPoints,
    parameter: int,
    seen: np.ndarray,
    n_seen: int,
    low: np.ndarray,
    high: np.ndarray,
) -> bool:
    """Whether a θ lies strictly inside the interval of every arm that was seen."""
    for place in range(n_seen):
        arm = seen[place]
        if not (box.lower[parameter, arm] < high[place] and box.upper[parameter, arm] > low[place]):
            return False
    return True


@inline
def _joint_limit(
    joint: JointTables, evidence: Evidence, alpha: float, misfits: np.ndarray
) -> float:
    """Write the misfits; returns the value below which a θ is plausible."""
    received = 0.0
    for arm in range(evidence.counts.size):
        summarise(evidence, arm)
        received += evidence.counts[arm]
    fill_misfits(joint, evidence, misfits)
    limit: float = largest_misfit(misfits, alpha * log_time(int(received)))
    return limit


@inline
def _add(best: np.ndarray, parameter: int, allowed: np.ndarray, competitive: np.ndarray) -> None:
    for place in range(allowed.size):
        if best[parameter, allowed[place]]:
            competitive[allowed[place]] = True


@inline
def _add_all(allowed: np.ndarray, competitive: np.ndarray) -> None:
    for place in range(allowed.size):
        competitive[allowed[place]] = True


@kernel
def _box_many(
    box: ComparedPoints,
    best: np.ndarray,
    blocks: np.ndarray,
    root_alpha: float,
    allowed: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    n_arms = blocks.shape[2]
    plausible = np.zeros(blocks.shape[0], dtype=np.int64)
    competitive = np.zeros((blocks.shape[0], n_arms), dtype=np.bool_)
    low, high = np.empty(n_arms), np.empty(n_arms)
    seen = np.empty(n_arms, dtype=np.int64)
    for subject in range(blocks.shape[0]):
        n_seen = _fill_ends(box, evidence_of(blocks[subject]), root_alpha, seen, low, high)
        for parameter in range(best.shape[0]):
            if _fits(box, parameter, seen, n_seen, low, high):
                plausible[subject] += 1
                _add(best, parameter, allowed, competitive[subject])
        if plausible[subject] == 0:
            _add_all(allowed, competitive[subject])
    return plausible, competitive


@kernel
def _joint_many(
    joint: JointTables, best: np.ndarray, blocks: np.ndarray, alpha: float, allowed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    plausible = np.zeros(blocks.shape[0], dtype=np.int64)
    competitive = np.zeros((blocks.shape[0], blocks.shape[2]), dtype=np.bool_)
    misfits = np.empty(best.shape[0])
    for subject in range(blocks.shape[0]):
        limit = _joint_limit(joint, evidence_of(blocks[subject]), alpha, misfits)
        for parameter in range(misfits.size):
            if misfits[parameter] < limit:
                plausible[subject] += 1
                _add(best, parameter, allowed, competitive[subject])
    return plausible, competitive


@kernel
def _box_mask(box: ComparedPoints, block: np.ndarray, root_alpha: float) -> np.ndarray:
    n_arms = block.shape[1]
    low, high = np.empty(n_arms), np.empty(n_arms)
    seen = np.empty(n_arms, dtype=np.int64)
    n_seen = _fill_ends(box, evidence_of(block), root_alpha, seen, low, high)
    mask = np.empty(box.lower.shape[0], dtype=np.bool_)
    for parameter in range(mask.size):
        mask[parameter] = _fits(box, parameter, seen, n_seen, low, high)
    return mask


@kernel
def _joint_mask(joint: JointTables, block: np.ndarray, alpha: float) -> np.ndarray:
    misfits = np.empty(joint.lower.shape[1])
    limit = _joint_limit(joint, evidence_of(block), alpha, misfits)
    mask: np.ndarray = misfits < limit
    return mask
