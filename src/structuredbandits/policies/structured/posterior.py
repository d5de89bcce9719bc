"""Posterior sampling: draw a θ from what is believed now, and pull the arm that is best there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits._compiled import kernel
from structuredbandits.confidence.evidence import evidence_of
from structuredbandits.confidence.joint_set import scratch_memory
from structuredbandits.confidence.memory import Memory
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.protocol import decide, implements
from structuredbandits.policies.registration import register
from structuredbandits.policies.structured.belief import Belief, belief_of, best_at, weigh
from structuredbandits.policies.ties import choose_tied

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class PosteriorAgent(NamedTuple):
    """Parameters of posterior sampling in compiled code."""

    belief: Belief


@register(
    summary="Draw the parameter from its posterior, pull the arm that is best at it.",
    use="A structure that is right and a prior over its parameters.",
    colour="indigo",
    order=150,
)
@dataclass(frozen=True, repr=False)
class PosteriorSampling(Algorithm):
    """Draw θ from its posterior, pull the arm that is best at it.

    The posterior is prior(θ) · exp(−Σ_k n_k (mu_hat_k − mu_k(θ))² / (2 sigma_k²)); for Bernoulli
    rewards it has their own likelihood, and for bounded ones sigma is their estimated standard
    deviation. The prior is the structure's, for example the segments' shares
    (``structure.with_(prior=...)``), or uniform over Θ. With bounds the value in the interval that
    fits best counts, and arms are compared by its middle.

    Parameters
    ----------
    uniform_prior
        True to leave the structure's prior aside.

    References
    ----------
    D. Russo, B. Van Roy, "Learning to optimize via posterior sampling", Mathematics of Operations
    Research 39(4), 2014; A. Gopalan, S. Mannor, Y. Mansour, "Thompson sampling for complex online
    problems", ICML 2014.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0)
    >>> PosteriorSampling().start(known, seed=7).probabilities()
    {'1': 0.5, '2': 0.5}
    """

    uniform_prior: bool = False
    name: ClassVar[str] = "posterior"

    def agent(self, structure: Structure, rounds: int, horizon: int) -> PosteriorAgent:
        return PosteriorAgent(belief_of(structure, bool(self.uniform_prior)))

    def memory(self, structure: Structure) -> Memory:
        return scratch_memory(structure.n_arms, 1, structure.n_parameters)

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        result = np.zeros(snapshot.n_arms)
        result[allowed] = best_shares(snapshot.agent, snapshot.memory, snapshot.block, allowed)
        return result


@implements(decide, PosteriorAgent)
def _decide(
    agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    weights, means = memory.floats[0], agent.belief.means
    left = generator.random() * weigh(agent.belief, evidence, weights)
    drawn = -1
    for parameter in range(weights.size):
        if weights[parameter] > 0.0:
            drawn = parameter  # the last one also serves if rounding leaves a rest
            left -= weights[parameter]
            if left < 0.0:
                break
    best, ties = best_at(means, drawn, allowed)
    return choose_tied(means[drawn], allowed, best, ties, generator)


@kernel
def best_shares(agent: Any, memory: Memory, block: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Posterior probability that each allowed arm is the best of them: (allowed,)."""
    weights, means = memory.floats[0], agent.belief.means
    total = weigh(agent.belief, evidence_of(block), weights)
    shares = np.zeros(allowed.size)
    for parameter in range(weights.size):
        if weights[parameter] > 0.0:
            best, ties = best_at(means, parameter, allowed)
            for place in range(allowed.size):
                if means[parameter, allowed[place]] == best:
                    shares[place] += weights[parameter] / (total * ties)
    return shares
