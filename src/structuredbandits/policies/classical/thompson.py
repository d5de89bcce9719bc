"""Thompson sampling with a Gaussian posterior of the mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits.policies.algorithm import Snapshot, require_positive
from structuredbandits.policies.index import IndexAlgorithm, share_of_ties
from structuredbandits.policies.protocol import implements, index

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class ThompsonAgent(NamedTuple):
    """Parameters of Gaussian Thompson sampling in compiled code."""

    width: float  # sqrt(beta)


@dataclass(frozen=True, repr=False)
class ThompsonSampling(IndexAlgorithm):
    """A draw from N(mu_hat_k, beta sigma_k² / n_k): the posterior of the *mean* under a flat prior.

    Its standard deviation is sigma/sqrt(n), neither the rewards' sigma nor sigma/n.

    References
    ----------
    W. R. Thompson, "On the likelihood that one unknown probability exceeds another in view of the
    evidence of two samples", Biometrika 25, 1933; Algorithm 2 of Gupta et al.
    """

    beta: float = 1.0
    name: ClassVar[str] = "ts"
    random_index: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_positive("ThompsonSampling", beta=self.beta)

    def agent(self, structure: Structure, rounds: int, horizon: int) -> ThompsonAgent:
        return ThompsonAgent(math.sqrt(self.beta))

    def choice_probabilities(self, snapshot: Snapshot, candidates: np.ndarray) -> np.ndarray:
        from structuredbandits.policies.quadrature import largest_of_normals

        counts, means, scales = snapshot.block[[0, 3, 4]][:, candidates]
        if (counts == 0).any():
            unseen = np.where(counts == 0, math.inf, 0.0)
            return share_of_ties(unseen, snapshot.block[5][candidates])
        return largest_of_normals(means, math.sqrt(self.beta) * scales)


@implements(index, ThompsonAgent)
def _index(agent: Any, arm: Any, moment: Any, generator: Any) -> Any:
    return arm.mean + agent.width * arm.scale * generator.standard_normal()
