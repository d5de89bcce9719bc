"""UCB: optimism with the paper's confidence radius."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from structuredbandits.confidence.radius import multiplier
from structuredbandits.policies.index_policy import IndexAlgorithm
from structuredbandits.policies.parameter_checks import positive
from structuredbandits.policies.protocol import implements, index
from structuredbandits.policies.registration import register

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class UCBAgent(NamedTuple):
    """Parameters of UCB in compiled code."""

    root_alpha: float


@register(
    summary="Upper confidence bound: the mean plus a bonus that shrinks with the arm's pulls.",
    use="The standard baseline, with deterministic choices; alpha sets how much it explores.",
    colour="blue",
    order=10,
)
@dataclass(frozen=True, repr=False)
class UCB(IndexAlgorithm):
    """mu_hat_k + sqrt(2 alpha sigma_k² log t / n_k).

    References
    ----------
    P. Auer, N. Cesa-Bianchi, P. Fischer, "Finite-time analysis of the multiarmed bandit problem",
    Machine Learning 47, 2002, in the form of Algorithm 1 of Gupta et al.

    Examples
    --------
    >>> UCB(alpha=2.0)
    UCB(alpha=2.0)
    """

    alpha: float = positive(3.0)
    name: ClassVar[str] = "ucb"

    def agent(self, structure: Structure, rounds: int, horizon: int) -> UCBAgent:
        return UCBAgent(math.sqrt(self.alpha))


@implements(index, UCBAgent)
def _index(agent: Any, arm: Any, moment: Any, generator: Any) -> Any:
    return arm.mean + multiplier(agent.root_alpha, moment.width) * arm.scale
