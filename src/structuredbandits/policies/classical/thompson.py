"""Thompson sampling with a Gaussian posterior of the mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits.policies.algorithm import Snapshot
from structuredbandits.policies.classical.thompson_beta import ThompsonBetaAgent, beta_shares
from structuredbandits.policies.index_policy import IndexAlgorithm
from structuredbandits.policies.max_of_normals import largest_of_normals
from structuredbandits.policies.parameter_checks import positive
from structuredbandits.policies.protocol import implements, index
from structuredbandits.policies.registration import register
from structuredbandits.policies.reward_scale import noise_factors, scale_of_rewards
from structuredbandits.policies.ties import share_of_ties

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class ThompsonAgent(NamedTuple):
    """Parameters of Gaussian Thompson sampling in compiled code."""

    widths: np.ndarray  # (arms,) sqrt(beta), times the deviation of bounded rewards / sigma


@register(
    summary="Thompson sampling for Gaussian rewards: draw each arm's mean, pull the largest.",
    use="A strong default without a structure, also when rewards arrive late or in batches.",
    colour="vermillion",
    order=40,
)
@dataclass(frozen=True, repr=False)
class ThompsonSampling(IndexAlgorithm):
    """A draw from N(mu_hat_k, beta sigma_k² / n_k): the posterior of the *mean* under a flat prior.

    Its standard deviation is sigma/sqrt(n), neither the rewards' sigma nor sigma/n. On a structure
    of Bernoulli rewards it is `ThompsonBeta`, where beta divides the counts. Of bounded rewards
    sigma is their estimated standard deviation.

    References
    ----------
    W. R. Thompson, "On the likelihood that one unknown probability exceeds another in view of the
    evidence of two samples", Biometrika 25, 1933; Algorithm 2 of Gupta et al.
    """

    beta: float = positive(1.0)
    name: ClassVar[str] = "ts"
    random_index: ClassVar[bool] = True
    shares_are_compiled: ClassVar[bool] = True  # by quadrature

    def agent(
        self, structure: Structure, rounds: int, horizon: int
    ) -> ThompsonAgent | ThompsonBetaAgent:
        if structure.rewards.is_bernoulli:
            return ThompsonBetaAgent(1.0, 1.0 / self.beta, scale_of_rewards(structure))
        return ThompsonAgent(math.sqrt(self.beta) * noise_factors(structure))

    def compiles_shares(self, structure: Structure) -> bool:
        return not structure.rewards.is_bernoulli

    def choice_probabilities(self, snapshot: Snapshot, candidates: np.ndarray) -> np.ndarray:
        if isinstance(snapshot.agent, ThompsonBetaAgent):
            return beta_shares(snapshot, candidates)
        evidence = snapshot.evidence
        unseen = evidence.counts[candidates] == 0
        if unseen.any():
            values = np.where(unseen, math.inf, 0.0)
            return share_of_ties(values, evidence.pending[candidates])
        deviations = snapshot.agent.widths[candidates] * evidence.scales[candidates]
        return largest_of_normals(evidence.means[candidates], deviations)


@implements(index, ThompsonAgent)
def _index(agent: Any, arm: Any, moment: Any, generator: Any) -> Any:
    return arm.mean + agent.widths[arm.position] * arm.scale * generator.standard_normal()
