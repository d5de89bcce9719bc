"""The model of a map that is known with an error: what it says of θ and of each arm's mean.

θ has a prior; given θ, arm k's true mean is N(mu_k(θ), e_k(θ)²), and its rewards are
N(mean, noise²). This room keeps the posterior; it must not know how an arm is chosen.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.tables import gains
from structuredbandits.errors import InvalidPolicy

if TYPE_CHECKING:
    from structuredbandits.structure import Structure

# A θ of a smaller share of the largest weight (e^-21 is about 1e-9) changes no choice.
NEGLIGIBLE = -21.0
# Variances that differ by less come from one number and a rounding.
_SAME = 1e-6


class ErrorModel(NamedTuple):
    """The map with its errors, each arm's values side by side; costs are negated."""

    means: np.ndarray  # (arms, parameters) the map
    errors: np.ndarray  # (arms, parameters) squared standard errors of the map
    log_prior: np.ndarray  # (parameters,)
    noise: np.ndarray  # (arms,) variance of one reward


def require_errors(name: str, structure: Structure) -> None:
    """Refuse a structure that does not say how well its means are known."""
    if structure.standard_errors is None:
        raise InvalidPolicy(
            f"{name} needs the standard errors of the means, which this structure does not have; "
            "give standard_errors=, learn the structure from data, or use posterior."
        )


def require_settings(name: str, **values: float | None) -> None:
    """Refuse settings that are given but not positive finite numbers."""
    for key, value in values.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if value is not None and not (number and math.isfinite(value) and value > 0):
            raise InvalidPolicy(
                f"{name} needs a positive finite {key}, not {value!r}; leave it out."
            )


@lru_cache(maxsize=8)
def error_model(
    structure: Structure, noise: float | None, use_prior: bool, doubt: float = 1.0
) -> ErrorModel:
    """Tables of a structure with standard errors, kept for the last few structures.

    ``doubt`` multiplies the standard errors.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0,
    ...     standard_errors=[[0.1, 0.2], [0.3, 0.4]])
    >>> error_model(known, None, True).errors.round(2)
    array([[0.01, 0.09], [0.04, 0.16]])
    """
    assert structure.standard_errors is not None
    bounds = gains(structure)
    prior = structure.prior if use_prior else None
    share = structure.parameters.weights if prior is None else prior
    with np.errstate(divide="ignore"):  # a θ of weight 0 is never believed
        log_prior = np.log(np.array(share, dtype=float) / np.sum(share))
    return ErrorModel(
        np.ascontiguousarray(0.5 * (bounds[0] + bounds[-1]).T),
        np.ascontiguousarray((doubt * structure.standard_errors.T) ** 2),
        log_prior,
        reward_variance(structure, noise),
    )


def reward_variance(structure: Structure, noise: float | None = None) -> np.ndarray:
    """Variance of one reward of each arm: (arms,).

    It is the given noise squared. Otherwise it is what counts and standard errors imply, if they
    are those of plain means: then count · error² is the same number, the variance of a reward, in
    all cells of an arm. Errors of shrunken or filled means are not noise / √count and imply
    nothing; then, and without counts, it is sigma², which learned structures take from the rewards.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0]], sigma=2.0, counts=[[4, 16]],
    ...     standard_errors=[[0.5, 0.25]])
    >>> reward_variance(known), reward_variance(known, noise=3.0)
    (array([1., 1.]), array([9., 9.]))
    >>> shrunken = Structure.from_table([[1.0, 0.0], [2.0, 0.0]], sigma=2.0,
    ...     counts=[[4, 16], [1, 16]], standard_errors=[[0.5, 0.25], [0.6, 0.25]])
    >>> reward_variance(shrunken)
    array([4., 4.])
    """
    if noise is not None:
        return np.full(structure.n_arms, float(noise) ** 2)
    counts, errors = structure.counts, structure.standard_errors
    if counts is None or errors is None or not ((counts > 0) & (errors > 0)).any():
        return np.array(structure.sigma**2)
    weights = np.where((counts > 0) & (errors > 0), counts, 0.0)
    implied = errors**2 * counts
    pooled = (implied * weights).sum() / weights.sum()
    if np.allclose(implied[weights > 0], pooled, rtol=_SAME, atol=0.0):
        return np.full(structure.n_arms, pooled)
    seen = weights.sum(axis=0)
    own = (implied * weights).sum(axis=0) / np.where(seen > 0, seen, 1.0)
    if not np.allclose(np.where(weights > 0, implied, own), own, rtol=_SAME, atol=0.0):
        return np.array(structure.sigma**2)
    return np.where(seen > 0, own, structure.sigma**2)


