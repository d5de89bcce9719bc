"""The posterior over θ: a prior over Θ, updated by the likelihood of the rewards.

Every posterior of the library takes its prior from `prior_of` and turns log weights into weights
with `exponentiate`. Here the likelihood is that of exact means or bounds; the likelihood of means
with standard errors is in ``hierarchical_model.py``.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.joint_set import (
    JointTables,
    fill_misfits,
    gaussian_tables,
    joint_tables,
)
from structuredbandits.confidence.sorted_tables import gains
from structuredbandits.policies.reward_scale import noise_factors

if TYPE_CHECKING:
    from structuredbandits.structure import Structure

#: Weights below e^-50 of the largest: even 10,000 of them do not reach the last bit of a random
#: number, and the exponential is most of the work.
NEGLIGIBLE = -50.0


class Belief(NamedTuple):
    """Tables from which the posterior is computed."""

    joint: JointTables
    means: np.ndarray  # (parameters, arms) to be maximised; midpoints of bounds
    log_prior: np.ndarray  # (parameters,)


def prior_of(structure: Structure, use_prior: bool = True) -> np.ndarray:
    """The prior over Θ: the structure's own, if it has one and it is wanted, else uniform over Θ.

    Returns
    -------
    (parameters,) array
        It sums to 1, up to rounding.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0, prior=[3, 1])
    >>> prior_of(known), prior_of(known, use_prior=False)
    (array([0.75, 0.25]), array([0.5, 0.5]))
    """
    if use_prior and structure.prior is not None:
        return structure.prior
    return structure.parameters.weights


@lru_cache(maxsize=8)
def belief_of(structure: Structure, uniform_prior: bool) -> Belief:
    """Tables of a structure and its prior, kept for the last few structures.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0, prior=[3, 1])
    >>> np.exp(belief_of(known, uniform_prior=False).log_prior)
    array([0.75, 0.25])
    """
    with np.errstate(divide="ignore"):  # a θ of prior 0 keeps the weight 0
        log_prior = np.log(prior_of(structure, not uniform_prior))
    bounds = gains(structure)
    means = np.ascontiguousarray(0.5 * (bounds[0] + bounds[-1]))
    return Belief(likelihood_tables(structure), means, log_prior)


def likelihood_tables(structure: Structure) -> JointTables:
    """Tables of the log likelihood: Bernoulli's, or a Gaussian one.

    Of bounded rewards the Gaussian one has their estimated standard deviation.
    """
    if structure.rewards.name == "bounded":
        return gaussian_tables(structure, noise_factors(structure))
    return joint_tables(structure)


@inline
def exponentiate(weights: np.ndarray, n_parameters: int, negligible: float) -> float:
    """Turn log weights into weights in place, the largest of them 1; returns their sum.

    Parameters
    ----------
    weights : (parameters,) or longer
        Log prior plus log likelihood, up to a constant.
    negligible
        Weights whose log is this far below the largest become 0; negative.
    """
    largest = -math.inf
    for parameter in range(n_parameters):
        largest = max(largest, weights[parameter])
    total = 0.0
    for parameter in range(n_parameters):
        depth = weights[parameter] - largest
        weights[parameter] = math.exp(depth) if depth > negligible else 0.0
        total += weights[parameter]
    return total


@inline
def weigh(belief: Belief, evidence: Evidence, weights: np.ndarray) -> float:
    """Write posterior weights, the largest of them 1, into (parameters,); returns their sum."""
    n_parameters = belief.log_prior.size
    fill_misfits(belief.joint, evidence, weights)
    for parameter in range(n_parameters):
        weights[parameter] = belief.log_prior[parameter] - weights[parameter]
    return exponentiate(weights, n_parameters, NEGLIGIBLE)  # type: ignore[no-any-return]  # Numba is untyped


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
