"""A belief about θ: a prior over Θ, updated by Gaussian rewards.

Posterior sampling and information-directed sampling share it. It must not know how they choose.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.joint import JointTables, fill_misfits, joint_tables
from structuredbandits.confidence.tables import gains

if TYPE_CHECKING:
    from structuredbandits.structure import Structure

# Weights below e^-50 of the largest: even 10,000 of them do not reach the last bit of a random
# number, and the exponential is most of the work.
_NEGLIGIBLE = -50.0


class Belief(NamedTuple):
    """What the posterior is computed from."""

    joint: JointTables
    means: np.ndarray  # (parameters, arms) what is to be maximised; midpoints of bounds
    log_prior: np.ndarray  # (parameters,)


@lru_cache(maxsize=8)
def belief_of(structure: Structure, uniform_prior: bool) -> Belief:
    """Tables for a prior: the structure's own if it has one, else uniform over Θ.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0, prior=[3, 1])
    >>> np.exp(belief_of(known, uniform_prior=False).log_prior)
    array([0.75, 0.25])
    """
    weights = structure.parameters.weights
    if structure.prior is not None and not uniform_prior:
        weights = structure.prior
    with np.errstate(divide="ignore"):  # a θ of weight 0 is never believed
        log_prior = np.log(weights)
    bounds = gains(structure)
    means = np.ascontiguousarray(0.5 * (bounds[0] + bounds[-1]))
    return Belief(joint_tables(structure), means, log_prior)


@inline
def weigh(belief: Belief, evidence: Evidence, weights: np.ndarray) -> float:
    """Write posterior weights, the largest of them 1, into (parameters,); returns their sum."""
    n_parameters = belief.log_prior.size
    fill_misfits(belief.joint, evidence, weights)
    largest = -math.inf
    for parameter in range(n_parameters):
        weights[parameter] = belief.log_prior[parameter] - weights[parameter]
        if weights[parameter] > largest:
            largest = weights[parameter]
    total = 0.0
    for parameter in range(n_parameters):
        depth = weights[parameter] - largest
        weights[parameter] = math.exp(depth) if depth > _NEGLIGIBLE else 0.0
        total += weights[parameter]
    return total


@inline
def best_at(means: np.ndarray, parameter: int, allowed: np.ndarray) -> tuple[float, int]:
    """The largest mean of the allowed arms at a θ, and how many arms have it."""
    best, ties = -math.inf, 0
    for place in range(allowed.size):
        value = means[parameter, allowed[place]]
        if value > best:
            best, ties = value, 1
        elif value == best:
            ties += 1
    return best, ties
