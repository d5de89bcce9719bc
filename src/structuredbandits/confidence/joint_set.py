"""How well each θ fits the rewards of all arms together, and the confidence set that follows.

The misfit of θ is Σ_k n_k d_k² / (2 sigma_k²), with d_k the distance of arm k's empirical mean from
its mean at θ (or from the interval of its bounds).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structuredbandits._compiled import inline
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


@lru_cache(maxsize=8)
def joint_tables(structure: Structure) -> JointTables:
    """Tables of a structure, made once and kept for the last few structures.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> joint_tables(Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0)).lower
    array([[1., 0.], [0., 2.]])
    """
    bounds = gains(structure)
    lower = np.ascontiguousarray(bounds[0].T)
    return JointTables(lower, lower if len(bounds) == 1 else np.ascontiguousarray(bounds[1].T))


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
    for arm in range(tables.lower.shape[0]):
        if evidence.counts[arm] > 0.0:
            mean, sigma = evidence.means[arm], evidence.sigmas[arm]
            weight = 0.5 * evidence.counts[arm] / (sigma * sigma)
            lower, upper = tables.lower[arm], tables.upper[arm]
            for parameter in range(n_parameters):
                below = lower[parameter] - mean
                above = mean - upper[parameter]
                distance = below if below > above else above
                distance = distance if distance > 0.0 else 0.0
                misfits[parameter] += weight * (distance * distance)


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
