"""UCB-tuned: optimism with the observed variance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from structuredbandits.policies.index_policy import IndexAlgorithm
from structuredbandits.policies.protocol import implements, index
from structuredbandits.policies.registration import register

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class UCBTunedAgent(NamedTuple):
    """UCB-tuned has no parameters; the field keeps the tuple from being empty."""

    width: float


@register(
    summary="Upper confidence bound that estimates each arm's variance.",
    use="Rewards that vary much less than the given sigma.",
    colour="sky",
    order=90,
)
@dataclass(frozen=True, repr=False)
class UCBTuned(IndexAlgorithm):
    """mu_hat_k + sqrt(min(sigma_k², V_k) log t / n_k).

    Here
    V_k = variance_k + 4 sigma_k² sqrt(2 log t / n_k).

    Auer et al. state it for rewards in [0, 1], with 1/4 for the largest variance; here the proxy
    sigma² takes that place, and the term that bounds the variance's own error scales with it.
    With sigma = 1/2 both forms are equal.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, P. Fischer, "Finite-time analysis of the multiarmed bandit problem",
    Machine Learning 47, 2002, section 4.
    """

    name: ClassVar[str] = "ucb-tuned"

    def agent(self, structure: Structure, rounds: int, horizon: int) -> UCBTunedAgent:
        return UCBTunedAgent(4.0)


@implements(index, UCBTunedAgent)
def _index(agent: Any, arm: Any, moment: Any, generator: Any) -> Any:
    # In [0, 1]: V = variance + sqrt(2 log t / n). There sigma² = 1/4, so the last term is
    # 4 sigma² sqrt(2 log t / n).
    proxy = arm.sigma * arm.sigma
    variance = max(arm.squares / arm.pulls - arm.mean * arm.mean, 0.0)
    bound = variance + agent.width * proxy * (moment.width / math.sqrt(arm.pulls))
    return arm.mean + math.sqrt(min(proxy, bound) * moment.log_t / arm.pulls)
