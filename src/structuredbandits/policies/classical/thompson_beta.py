"""Thompson sampling with a Beta posterior, for rewards of 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.protocol import choose, implements
from structuredbandits.policies.registration import register

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class ThompsonBetaAgent(NamedTuple):
    """Parameters of Beta Thompson sampling in compiled code."""

    prior: float
    shift: float  # 1 for costs, which come in negated: a success is then 1 - cost


@register(
    summary="Thompson sampling for rewards in [0, 1], with a Beta posterior.",
    use="Clicks, conversions and other rewards in [0, 1]; also when they arrive late.",
    needs=("rewards in [0, 1]",),
    colour="brown",
    order=50,
)
@dataclass(frozen=True, repr=False)
class ThompsonBeta(Algorithm):
    """A draw from Beta(S_k + 1, F_k + 1), S_k successes and F_k failures (Appendix F).

    The prior is proper, so an arm that was never seen is drawn from it and not pulled first.
    Rewards between 0 and 1 count as that share of a success, costs as that share of a failure.

    References
    ----------
    S. Agrawal, N. Goyal, "Further optimal regret bounds for Thompson sampling", AISTATS 2013.
    """

    name: ClassVar[str] = "ts-beta"
    needs_unit_rewards: ClassVar[bool] = True
    classical: ClassVar[bool] = True

    def agent(self, structure: Structure, rounds: int, horizon: int) -> ThompsonBetaAgent:
        return ThompsonBetaAgent(1.0, 1.0 if structure.minimize else 0.0)

    def choice_probabilities(self, snapshot: Snapshot, candidates: np.ndarray) -> np.ndarray:
        from structuredbandits.policies.max_of_betas import largest_of_betas

        counts = snapshot.evidence.counts[candidates]
        successes = snapshot.evidence.sums[candidates] + snapshot.agent.shift * counts
        return largest_of_betas(successes + 1.0, counts - successes + 1.0)


@implements(choose, ThompsonBetaAgent)
def _choose(
    agent: Any, evidence: Any, candidates: Any, n_candidates: Any, moment: Any, generator: Any
) -> Any:
    best, chosen = -1.0, -1
    for place in range(n_candidates):
        arm = candidates[place]
        successes = evidence.sums[arm] + agent.shift * evidence.counts[arm]
        draw = generator.beta(
            successes + agent.prior, evidence.counts[arm] - successes + agent.prior
        )
        if draw > best:
            best, chosen = draw, arm
    return chosen
