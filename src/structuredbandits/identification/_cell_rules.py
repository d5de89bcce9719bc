"""Rules for cells: a structure that knows only bounds on the means at each θ.

The truth may lie anywhere in a cell, so an arm counts as best in it only if its lower bound is
above the upper bounds of all others. A cell is ruled out by a ratio of likelihoods: above, a
mixture of normal means that does not depend on the cell; below, the largest likelihood of any
means within the bounds of the cell. Under the truth this ratio is at most a martingale that starts
at 1, so by Ville's inequality the cell that holds the truth is ever ruled out with probability at
most delta, whatever the rule pulls and whenever it stops.

References
----------
L. Wasserman, A. Ramdas, S. Balakrishnan, "Universal inference", PNAS 117(29), 2020.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits._compiled.lazy_rows import LazyRows, LazyTable, fill_row
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.joint_set import (
    JointTables,
    best_fit,
    fill_misfits,
    gaussian_tables,
)
from structuredbandits.confidence.sorted_tables import gains
from structuredbandits.identification._pulling_rules import Verdict, rule_for
from structuredbandits.identification._weights import maximin_shares
from structuredbandits.structure import Structure


class CellBounds(NamedTuple):
    """Bounds of the means over each cell; costs are negated."""

    bounds: JointTables
    middles: JointTables
    certain: np.ndarray  # (parameters, arms) bool: whether an arm is the best all over the cell
    centres: np.ndarray  # (arms,): the middle of the means that are possible
    spreads: np.ndarray  # (arms,): half of their range


class TrackCells(NamedTuple):
    """Pull in the proportions that distinguish the best-fitting cell from its rivals soonest."""

    cells: CellBounds
    weights: LazyRows  # (parameters, arms)


class RoundRobinCells(NamedTuple):
    """Pull in turn the arms whose means still vary over the plausible cells."""

    cells: CellBounds
    log_delta: float
    tolerance: float


@lru_cache(maxsize=8)
def cells_of(structure: Structure) -> CellBounds:
    """Tables of a structure with bounds.

    Examples
    --------
    >>> vague = Structure.from_bounds([[0.0, 1.0], [0.0, 0.4]], [[0.5, 1.0], [0.5, 0.9]], sigma=1)
    >>> cells_of(vague).certain
    array([[False,  True], [False, False]])
    """
    low, high = gains(structure)
    certain = np.empty(low.shape, dtype=bool)
    for arm in range(structure.n_arms):
        others = np.delete(high, arm, axis=1)
        certain[:, arm] = low[:, arm] >= others.max(axis=1, initial=-np.inf) - structure.tolerance
    middles = np.ascontiguousarray((0.5 * low + 0.5 * high).T)
    bounds = gaussian_tables(structure)  # limited rewards are sub-Gaussian with the same sigma
    least, most = low.min(axis=0), high.max(axis=0)
    return CellBounds(
        bounds,
        bounds._replace(lower=middles, upper=middles),
        certain,
        0.5 * least + 0.5 * most,
        np.maximum(0.5 * (most - least), structure.tolerance),
    )


def best_cell_weights(structure: Structure, parameter: int) -> np.ndarray:
    """Shares of pulls that distinguish the middle of a cell from cells with another best arm.

    Returns
    -------
    (arms,) array
        Even shares if no other cell contradicts it.
    """
    cells = cells_of(structure)
    means = cells.middles.lower.T
    best = int(means[parameter].argmax())
    rivals = ~cells.certain[:, best]
    rivals[parameter] = False
    information = np.square(means[parameter] - means[rivals]) / (2.0 * structure.sigma**2)
    return maximin_shares(information[information.max(axis=1, initial=0.0) > 0.0], structure.n_arms)


@lru_cache(maxsize=8)
def cell_weights_on_demand(structure: Structure) -> LazyTable:
    """The shares at every cell, computed when a cell first fits best."""
    return LazyTable(
        structure.n_parameters, structure.n_arms, lambda row: best_cell_weights(structure, row)
    )


@inline
def _threshold(cells: CellBounds, evidence: Evidence, misfits: np.ndarray, estimate: int) -> float:
    """How bad a fit must be at least, beyond log(1/delta), for a cell to be ruled out.

    It is minus the log of a mixture: one half lies on the middles of the cells, one half on normal
    means that are spread over the whole range of each arm. The first is sharp as long as cells are
    small against the noise; the second continues to learn when they are not.
    """
    n_parameters = misfits.size
    total = 0.0
    for parameter in range(n_parameters):
        total += math.exp(misfits[estimate] - misfits[parameter])
    first = math.log(2.0 * n_parameters / total) + misfits[estimate]
    second = math.log(2.0)
    for arm in range(evidence.counts.size):
        if evidence.counts[arm] > 0.0:
            noise = evidence.sigmas[arm] * evidence.sigmas[arm]
            variance = noise + evidence.counts[arm] * cells.spreads[arm] * cells.spreads[arm]
            distance = evidence.means[arm] - cells.centres[arm]
            second += 0.5 * math.log(variance / noise)
            second += 0.5 * evidence.counts[arm] * distance * distance / variance
    smaller = first if first < second else second
    return smaller - math.log(math.exp(smaller - first) + math.exp(smaller - second))


@inline
def _most_certain_arm(cells: CellBounds, misfits: np.ndarray, estimate: int) -> tuple[int, float]:
    """The arm of which the cells that contradict it fit worst, and how badly they do."""
    n_parameters, n_arms = cells.certain.shape
    answer = 0
    for arm in range(1, n_arms):
        if cells.middles.lower[arm, estimate] > cells.middles.lower[answer, estimate]:
            answer = arm
    best, largest = answer, -math.inf
    for step in range(n_arms):  # the best arm of the estimate first: it wins ties
        arm = answer if step == 0 else (step - 1 if step <= answer else step)
        gap = math.inf
        for parameter in range(n_parameters):
            if not cells.certain[parameter, arm]:
                gap = min(gap, misfits[parameter])
        if gap > largest:
            best, largest = arm, gap
    return best, largest


@rule_for(TrackCells)
def _track_cells(rule: Any, floats: Any, evidence: Any, t: Any) -> Any:
    cells, n_parameters = rule.cells, rule.cells.certain.shape[0]
    misfits = floats[0, :n_parameters]
    fill_misfits(cells.middles, evidence, misfits)
    estimate = best_fit(misfits, n_parameters)
    threshold = _threshold(cells, evidence, misfits, estimate)
    fill_misfits(cells.bounds, evidence, misfits)
    answer, gap = _most_certain_arm(cells, misfits, estimate)
    if not rule.weights.filled[estimate]:
        fill_row(rule.weights.address, estimate)
        if not rule.weights.filled[estimate]:
            raise ArithmeticError("the best shares of pulls could not be computed")
    weights = rule.weights.values[estimate]
    pull, lag = 0, -math.inf
    for arm in range(weights.size):
        behind = (t + 1) * weights[arm] - evidence.counts[arm]
        if weights[arm] > 0.0 and behind > lag:
            pull, lag = arm, behind
    return Verdict(pull, answer, threshold - gap)


@rule_for(RoundRobinCells)
def _round_robin_cells(rule: Any, floats: Any, evidence: Any, t: Any) -> Any:
    cells, n_parameters = rule.cells, rule.cells.certain.shape[0]
    misfits = floats[0, :n_parameters]
    fill_misfits(cells.middles, evidence, misfits)
    estimate = best_fit(misfits, n_parameters)
    threshold = _threshold(cells, evidence, misfits, estimate)
    fill_misfits(cells.bounds, evidence, misfits)
    answer, gap = _most_certain_arm(cells, misfits, estimate)
    limit = threshold - rule.log_delta
    pull, fewest = -1, math.inf
    for arm in range(cells.certain.shape[1]):
        least, most = math.inf, -math.inf
        for parameter in range(n_parameters):
            if misfits[parameter] < limit:
                least = min(least, cells.bounds.lower[arm, parameter])
                most = max(most, cells.bounds.upper[arm, parameter])
        if most - least > rule.tolerance and evidence.counts[arm] < fewest:
            pull, fewest = arm, evidence.counts[arm]
    if pull < 0:  # all plausible cells agree on all means, so any arm will do
        pull = answer
    return Verdict(pull, answer, threshold - gap)
