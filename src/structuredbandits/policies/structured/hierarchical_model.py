"""The hierarchical model: a structure whose means are known up to their standard errors.

θ has a prior; given θ, arm k's true mean is N(mu_k(θ), e_k(θ)²) with e the standard error, and its
rewards are N(mean, noise²). For Bernoulli rewards it has a Beta distribution instead (see
`beta_model`), and the rewards are binomial. This module computes the posterior of θ and of each
arm's true mean.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from structuredbandits._compiled import called, inline, kernel
from structuredbandits.confidence.divergence import CERTAIN, limits_of, successes_of
from structuredbandits.confidence.evidence import Evidence, evidence_of, new_block, record
from structuredbandits.confidence.sorted_tables import gains
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.structured.belief import NEGLIGIBLE, exponentiate, prior_of
from structuredbandits.policies.structured.beta_model import beta_cells

if TYPE_CHECKING:
    from structuredbandits.structure import Structure

# θ whose weight is below e^-21 (about 1e-9) of the largest are left out of sums over θ.
_NEGLIGIBLE = -21.0
# Variances that differ by less than this share are one number with rounding errors.
_SAME = 1e-6
# The variance of a rare reward is at least this, in units of its squared prize.
_LEAST_VARIANCE = 1e-6


class ErrorModel(NamedTuple):
    """Means and their standard errors, each arm's values side by side; costs are negated."""

    means: np.ndarray  # (arms, parameters)
    errors: np.ndarray  # (arms, parameters) squared standard errors
    log_prior: np.ndarray  # (parameters,)
    noise: np.ndarray  # (arms,) variance of one reward
    rates: RateCells


class RateCells(NamedTuple):
    """Beta distributions of the rates of Bernoulli rewards; empty for others."""

    wins: np.ndarray  # (arms, parameters); infinite if the rate is known
    losses: np.ndarray  # (arms, parameters)
    constants: np.ndarray  # (arms, parameters) log of the Beta function
    logits: np.ndarray  # (2, arms, parameters) log(rate) and log(1 - rate) of known rates
    floors: np.ndarray  # (arms,) smallest gain
    ranges: np.ndarray  # (arms,) largest less smallest gain


_NONE = np.empty((0, 0))
NO_RATES = RateCells(_NONE, _NONE, _NONE, np.empty((2, 0, 0)), np.empty(0), np.empty(0))


def require_errors(name: str, structure: Structure) -> None:
    """Refuse a structure without standard errors."""
    if structure.standard_errors is None:
        raise InvalidPolicy(
            f"{name} needs the standard errors of the means, which this structure does not have; "
            "give standard_errors=, learn the structure from data, or use posterior."
        )


@lru_cache(maxsize=8)
def error_model(
    structure: Structure, noise: float | None, use_prior: bool, doubt: float = 1.0
) -> ErrorModel:
    """Tables of a structure with standard errors, kept for the last few structures.

    ``doubt`` multiplies the standard errors. Bernoulli rewards have Beta distributions of their
    rates, unless a noise is given.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0,
    ...     standard_errors=[[0.1, 0.2], [0.3, 0.4]])
    >>> error_model(known, None, True).errors.round(2)
    array([[0.01, 0.09], [0.04, 0.16]])
    """
    if structure.rewards.is_bernoulli and noise is None:
        return _rate_model(structure, use_prior, doubt)
    return gaussian_model(structure, noise, use_prior, doubt)


def gaussian_model(
    structure: Structure, noise: float | None, use_prior: bool, doubt: float = 1.0
) -> ErrorModel:
    """Tables that take rewards for Gaussian, whatever the structure says."""
    return _tables(structure, reward_variance(structure, noise), use_prior, doubt)