def tree_rows(n_arms: int) -> int:
    """Rows of a tree of sums over the arms; row 1 is the sum of all, row 0 is free."""
    return 2 << max(n_arms - 1, 0).bit_length()


@inline
def posterior_of_mean(
    model: ErrorModel, evidence: Evidence, parameter: int, arm: int
) -> tuple[float, float]:
    """Mean and variance of an arm's true mean, given θ and its rewards."""
    mean, error = model.means[arm, parameter], model.errors[arm, parameter]
    if evidence.counts[arm] == 0.0 or error == 0.0:
        return mean, error
    sampling = model.noise[arm] / evidence.counts[arm]
    trust = error / (error + sampling)
    return mean + trust * (evidence.means[arm] - mean), trust * sampling


@inline
def _fill_leaf(model: ErrorModel, leaf: np.ndarray, evidence: Evidence, arm: int) -> None:
    """Log likelihood of one arm's rewards at every θ, with the map's error integrated out."""
    if evidence.counts[arm] == 0.0:
        leaf[:] = 0.0
        return
    seen, sampling = evidence.means[arm], model.noise[arm] / evidence.counts[arm]
    means, errors = model.means[arm], model.errors[arm]
    for parameter in range(means.size):
        variance = errors[parameter] + sampling
        distance = seen - means[parameter]
        leaf[parameter] = -0.5 * (math.log(variance) + distance * distance / variance)


@inline
def weigh_arm(model: ErrorModel, tree: np.ndarray, evidence: Evidence, arm: int) -> None:
    """Take a reward of one arm into the log likelihood of every θ.

    A tree of sums costs a logarithm of the arms a reward, and its root depends only on the leaves,
    so that a run that was stored and rebuilt goes on with exactly the same numbers.
    """
    node = tree.shape[0] // 2 + arm
    _fill_leaf(model, tree[node], evidence, arm)
    node //= 2
    while node >= 1:
        total, left, right = tree[node], tree[2 * node], tree[2 * node + 1]
        for parameter in range(total.size):
            total[parameter] = left[parameter] + right[parameter]
        node //= 2


@inline
def weigh_all(model: ErrorModel, tree: np.ndarray, evidence: Evidence) -> None:
    """The whole tree from the evidence."""
    leaves = tree.shape[0] // 2
    for arm in range(leaves):
        if arm < evidence.counts.size:
            _fill_leaf(model, tree[leaves + arm], evidence, arm)
        else:
            tree[leaves + arm][:] = 0.0
    for node in range(leaves - 1, 0, -1):
        tree[node][:] = tree[2 * node] + tree[2 * node + 1]


@inline
def draw_parameter(model: ErrorModel, tree: np.ndarray, generator: Any) -> int:
    """A θ drawn from its posterior; row 0 of the tree is used up."""
    log_prior, log_likelihood, running = model.log_prior, tree[1], tree[0]
    largest = -math.inf
    for parameter in range(log_prior.size):
        largest = max(largest, log_prior[parameter] + log_likelihood[parameter])
    total = 0.0
    for parameter in range(log_prior.size):
        total += math.exp(log_prior[parameter] + log_likelihood[parameter] - largest)
        running[parameter] = total
    mark = generator.random() * total
    drawn = 0
    while drawn < log_prior.size - 1 and running[drawn] <= mark:
        drawn += 1
    return drawn


@inline
def list_plausible(
    model: ErrorModel, log_likelihood: np.ndarray, weights: np.ndarray, parameters: np.ndarray
) -> int:
    """The θ worth summing over: how many; their weights (sum 1) and numbers are written."""
    largest = -math.inf
    for parameter in range(model.log_prior.size):
        largest = max(largest, model.log_prior[parameter] + log_likelihood[parameter])
    count, total = 0, 0.0
    for parameter in range(model.log_prior.size):
        depth = model.log_prior[parameter] + log_likelihood[parameter] - largest
        if depth > NEGLIGIBLE:
            weights[count] = math.exp(depth)
            parameters[count] = parameter
            total += weights[count]
            count += 1
    for place in range(count):
        weights[place] /= total
    return count
