"""Hierarchical Thompson sampling: a posterior that knows how little its map is worth.

A structure learned from a sample is wrong by sampling error, and a policy that takes it for the
truth can be wrong for ever. Here each true mean is the learned one plus normal noise of the map's
own standard error; rewards correct the map for the subject at hand while they tell which θ it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.confidence.box import Memory
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.tables import gains
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.protocol import decide, implements, learn, restore

if TYPE_CHECKING:
    from structuredbandits.structure import Structure

# A θ whose weight is below this share of the largest adds nothing that a probability shows.
_NEGLIGIBLE = 1e-9


class HierarchicalAgent(NamedTuple):
    """Parameters of hierarchical Thompson sampling in compiled code."""

    means: np.ndarray  # (parameters, arms) the map
    errors: np.ndarray  # (parameters, arms) squared standard errors of the map
    log_prior: np.ndarray  # (parameters,)
    noise: np.ndarray  # (arms,) variance of one reward
    spread: float  # factor on the standard deviation of a drawn mean


@dataclass(frozen=True, repr=False)
class Hierarchical(Algorithm):
    """Draw θ from its posterior, then each arm's mean given θ; pull the largest.

    The model: θ has the structure's prior; given θ, arm k's true mean is N(mu_k(θ), e_k(θ)²) with
    e the standard error of the map, and its rewards are N(mean, noise²). With e = 0 this is
    posterior sampling over θ; as e grows without bound it becomes Thompson sampling on the
    rewards alone.

    Parameters
    ----------
    noise
        Standard deviation of one reward. None: what the structure's own counts and standard errors
        imply (pooled over θ), or its sigma if it has none.
    use_prior
        Whether to use the structure's prior over θ; uniform otherwise.
    spread
        Factor on the standard deviation of the drawn means: 1 is Thompson sampling.

    Notes
    -----
    No regret bound is proved here for a map that is wrong in other ways than its standard errors
    say. Where the model holds, it is Thompson sampling with the right prior, and its Bayesian
    regret bounds apply.

    References
    ----------
    J. Hong, B. Kveton, M. Zaheer, M. Ghavamzadeh, "Hierarchical Bayesian bandits", AISTATS 2022,
    for Thompson sampling with two levels.
    """

    noise: float | None = None
    use_prior: bool = True
    spread: float = 1.0
    name: ClassVar[str] = "hierarchical"

    def __post_init__(self) -> None:
        for key in ("noise", "spread"):
            value = getattr(self, key)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InvalidPolicy(
                    f"Hierarchical needs a positive finite {key}, not {value!r}; leave it out."
                )

    def check(self, structure: Structure) -> None:
        if structure.standard_errors is None:
            raise InvalidPolicy(
                "hierarchical needs the standard errors of the means, which this structure does "
                "not have; give standard_errors=, learn the structure from data, or use posterior."
            )

    def agent(self, structure: Structure, rounds: int, horizon: int) -> HierarchicalAgent:
        assert structure.standard_errors is not None
        bounds = gains(structure)
        prior = structure.prior if self.use_prior else None
        share = np.full(structure.n_parameters, 1.0) if prior is None else prior
        with np.errstate(divide="ignore"):
            log_prior = np.log(share / share.sum())
        return HierarchicalAgent(
            np.ascontiguousarray(0.5 * (bounds[0] + bounds[-1])),
            np.ascontiguousarray(structure.standard_errors**2),
            log_prior,
            reward_variance(structure, self.noise),
            float(self.spread),
        )

    def memory(self, structure: Structure) -> Memory:
        leaves = 1 << max(structure.n_arms - 1, 0).bit_length()
        return Memory(
            np.zeros((1, 1), dtype=np.int64),
            np.zeros((2 * leaves, structure.n_parameters)),
            np.zeros(0, dtype=np.int16),
        )

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        from structuredbandits.policies.quadrature import largest_of_normals

        agent, evidence = snapshot.agent, Evidence(*snapshot.block)
        scores = agent.log_prior + snapshot.memory.floats[1]
        weights = np.exp(scores - scores.max())
        result = np.zeros(snapshot.block.shape[1])
        for parameter in np.flatnonzero(weights > _NEGLIGIBLE):
            drawn = [posterior_of_mean.py_func(agent, evidence, parameter, arm) for arm in allowed]
            means, deviations = np.array(drawn).T
            deviations = np.maximum(agent.spread * deviations, 1e-12 * (1.0 + abs(means)))
            result[allowed] += weights[parameter] * largest_of_normals(means, deviations)
        return np.asarray(result / result.sum())


def reward_variance(structure: Structure, noise: float | None) -> np.ndarray:
    """Variance of one reward: given, implied by the map's errors, or sigma²: (arms,)."""
    if noise is not None:
        return np.full(structure.n_arms, float(noise) ** 2)
    counts, errors = structure.counts, structure.standard_errors
    if counts is None or errors is None or not ((counts > 0) & (errors > 0)).any():
        return np.asarray(structure.sigma**2)
    known = (counts > 0) & (errors > 0)
    total = np.where(known, errors**2 * counts * counts, 0.0).sum()
    return np.full(structure.n_arms, total / np.where(known, counts, 0.0).sum())


