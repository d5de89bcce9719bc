"""ε-greedy: the best so far, and occasionally any arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.index_policy import indices
from structuredbandits.policies.parameter_checks import number, positive
from structuredbandits.policies.protocol import choose, implements, index
from structuredbandits.policies.registration import register
from structuredbandits.policies.ties import share_of_ties

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class GreedyAgent(NamedTuple):
    """The greedy choice: the index is the mean itself."""

    weight: float


class EpsilonGreedyAgent(NamedTuple):
    """Parameters of ε-greedy in compiled code."""

    greedy: GreedyAgent
    epsilon: np.ndarray  # (rounds,) probability of a random pull at each decision


@register(
    summary="The arm of the largest mean, and any arm with a small probability.",
    use="A simple baseline; every arm keeps a known probability.",
    colour="grey",
    order=100,
)
@dataclass(frozen=True, repr=False)
class EpsilonGreedy(Algorithm):
    """With probability ε_t any candidate, uniformly; otherwise the one of the largest mean.

    ε_t = min(1, epsilon · decay / (decay + t)): constant without ``decay``, falling like
    epsilon · decay / t with it. Candidates that were never seen count as the largest.

    References
    ----------
    R. S. Sutton, A. G. Barto, "Reinforcement Learning", 2018, chapter 2; P. Auer et al. 2002 for
    the falling rate.
    """

    epsilon: float = number(0.1, at_least=0.0, at_most=1.0)
    decay: float | None = positive(None)
    name: ClassVar[str] = "epsilon-greedy"
    classical: ClassVar[bool] = True

    def agent(self, structure: Structure, rounds: int, horizon: int) -> EpsilonGreedyAgent:
        decided = np.arange(rounds, dtype=float)
        rate = np.ones(rounds) if self.decay is None else self.decay / (self.decay + decided)
        return EpsilonGreedyAgent(GreedyAgent(1.0), self.epsilon * rate)

    def choice_probabilities(self, snapshot: Snapshot, candidates: np.ndarray) -> np.ndarray:
        values = indices(
            snapshot.agent.greedy, snapshot.block, candidates, snapshot.moment, snapshot.addresses
        )
        epsilon = snapshot.agent.epsilon[snapshot.moment.decided]
        greedy = share_of_ties(values, snapshot.evidence.pending[candidates])
        return np.asarray((1.0 - epsilon) * greedy + epsilon / candidates.size)


@implements(index, GreedyAgent)
def _mean(agent: Any, arm: Any, moment: Any, generator: Any) -> Any:
    return agent.weight * arm.mean


@implements(choose, EpsilonGreedyAgent)
def _choose(
    agent: Any, evidence: Any, candidates: Any, n_candidates: Any, moment: Any, generator: Any
) -> Any:
    if generator.random() < agent.epsilon[moment.decided]:
        return candidates[int(generator.random() * n_candidates)]
    return choose(agent.greedy, evidence, candidates, n_candidates, moment, generator)
