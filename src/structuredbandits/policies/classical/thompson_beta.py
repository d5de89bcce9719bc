"""Thompson sampling with a Beta posterior, for rewards of 0 and 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.protocol import choose, implements
from structuredbandits.policies.registration import register
from structuredbandits.policies.reward_scale import RewardScale, scale_of_rewards

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class ThompsonBetaAgent(NamedTuple):
    """Parameters of Beta Thompson sampling in compiled code."""

    prior: float
    share: float  # of a reward that counts; less than 1 widens the posterior
    scale: RewardScale


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
    Rewards of a structure with limits or prizes are rescaled to [0, 1] per arm, and draws are
    compared on their own scale.

    References
    ----------
    S. Agrawal, N. Goyal, "Further optimal regret bounds for Thompson sampling", AISTATS 2013.
    """

    name: ClassVar[str] = "ts-beta"
    needs_unit_rewards: ClassVar[bool] = True
    classical: ClassVar[bool] = True

    def agent(self, structure: Structure, rounds: int, horizon: int) -> ThompsonBetaAgent:
        return ThompsonBetaAgent(1.0, 1.0, scale_of_rewards(structure))

    def choice_probabilities(self, snapshot: Snapshot, candidates: np.ndarray) -> np.ndarray:
        return beta_shares(snapshot, candidates)


def beta_shares(snapshot: Snapshot, candidates: np.ndarray) -> np.ndarray:
    """Probability that each candidate's draw is the largest: (candidates,)."""
    from structuredbandits.policies.max_of_betas import largest_of_betas

    agent: ThompsonBetaAgent = snapshot.agent
    floors, ranges, offsets = (row[candidates] for row in agent.scale)
    counts = snapshot.evidence.counts[candidates]
    successes = np.clip((snapshot.evidence.sums[candidates] - counts * floors) / ranges, 0, counts)
    won = agent.share * successes + agent.prior
    lost = agent.share * (counts - successes) + agent.prior
    return largest_of_betas(won, lost, offsets, ranges)


@implements(choose, ThompsonBetaAgent)
def _choose(
    agent: Any, evidence: Any, candidates: Any, n_candidates: Any, moment: Any, generator: Any
) -> Any:
    best, chosen, scale = -math.inf, -1, agent.scale
    for place in range(n_candidates):
        arm = candidates[place]
        count, width = evidence.counts[arm], scale.ranges[arm]
        successes = (evidence.sums[arm] - count * scale.floors[arm]) / width
        successes = min(max(successes, 0.0), count)  # up to rounding
        draw = scale.offsets[arm] + width * generator.beta(
            agent.share * successes + agent.prior, agent.share * (count - successes) + agent.prior
        )
        if draw > best:
            best, chosen = draw, arm
    return chosen
