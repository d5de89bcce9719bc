"""MOSS: the minimax optimal strategy in the stochastic case."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from structuredbandits.policies.index_policy import IndexAlgorithm
from structuredbandits.policies.protocol import implements, index
from structuredbandits.policies.registration import register

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class MOSSAgent(NamedTuple):
    """MOSS has no parameters; the field keeps the tuple from being empty."""

    width: float


@register(
    summary="Upper confidence bound that is optimal in the worst case over all problems.",
    use="A known horizon and arms whose means may be close to one another.",
    needs=("horizon",),
    colour="olive",
    order=60,
)
@dataclass(frozen=True, repr=False)
class MOSS(IndexAlgorithm):
    """mu_hat_k + 2 sigma_k sqrt(max(0, log(T / (K n_k))) / n_k), K the number of candidates.

    Without a horizon T is the current round ("MOSS-anytime"). The constant 2 sigma is the
    sub-Gaussian form of Lattimore and Szepesvári; for rewards in [0, 1] (sigma = 1/2) it is the
    original one.

    References
    ----------
    J.-Y. Audibert, S. Bubeck, "Minimax policies for adversarial and stochastic bandits",
    COLT 2009; T. Lattimore, C. Szepesvári, "Bandit Algorithms", 2020, chapter 9.
    """

    name: ClassVar[str] = "moss"

    def agent(self, structure: Structure, rounds: int, horizon: int) -> MOSSAgent:
        return MOSSAgent(2.0)


@implements(index, MOSSAgent)
def _index(agent: Any, arm: Any, moment: Any, generator: Any) -> Any:
    rounds = moment.horizon if moment.horizon > 0 else moment.received
    ratio = rounds / (arm.n_candidates * arm.pulls)
    return arm.mean + (agent.width * math.sqrt(math.log(ratio)) * arm.scale if ratio > 1.0 else 0.0)
