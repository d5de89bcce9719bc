"""KL-UCB: optimism measured by the divergence of the reward distributions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.policies.index_policy import IndexAlgorithm
from structuredbandits.policies.parameter_checks import number
from structuredbandits.policies.protocol import implements, index
from structuredbandits.policies.registration import register
from structuredbandits.policies.reward_scale import RewardScale, noise_factors, scale_of_rewards

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class GaussianAgent(NamedTuple):
    """Parameters of KL-UCB for Gaussian rewards in compiled code."""

    c: float
    factors: np.ndarray  # (arms,) standard deviation of a reward / sigma; 1 but for bounded ones


class BernoulliAgent(NamedTuple):
    """Parameters of KL-UCB for limited rewards in compiled code."""

    c: float
    scale: RewardScale


@register(
    summary="Upper confidence bound from the Kullback-Leibler divergence of Gaussian rewards.",
    use="In place of ucb, where less exploration is enough.",
    colour="green",
    order=20,
)
@dataclass(frozen=True, repr=False)
class KLUCB(IndexAlgorithm):
    """mu_hat_k + sqrt(2 sigma_k² (log t + c log log t) / n_k), the Gaussian KL-UCB.

    On a structure of Bernoulli rewards it is `KLUCBBernoulli`, and of bounded rewards sigma is
    their estimated standard deviation.

    References
    ----------
    A. Garivier, O. Cappé, "The KL-UCB algorithm for bounded stochastic bandits and beyond",
    COLT 2011.
    """

    c: float = number(0.0, at_least=0.0)
    name: ClassVar[str] = "kl-ucb"

    def agent(
        self, structure: Structure, rounds: int, horizon: int
    ) -> GaussianAgent | BernoulliAgent:
        if structure.rewards.is_bernoulli:
            return BernoulliAgent(float(self.c), scale_of_rewards(structure))
        return GaussianAgent(float(self.c), noise_factors(structure))


@register(
    summary="Upper confidence bound from the Kullback-Leibler divergence of Bernoulli rewards.",
    use="Clicks, conversions and other rewards in [0, 1], above all if they are rare.",
    needs=("rewards in [0, 1]",),
    colour="teal",
    order=30,
)
@dataclass(frozen=True, repr=False)
class KLUCBBernoulli(IndexAlgorithm):
    """Largest q with n_k kl(mu_hat_k, q) <= log t + c log log t, for rewards in [0, 1].

    Of a cost in [0, 1] the reward is 1 - cost. Rewards of a structure with limits or prizes are
    rescaled to [0, 1] per arm, and indices are compared on their own scale.

    References
    ----------
    A. Garivier, O. Cappé, "The KL-UCB algorithm for bounded stochastic bandits and beyond",
    COLT 2011.
    """

    c: float = number(0.0, at_least=0.0)
    name: ClassVar[str] = "kl-ucb-bernoulli"
    needs_unit_rewards: ClassVar[bool] = True

    def agent(self, structure: Structure, rounds: int, horizon: int) -> BernoulliAgent:
        return BernoulliAgent(float(self.c), scale_of_rewards(structure))


@inline
def _exploration(c: float, log_t: float) -> float:
    """Log t + c log log t, with log log t taken as 0 before it is positive."""
    if c == 0.0 or log_t <= 1.0:
        return log_t
    return log_t + c * math.log(log_t)


@implements(index, GaussianAgent)
def _gaussian_index(agent: Any, arm: Any, moment: Any, generator: Any) -> Any:
    width = math.sqrt(2.0 * _exploration(agent.c, moment.log_t)) * agent.factors[arm.position]
    return arm.mean + width * arm.scale


@inline
def bernoulli_divergence(p: float, q: float) -> float:
    """kl(p, q) of Bernoulli distributions, for 0 < q < 1."""
    result = 0.0
    if p > 0.0:
        result += p * math.log(p / q)
    if p < 1.0:
        result += (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return result


@inline
def bernoulli_bound(mean: float, level: float) -> float:
    """Largest q in [mean, 1] with kl(mean, q) <= level, by Newton steps kept in a bracket."""
    if mean >= 1.0:
        return 1.0
    low, high = max(mean, 0.0), 1.0
    point = min(low + math.sqrt(0.5 * level), 0.5 * (low + 1.0))  # Pinsker: it is not below this
    point = max(point, low + 1e-16)
    for _ in range(60):
        excess = bernoulli_divergence(mean, point) - level
        if excess > 0.0:
            high = point
        else:
            low = point
        slope = (point - mean) / (point * (1.0 - point))
        step = point - excess / slope if slope > 0.0 else 0.5 * (low + high)
        if not low < step < high:
            step = 0.5 * (low + high)
        if abs(step - point) <= 1e-14:
            return step
        point = step
    return point


@implements(index, BernoulliAgent)
def _bernoulli_index(agent: Any, arm: Any, moment: Any, generator: Any) -> Any:
    scale, k = agent.scale, arm.position
    mean = min(max((arm.mean - scale.floors[k]) / scale.ranges[k], 0.0), 1.0)
    bound = bernoulli_bound(mean, _exploration(agent.c, moment.log_t) / arm.pulls)
    return scale.offsets[k] + scale.ranges[k] * bound