@inline
def posterior_of_mean(
    agent: HierarchicalAgent, evidence: Evidence, parameter: int, arm: int
) -> tuple[float, float]:
    """Mean and standard deviation of an arm's true mean, given θ and its rewards."""
    mean, error = agent.means[parameter, arm], agent.errors[parameter, arm]
    if evidence.counts[arm] == 0.0 or error == 0.0:
        return mean, math.sqrt(error)
    sampling = agent.noise[arm] / evidence.counts[arm]
    if error == math.inf:
        return evidence.means[arm], math.sqrt(sampling)
    trust = error / (error + sampling)
    return mean + trust * (evidence.means[arm] - mean), math.sqrt(trust * sampling)


@inline
def _fill_leaf(agent: HierarchicalAgent, tree: np.ndarray, evidence: Evidence, arm: int) -> None:
    """Log likelihood of one arm's rewards at every θ, with the map's error integrated out."""
    leaf = tree[tree.shape[0] // 2 + arm]
    if evidence.counts[arm] == 0.0:
        leaf[:] = 0.0
        return
    seen, sampling = evidence.means[arm], agent.noise[arm] / evidence.counts[arm]
    for parameter in range(leaf.size):
        variance = agent.errors[parameter, arm] + sampling
        distance = seen - agent.means[parameter, arm]
        if variance == math.inf:
            leaf[parameter] = 0.0
        else:
            leaf[parameter] = -0.5 * (math.log(variance) + distance * distance / variance)


@inline
def _sum_above(tree: np.ndarray, arm: int) -> None:
    """Bring the sums above a leaf up to date.

    A tree of sums costs a logarithm of the arms a reward, and its root depends only on the leaves,
    so that a run that was stored and rebuilt goes on with exactly the same numbers.
    """
    node = (tree.shape[0] // 2 + arm) // 2
    while node >= 1:
        total, left, right = tree[node], tree[2 * node], tree[2 * node + 1]
        for parameter in range(total.size):
            total[parameter] = left[parameter] + right[parameter]
        node //= 2


@implements(restore, HierarchicalAgent)
def _restore(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
    tree = memory.floats
    leaves = tree.shape[0] // 2
    for arm in range(evidence.counts.size):
        _fill_leaf(agent, tree, evidence, arm)
    for arm in range(evidence.counts.size, leaves):
        tree[leaves + arm][:] = 0.0
    for node in range(leaves - 1, 0, -1):
        tree[node][:] = tree[2 * node] + tree[2 * node + 1]


@implements(learn, HierarchicalAgent)
def _learn(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
    _fill_leaf(agent, memory.floats, evidence, arm)
    _sum_above(memory.floats, arm)


@inline
def draw_parameter(
    log_prior: np.ndarray, log_likelihood: np.ndarray, scratch: np.ndarray, generator: Any
) -> int:
    """A θ drawn from its posterior; ``scratch``: (parameters,)."""
    largest = -math.inf
    for parameter in range(log_prior.size):
        largest = max(largest, log_prior[parameter] + log_likelihood[parameter])
    total = 0.0
    for parameter in range(log_prior.size):
        total += math.exp(log_prior[parameter] + log_likelihood[parameter] - largest)
        scratch[parameter] = total
    mark = generator.random() * total
    drawn = 0
    while drawn < log_prior.size - 1 and scratch[drawn] <= mark:
        drawn += 1
    return drawn


@implements(decide, HierarchicalAgent)
def _decide(
    agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    tree = memory.floats
    parameter = draw_parameter(agent.log_prior, tree[1], tree[0], generator)
    best, chosen, ties = -math.inf, -1, 0
    for place in range(allowed.size):
        arm = allowed[place]
        mean, deviation = posterior_of_mean(agent, evidence, parameter, arm)
        value = mean + agent.spread * deviation * generator.standard_normal()
        if value > best:
            best, chosen, ties = value, arm, 1
        elif value == best:
            ties += 1
            if generator.random() * ties < 1.0:
                chosen = arm
    return chosen