def _rate_model(structure: Structure, use_prior: bool, doubt: float) -> ErrorModel:
    """Tables of Bernoulli rewards; means and errors are those of the Beta distributions."""
    from scipy.special import betaln

    cells, limits = beta_cells(structure, doubt), limits_of(structure)
    assert limits is not None
    floors, ranges = limits.floors[:, np.newaxis], limits.ranges[:, np.newaxis]
    known = np.isinf(cells.wins)
    rates = np.where(known, cells.means, 0.5)
    with np.errstate(divide="ignore"):
        logits = np.maximum(np.log(np.stack([rates, 1.0 - rates])), -CERTAIN)
    model = _tables(structure, np.array(structure.sigma**2), use_prior)
    spread = cells.means * (1.0 - cells.means)
    variance = np.maximum(spread @ np.exp(model.log_prior), _LEAST_VARIANCE)
    wins, losses = np.where(known, 1.0, cells.wins), np.where(known, 1.0, cells.losses)
    return model._replace(
        means=np.ascontiguousarray(floors + ranges * cells.means),
        errors=np.ascontiguousarray(ranges * ranges * cells.variances),
        noise=limits.ranges**2 * variance,
        rates=RateCells(
            cells.wins, cells.losses, betaln(wins, losses), logits, limits.floors, limits.ranges
        ),
    )


def _tables(
    structure: Structure, variance: np.ndarray, use_prior: bool = True, doubt: float = 1.0
) -> ErrorModel:
    bounds, errors = gains(structure), structure.standard_errors
    prior = prior_of(structure, use_prior)
    if errors is None:
        errors = np.zeros(structure.means.shape)
    with np.errstate(divide="ignore"):  # a θ of prior 0 keeps the weight 0
        # Stored decisions depend on the last bit, so the prior is divided by its sum once more.
        log_prior = np.log(prior / np.sum(prior))
    return ErrorModel(
        np.ascontiguousarray(0.5 * (bounds[0] + bounds[-1]).T),
        np.ascontiguousarray((doubt * errors.T) ** 2),
        log_prior,
        variance,
        NO_RATES,
    )


def model_with_bounds(structure: Structure, noise: float | None) -> ErrorModel:
    """The tables of any structure: without standard errors means are exact, or uniform in bounds.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> vague = Structure.from_bounds([[0.0, 1.0]], [[0.0, 2.0]], sigma=1.0)
    >>> model_with_bounds(vague, None).errors.round(4)
    array([[0.    ], [0.0833]])
    """
    model = error_model(structure, noise, use_prior=True)
    if model.rates.floors.size:
        return model  # Beta distributions contain the bounds
    width = (structure.upper - structure.lower).T
    return model._replace(errors=model.errors + width * width / 12.0)


def reward_variance(structure: Structure, noise: float | None = None) -> np.ndarray:
    """Variance of one reward of each arm: (arms,).

    It is the given noise squared, else that of the structure. Without both, it is what counts and
    standard errors imply, if they are those of plain means: then count · error² is the same number,
    the variance of a reward, in all cells of an arm. Standard errors of shrunken or filled means
    are not noise / √count and imply nothing; then, and without counts, it is sigma², which learned
    structures estimate from the rewards.

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
    if structure.noise is not None:
        return np.array(structure.noise**2)
    implied = implied_variance(structure)
    return np.array(structure.sigma**2) if implied is None else implied


def implied_variance(structure: Structure) -> np.ndarray | None:
    """Variance of one reward of each arm that counts and errors imply; None if they do not."""
    counts, errors = structure.counts, structure.standard_errors
    if counts is None or errors is None or not ((counts > 0) & (errors > 0)).any():
        return None
    weights = np.where((counts > 0) & (errors > 0), counts, 0.0)
    implied = errors**2 * counts
    pooled = (implied * weights).sum() / weights.sum()
    if np.allclose(implied[weights > 0], pooled, rtol=_SAME, atol=0.0):
        return np.full(structure.n_arms, pooled)
    seen = weights.sum(axis=0)
    own = (implied * weights).sum(axis=0) / np.where(seen > 0, seen, 1.0)
    if not np.allclose(np.where(weights > 0, implied, own), own, rtol=_SAME, atol=0.0):
        return None
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
    if model.rates.floors.size > 0:
        if evidence.counts[arm] == 0.0 or error == 0.0:
            return mean, error
        return _posterior_of_rate(  # type: ignore[no-any-return]  # Numba is untyped
            model.rates.wins[arm, parameter],
            model.rates.losses[arm, parameter],
            evidence.counts[arm],
            evidence.sums[arm],
            model.rates.floors[arm],
            model.rates.ranges[arm],
        )
    if evidence.counts[arm] == 0.0 or error == 0.0:
        return mean, error
    sampling = model.noise[arm] / evidence.counts[arm]
    trust = error / (error + sampling)
    return mean + trust * (evidence.means[arm] - mean), trust * sampling


@called
def _posterior_of_rate(
    wins: float, losses: float, count: float, total: float, floor: float, width: float
) -> tuple[float, float]:
    """Mean and variance of an arm's true mean, from its Beta distribution and its rewards."""
    size = wins + losses + count
    rate = (wins + successes_of(total, count, floor, width)) / size
    return floor + width * rate, width * width * (rate * (1.0 - rate) / (size + 1.0))


