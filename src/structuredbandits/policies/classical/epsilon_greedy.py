"""ε-greedy: the best so far, and now and then any arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.algorithm import Algorithm, Snapshot, is_number
from structuredbandits.policies.index import indices, share_of_ties
from structuredbandits.policies.protocol import choose, implements, index

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class GreedyAgent(NamedTuple):
    """The greedy choice: the index is the mean itself."""

    weight: float


class EpsilonGreedyAgent(NamedTuple):
    """Parameters of ε-greedy in compiled code."""

    greedy: GreedyAgent
    epsilon: np.ndarray  # (rounds,) probability of a random pull at each decision


@dataclass(frozen=True, repr=False)
class EpsilonGreedy(Algorithm):
    """With probability ε_t any candidate, uniformly; otherwise the one of the largest mean.

    ε_t = min(1, epsilon · decay / (decay + t)): constant without ``decay``, falling like
    epsilon · decay / t with it. Candidates that were never seen count as the largest.

    References
    ----------
    R. S. Sutton, A. G. Barto, "Reinforcement Learning", chapter 2; P. Auer et al. 2002 for the
    falling rate.
    """

    epsilon: float = 0.1
    decay: float | None = None
    name: ClassVar[str] = "epsilon-greedy"
    classical: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (is_number(self.epsilon) and 0.0 <= self.epsilon <= 1.0):
            raise InvalidPolicy(
                f"EpsilonGreedy needs epsilon between 0 and 1, not {self.epsilon!r}; "
                "0.1 is a common choice."
            )
        if self.decay is not None and not (is_number(self.decay) and self.decay > 0.0):
            raise InvalidPolicy(
                f"EpsilonGreedy needs decay > 0, not {self.decay!r}; leave it out for a constant "
                "epsilon."
            )

    def agent(self, structure: Structure, rounds: int, horizon: int) -> EpsilonGreedyAgent:
        decided = np.arange(rounds, dtype=float)
        rate = np.ones(rounds) if self.decay is None else self.decay / (self.decay + decided)
        return EpsilonGreedyAgent(GreedyAgent(1.0), self.epsilon * rate)

    def choice_probabilities(self, snapshot: Snapshot, candidates: np.ndarray) -> np.ndarray:
        values = indices(
            snapshot.agent.greedy, snapshot.block, candidates, snapshot.moment, snapshot.addresses
        )
        epsilon = snapshot.agent.epsilon[snapshot.moment.decided]
        greedy = share_of_ties(values, snapshot.block[5][candidates])
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
