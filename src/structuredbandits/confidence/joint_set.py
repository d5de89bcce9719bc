"""How well each θ fits the rewards of all arms together, and the confidence set that follows.

The misfit of θ is the log likelihood that it lacks. For Gaussian rewards it is
Σ_k n_k d_k² / (2 sigma_k²), with d_k the distance of arm k's empirical mean from its mean at θ (or
from the interval of its bounds). For limited rewards it is Σ_k n_k kl(mean, mean at θ), both in
units of the limits (see `divergence`), the likelihood of Bernoulli rewards; its ratios are
supermartingales for all rewards y between the limits, since e^(y x) is convex in y.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structuredbandits._compiled import called, inline
from structuredbandits.confidence.divergence import (
    limits_of,
    natural_parameters,
    negative_entropy,
    successes_of,
)
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.memory import (
    ACTIVE,
    PLAUSIBLE,
    ConfidenceState,
    Memory,
    new_memory,
)
from structuredbandits.confidence.sorted_tables import SortedTables, gains

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class JointTables(NamedTuple):
    """Means, or their bounds, with each arm's values side by side; costs are negated."""

    lower: np.ndarray  # (arms, parameters)
    upper: np.ndarray  # (arms, parameters); the same array if the means are exact
    noise: np.ndarray  # (arms,) standard deviation of a Gaussian reward
    rates: RateTables


class RateTables(NamedTuple):
    """Natural parameters x of limited rewards, and a = log(1 + e^x); empty for Gaussian ones."""

    floors: np.ndarray  # (arms,) smallest gain
    ranges: np.ndarray  # (arms,) largest less smallest gain
    lower: np.ndarray  # (2, arms, parameters): x and a
    upper: np.ndarray  # (2, arms, parameters); the same array if the means are exact


NO_RATES = RateTables(np.empty(0), np.empty(0), np.empty((2, 0, 0)), np.empty((2, 0, 0)))


@lru_cache(maxsize=8)
def joint_tables(structure: Structure) -> JointTables:
    """Tables of a structure, made once and kept for the last few structures.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> joint_tables(Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0)).lower
    array([[1., 0.], [0., 2.]])
    """
    tables, limits = gaussian_tables(structure), limits_of(structure)
    if limits is None:
        return tables
    points = natural_parameters(structure, limits, gains(structure))
    sides = [_with_cumulants(side) for side in points]
    return tables._replace(rates=RateTables(limits.floors, limits.ranges, sides[0], sides[-1]))


def _with_cumulants(points: np.ndarray) -> np.ndarray:
    x = np.ascontiguousarray(points.T)
    return np.stack([x, np.logaddexp(0.0, x)])


def gaussian_tables(structure: Structure, factors: np.ndarray | float = 1.0) -> JointTables:
    """Tables that take rewards for Gaussian, whatever the structure says.

    Parameters
    ----------
    factors : (arms,) array or number
        Standard deviation of a reward over sigma.
    """
    bounds = gains(structure)
    lower = np.ascontiguousarray(bounds[0].T)
    upper = lower if len(bounds) == 1 else np.ascontiguousarray(bounds[1].T)
    return JointTables(lower, upper, factors * structure.sigma, NO_RATES)


def scratch_memory(n_arms: int, rows: int, columns: int, n_marks: int = 0) -> Memory:
    """Memory of a run whose floats are (rows, columns) numbers for its algorithm to fill."""
    whole = new_memory(n_arms, n_marks)
    return whole._replace(floats=np.zeros((rows, columns)))


@inline
def fill_misfits(tables: JointTables, evidence: Evidence, misfits: np.ndarray) -> None:
    """Write the misfit of every θ into ``misfits``: (parameters,).

    It is recomputed from the evidence, so that a resumed run has the same numbers to the last bit.
    """
    n_parameters = tables.lower.shape[1]
    for parameter in range(n_parameters):
        misfits[parameter] = 0.0
    if tables.rates.floors.size > 0:
        _add_misfits_of_rates(tables.rates, evidence.counts, evidence.sums, misfits)
        return
    for arm in range(tables.lower.shape[0]):
        if evidence.counts[arm] > 0.0:
            mean, sigma = evidence.means[arm], tables.noise[arm]
            weight = 0.5 * evidence.counts[arm] / (sigma * sigma)
            lower, upper = tables.lower[arm], tables.upper[arm]
            for parameter in range(n_parameters):
                below = lower[parameter] - mean
                above = mean - upper[parameter]
                distance = below if below > above else above
                distance = distance if distance > 0.0 else 0.0
                misfits[parameter] += weight * (distance * distance)


@called
def _add_misfits_of_rates(
    rates: RateTables, counts: np.ndarray, sums: np.ndarray, misfits: np.ndarray
) -> None:
    """Add n kl(mean, v) of every arm, v the value at θ that is nearest to the mean."""
    for arm in range(rates.floors.size):
        count = counts[arm]
        if count > 0.0:
            successes = successes_of(sums[arm], count, rates.floors[arm], rates.ranges[arm])
            mean = math.inf
            if successes < count:
                mean = math.log(successes / (count - successes)) if successes > 0.0 else -math.inf
            constant = negative_entropy(successes, count)
            x_low, a_low = rates.lower[0, arm], rates.lower[1, arm]
            x_high, a_high = rates.upper[0, arm], rates.upper[1, arm]
            for parameter in range(x_low.size):
                if mean < x_low[parameter]:
                    x, a = x_low[parameter], a_low[parameter]
                elif mean > x_high[parameter]:
                    x, a = x_high[parameter], a_high[parameter]
                else:
                    continue
                misfits[parameter] += max(constant + count * a - successes * x, 0.0)


@inline
def best_fit(misfits: np.ndarray, n_parameters: int) -> int:
    """The θ of the smallest misfit, the first one on a tie."""
    best = 0
    for parameter in range(1, n_parameters):
        if misfits[parameter] < misfits[best]:
            best = parameter
    return best


@inline
def largest_misfit(misfits: np.ndarray, log_one_over_delta: float) -> float:
    """The value below which a misfit makes its θ plausible; see `settle`."""
    smallest: float = misfits[best_fit(misfits, misfits.size)]
    return smallest + math.log(misfits.size) + log_one_over_delta


@inline
def settle(
    tables: SortedTables,
    joint: JointTables,
    evidence: Evidence,
    state: ConfidenceState,
    misfits: np.ndarray,
    log_one_over_delta: float,
) -> None:
    """Make the set of the θ whose misfit exceeds the smallest by less than log(|Θ| / delta).

    For each θ the likelihood ratio against the true one is a supermartingale that starts at 1, and
    so is their mean over Θ; by Ville's inequality it ever reaches 1/delta with probability at most
    delta. Hence the true θ is in all sets of one delta together with probability 1 - delta.
    """
    n_parameters = misfits.size
    fill_misfits(joint, evidence, misfits)
    limit = largest_misfit(misfits, log_one_over_delta)
    n_arms = tables.support.size
    for arm in range(n_arms):
        state.support[arm] = 0
    plausible = 0
    for parameter in range(n_parameters):
        inside = misfits[parameter] < limit
        state.exclusions[parameter] = 0 if inside else 1
        if inside:
            plausible += 1
            start, end = tables.optimal_start[parameter], tables.optimal_start[parameter + 1]
            for entry in range(start, end):
                state.support[tables.optimal_arms[entry]] += 1
    state.registers[PLAUSIBLE] = plausible
    active = 0
    for arm in range(n_arms):
        if state.support[arm] > 0:
            state.active[active] = arm
            active += 1
    state.registers[ACTIVE] = active