@called
def _fill_leaf_of_rates(
    rates: RateCells, leaf: np.ndarray, counts: np.ndarray, sums: np.ndarray, arm: int
) -> None:
    """Log likelihood of one arm's Bernoulli rewards at every θ: that of Beta and binomial."""
    count = counts[arm]
    won = successes_of(sums[arm], count, rates.floors[arm], rates.ranges[arm])
    lost = count - won
    for parameter in range(rates.wins.shape[1]):
        a, b = rates.wins[arm, parameter], rates.losses[arm, parameter]
        if a == math.inf:
            value = 0.0
            if won > 0.0:
                value += won * rates.logits[0, arm, parameter]
            if lost > 0.0:
                value += lost * rates.logits[1, arm, parameter]
        else:
            value = math.lgamma(a + won) + math.lgamma(b + lost) - math.lgamma(a + b + count)
            value -= rates.constants[arm, parameter]
        leaf[parameter] = value


@inline
def _fill_leaf(model: ErrorModel, leaf: np.ndarray, evidence: Evidence, arm: int) -> None:
    """Log likelihood of one arm's rewards at every θ, with the arm's true mean integrated out."""
    if evidence.counts[arm] == 0.0:
        leaf[:] = 0.0
        return
    if model.rates.floors.size > 0:
        _fill_leaf_of_rates(model.rates, leaf, evidence.counts, evidence.sums, arm)
        return
    seen, sampling = evidence.means[arm], model.noise[arm] / evidence.counts[arm]
    means, errors = model.means[arm], model.errors[arm]
    for parameter in range(means.size):
        variance = errors[parameter] + sampling
        distance = seen - means[parameter]
        leaf[parameter] = -0.5 * (math.log(variance) + distance * distance / variance)


