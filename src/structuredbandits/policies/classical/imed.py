"""IMED: indexed minimum empirical divergence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from structuredbandits.policies.index_policy import IndexAlgorithm
from structuredbandits.policies.protocol import implements, index
from structuredbandits.policies.registration import register

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class IMEDAgent(NamedTuple):
    """IMED has no parameters; the field keeps the tuple from being empty."""

    half: float


@register(
    summary="Minimum empirical divergence: the arm with the least evidence against it.",
    use="A deterministic policy with less exploration than ucb and no parameter.",
    colour="wine",
    order=70,
)
@dataclass(frozen=True, repr=False)
class IMED(IndexAlgorithm):
    """Pull the arm of the smallest n_k (mu_hat* - mu_hat_k)² / (2 sigma_k²) + log n_k.

    mu_hat* is the largest empirical mean among the candidates.

    References
    ----------
    J. Honda, A. Takemura, "Non-asymptotic analysis of a new bandit algorithm for semi-bounded
    rewards", JMLR 16, 2015, with the Gaussian divergence.
    """

    name: ClassVar[str] = "imed"

    def agent(self, structure: Structure, rounds: int, horizon: int) -> IMEDAgent:
        return IMEDAgent(0.5)


@implements(index, IMEDAgent)
def _index(agent: Any, arm: Any, moment: Any, generator: Any) -> Any:
    distance = (arm.leader - arm.mean) / arm.scale
    return -(agent.half * distance * distance + math.log(arm.pulls))
