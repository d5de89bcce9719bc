"""Information-directed sampling: little regret for each bit learned about which arm is best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits._compiled import inline, kernel
from structuredbandits.confidence.evidence import Evidence, evidence_of
from structuredbandits.confidence.joint_set import scratch_memory
from structuredbandits.confidence.memory import Memory
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.protocol import decide, implements
from structuredbandits.policies.registration import register
from structuredbandits.policies.reward_scale import scale_of_rewards
from structuredbandits.policies.structured.belief import Belief, belief_of, best_at, weigh

if TYPE_CHECKING:
    from structuredbandits.structure import Structure

# Rows of a run's floats, before one row per arm.
_WEIGHTS, _CHANCES, _MEANS, _REGRETS, _GAINS, _SHARES, _BY_BEST = 0, 1, 2, 3, 4, 5, 6


class IDSAgent(NamedTuple):
    """Parameters of information-directed sampling in compiled code."""

    belief: Belief
    floors: np.ndarray  # (arms,) smallest gain of Bernoulli rewards; empty for others
    ranges: np.ndarray  # (arms,) largest less smallest gain, likewise
    no_gain: float  # an information gain that is only rounding


@register(
    summary="Information-directed sampling: the least regret per bit about the best arm.",
    use="A structure that is right, with arms that pay little and are informative.",
    colour="black",
    order=160,
)
@dataclass(frozen=True, repr=False)
class IDS(Algorithm):
    """Minimise (expected regret)² / (information about the best arm) over mixtures of two arms.

    Under the posterior, regret is Δ_k = E[max mu] − E[mu_k] and the gain of arm k is
    Σ_a P(a best) (E[mu_k | a best] − E[mu_k])², the variance form of the information. For Bernoulli
    rewards it is the information itself, Σ_a P(a best) kl(E[mu_k | a best], E[mu_k]) of the rates.
    Where nothing is left to learn it is greedy.

    Parameters
    ----------
    uniform_prior
        True to leave the structure's prior aside.

    References
    ----------
    D. Russo, B. Van Roy, "Learning to optimize via information-directed sampling", Operations
    Research 66(1), 2018.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [1.0, 2.0]], sigma=1.0, prior=[9, 1])
    >>> shares = IDS().start(known, seed=7).probabilities()
    >>> {arm: round(share, 4) for arm, share in shares.items()}
    {'1': 0.875, '2': 0.125}
    """

    uniform_prior: bool = False
    name: ClassVar[str] = "ids"

    def agent(self, structure: Structure, rounds: int, horizon: int) -> IDSAgent:
        belief = belief_of(structure, bool(self.uniform_prior))
        none, no_gain = np.empty(0), structure.tolerance**2
        if not structure.rewards.is_bernoulli:
            return IDSAgent(belief, none, none, no_gain)
        floors, ranges, _ = scale_of_rewards(structure)
        return IDSAgent(belief, floors, ranges, no_gain / float(ranges.max()) ** 2)

    def memory(self, structure: Structure) -> Memory:
        columns = max(structure.n_parameters, structure.n_arms)
        return scratch_memory(structure.n_arms, _BY_BEST + structure.n_arms, columns)

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        result = np.zeros(snapshot.n_arms)
        result[allowed] = mixture(snapshot.agent, snapshot.memory, snapshot.block, allowed)
        return result


@inline
def _rate_divergence(p: float, q: float) -> float:
    """kl(p, q) of two rates, of which q is a mean of some p; rounding may leave [0, 1]."""
    p, q = min(max(p, 0.0), 1.0), min(max(q, 0.0), 1.0)
    result = 0.0
    if p > 0.0 and q > 0.0:
        result += p * math.log(p / q)
    if p < 1.0 and q < 1.0:
        result += (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return max(result, 0.0)


@inline
def _expect(agent: Any, evidence: Evidence, floats: np.ndarray, allowed: np.ndarray) -> None:
    """Regret and information gain of each allowed arm, by its place."""
    weights, means, n_allowed = floats[_WEIGHTS], agent.belief.means, allowed.size
    total = weigh(agent.belief, evidence, weights)
    for row in range(_CHANCES, _BY_BEST + n_allowed):
        for place in range(n_allowed):
            floats[row, place] = 0.0
    expected_best = 0.0
    for parameter in range(agent.belief.log_prior.size):
        if weights[parameter] == 0.0:
            continue
        share = weights[parameter] / total
        best, ties = best_at(means, parameter, allowed)
        expected_best += share * best
        for place in range(n_allowed):
            floats[_MEANS, place] += share * means[parameter, allowed[place]]
        for winner in range(n_allowed):
            if means[parameter, allowed[winner]] == best:
                floats[_CHANCES, winner] += share / ties
                for place in range(n_allowed):
                    value = means[parameter, allowed[place]]
                    floats[_BY_BEST + winner, place] += share / ties * value
    for place in range(n_allowed):
        floats[_REGRETS, place] = max(expected_best - floats[_MEANS, place], 0.0)
        for winner in range(n_allowed):
            chance = floats[_CHANCES, winner]
            if chance > 0.0:
                given, mean = floats[_BY_BEST + winner, place] / chance, floats[_MEANS, place]
                if agent.floors.size > 0:
                    floor, width = agent.floors[allowed[place]], agent.ranges[allowed[place]]
                    gain = _rate_divergence((given - floor) / width, (mean - floor) / width)
                    floats[_GAINS, place] += chance * gain
                else:
                    shift = given - mean
                    floats[_GAINS, place] += chance * (shift * shift)


@inline
def _best_share(regret: float, gain: float, other_regret: float, other_gain: float) -> float:
    """The share of the first of two arms at which regret²/gain is stationary, within [0, 1]."""
    by_regret, by_gain = regret - other_regret, gain - other_gain
    if by_regret == 0.0 or by_gain == 0.0:
        return 0.0  # the ratio is monotone in the share: one of the arms alone is best
    return min(1.0, max(0.0, other_regret / by_regret - 2.0 * other_gain / by_gain))


@inline
def _mix(agent: Any, floats: np.ndarray, n_allowed: int) -> None:
    """Write the mixture of the smallest ratio into the row of shares."""
    regrets, gains, shares = floats[_REGRETS], floats[_GAINS], floats[_SHARES]
    least, best_first, best_second, best_share, smallest = np.inf, -1, -1, 1.0, np.inf
    for first in range(n_allowed):
        smallest = min(smallest, regrets[first])
        for second in range(first, n_allowed):
            inner = _best_share(regrets[first], gains[first], regrets[second], gains[second])
            for share in (1.0, 0.0, inner):
                regret = share * regrets[first] + (1.0 - share) * regrets[second]
                gain = share * gains[first] + (1.0 - share) * gains[second]
                if gain > agent.no_gain and regret * regret / gain < least:
                    least = regret * regret / gain
                    best_first, best_second, best_share = first, second, share
    if best_first >= 0:
        shares[best_first] += best_share
        shares[best_second] += 1.0 - best_share
        return
    ties = 0
    for place in range(n_allowed):
        ties += 1 if regrets[place] == smallest else 0
    for place in range(n_allowed):
        shares[place] = 1.0 / ties if regrets[place] == smallest else 0.0


@implements(decide, IDSAgent)
def _decide(
    agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    floats = memory.floats
    _expect(agent, evidence, floats, allowed)
    _mix(agent, floats, allowed.size)
    chosen, left = -1, 2.0
    for place in range(allowed.size):
        share = floats[_SHARES, place]
        if share > 0.0:
            chosen = allowed[place]
            if share >= 1.0:
                break
            left = generator.random() if left > 1.0 else left
            left -= share
            if left < 0.0:
                break
    return chosen


@kernel
def mixture(agent: Any, memory: Memory, block: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Probability with which each allowed arm is pulled: (allowed,)."""
    _expect(agent, evidence_of(block), memory.floats, allowed)
    _mix(agent, memory.floats, allowed.size)
    return memory.floats[_SHARES, : allowed.size].copy()