@inline
def weigh_arm(model: ErrorModel, tree: np.ndarray, evidence: Evidence, arm: int) -> None:
    """Bring the log likelihood of every θ up to date after a reward of one arm.

    A tree of sums takes log(arms) additions per reward. Its root depends only on the leaves, so a
    run that was stored and restored continues with exactly the same numbers.
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
    """Recompute the whole tree from the evidence."""
    leaves = tree.shape[0] // 2
    for arm in range(leaves):
        if arm < evidence.counts.size:
            _fill_leaf(model, tree[leaves + arm], evidence, arm)
        else:
            tree[leaves + arm][:] = 0.0
    for node in range(leaves - 1, 0, -1):
        tree[node][:] = tree[2 * node] + tree[2 * node + 1]


@inline
def _log_weights(model: ErrorModel, log_likelihood: np.ndarray, weights: np.ndarray) -> None:
    for parameter in range(model.log_prior.size):
        weights[parameter] = model.log_prior[parameter] + log_likelihood[parameter]


@inline
def draw_parameter(model: ErrorModel, tree: np.ndarray, generator: Any) -> int:
    """A θ drawn from its posterior; row 0 of the tree is overwritten."""
    weights, n_parameters = tree[0], model.log_prior.size
    _log_weights(model, tree[1], weights)
    mark = generator.random() * exponentiate(weights, n_parameters, -math.inf)
    passed = 0.0
    for parameter in range(n_parameters - 1):
        passed += weights[parameter]
        if passed > mark:
            return parameter
    return n_parameters - 1


@inline
def list_plausible(
    model: ErrorModel, log_likelihood: np.ndarray, weights: np.ndarray, parameters: np.ndarray
) -> int:
    """The number of θ whose weight is not negligible.

    Their weights, which sum to 1, and their positions are written to the first places of
    ``weights`` and ``parameters``: (parameters,).
    """
    n_parameters = model.log_prior.size
    _log_weights(model, log_likelihood, weights)
    total = exponentiate(weights, n_parameters, _NEGLIGIBLE)
    count = 0
    for parameter in range(n_parameters):
        if weights[parameter] > 0.0:
            weights[count] = weights[parameter] / total
            parameters[count] = parameter
            count += 1
    return count


def expected_rewards(
    structure: Structure, subjects: np.ndarray, chosen: np.ndarray, rewards: np.ndarray
) -> np.ndarray:
    """Mean rewards that the model expects before each row of a log: (rows, arms).

    Each subject's rows follow one another; a row's own reward is used only for later rows. The
    variance of a reward is sigma², and standard errors are 0 where the structure has none.

    Parameters
    ----------
    subjects, chosen, rewards : (rows,) arrays
        Subject number, position of the arm, and reward.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 1.0]], sigma=0.1)
    >>> log = np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([1.0, 0.0, 0.0])
    >>> expected_rewards(known, *log).round(6)
    array([[0.5, 0.5], [1. , 0. ], [0.5, 0.5]])
    """
    model = _tables(structure, np.array(structure.sigma**2))
    gained = structure.sign * np.asarray(rewards, dtype=float)
    block = new_block(structure.sigma)
    tree = np.zeros((tree_rows(structure.n_arms), structure.n_parameters))
    expected = _expect_rows(model, tree, block, np.asarray(subjects), np.asarray(chosen), gained)
    return np.asarray(structure.sign * expected)


@kernel
def _expect_rows(
    model: ErrorModel,
    tree: np.ndarray,
    block: np.ndarray,
    subjects: np.ndarray,
    chosen: np.ndarray,
    rewards: np.ndarray,
) -> np.ndarray:
    evidence, (n_arms, n_parameters) = evidence_of(block), model.means.shape
    expected = np.zeros((subjects.size, n_arms))
    for row in range(subjects.size):
        if row > 0 and subjects[row] != subjects[row - 1]:
            for arm in range(n_arms):
                evidence.counts[arm], evidence.sums[arm] = 0.0, 0.0
            tree[:] = 0.0
        weights = tree[0]
        _log_weights(model, tree[1], weights)
        total = exponentiate(weights, n_parameters, NEGLIGIBLE)
        for parameter in range(n_parameters):
            if weights[parameter] > 0.0:
                share = weights[parameter] / total
                for arm in range(n_arms):
                    mean, _ = posterior_of_mean(model, evidence, parameter, arm)
                    expected[row, arm] += share * mean
        record(evidence, chosen[row], rewards[row])
        weigh_arm(model, tree, evidence, chosen[row])
    return expected


@lru_cache(maxsize=8)
def widened(structure: Structure, errors: float) -> Structure:
    """The structure whose bounds reach ``errors`` standard errors further, as in Appendix A.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 2.0]], sigma=1.0, standard_errors=[[0.1, 0.2]])
    >>> widened(known, 2.0).lower, widened(known, 2.0).upper
    (array([[0.8, 1.6]]), array([[1.2, 2.4]]))
    """
    from structuredbandits.structure import Structure

    assert structure.standard_errors is not None
    reach = errors * structure.standard_errors
    lower, upper = structure.lower - reach, structure.upper + reach
    if structure.rewards.limited:
        limits = np.array(structure.rewards.low), np.array(structure.rewards.high)
        lower, upper = np.clip(lower, *limits), np.clip(upper, *limits)
    return Structure.from_bounds(
        lower,
        upper,
        structure.parameters,
        structure.arms,
        sigma=structure.sigma,
        minimize=structure.minimize,
        rewards=structure.rewards,
    )
