"""OFUL: optimism over an ellipsoid of θ, for linear rewards."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits.confidence.joint_set import scratch_memory
from structuredbandits.confidence.memory import Memory
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.parameter_checks import number, positive
from structuredbandits.policies.registration import register
from structuredbandits.policies.structured.linear_model import (
    factorise,
    gather,
    linear_view,
    product,
    solve,
    width_along,
)
from structuredbandits.policies.structured.score_policy import ScoreAlgorithm, scores_of

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class OFULAgent(NamedTuple):
    """Parameters of OFUL in compiled code."""

    offsets: np.ndarray  # (arms,)
    features: np.ndarray  # (arms, dimension)
    precision: float  # ridge / sigma²
    log_one_over_delta: float
    bias: float  # sqrt(precision) * (largest norm of θ)


@register(
    summary="Upper confidence bound of a linear model with a confidence ellipsoid.",
    use="Means that are linear in the parameter, with a guarantee for any horizon.",
    needs=("linear means",),
    colour="olive",
    order=180,
)
@dataclass(frozen=True, repr=False)
class OFUL(ScoreAlgorithm):
    """argmax_k x_k·θ̂ + radius · sqrt(x_kᵀ V⁻¹ x_k), with ridge regression for θ̂.

    V = ridge · I + Σ n_k x_k x_kᵀ and radius = sigma sqrt(2 log(1/delta) + log(det V / ridge^d)) +
    sqrt(ridge) S, where S is the largest norm of a θ in Θ. Arms of different sigma are weighted by
    1/sigma²; the ridge then counts in units of the largest.

    Parameters
    ----------
    delta
        Probability with which the true θ may ever leave the ellipsoid.
    ridge
        Regularisation of θ̂.

    References
    ----------
    Y. Abbasi-Yadkori, D. Pál, C. Szepesvári, "Improved algorithms for linear stochastic bandits",
    NIPS 2011.
    """

    delta: float = number(0.01, above=0.0, below=1.0)
    ridge: float = positive(1.0)
    name: ClassVar[str] = "oful"

    def check(self, structure: Structure) -> None:
        self.agent(structure, 1, 0)

    def agent(self, structure: Structure, rounds: int, horizon: int) -> OFULAgent:
        view = linear_view(structure, self.name)
        if view.logistic:
            raise InvalidPolicy(
                f"oful needs means that are linear in θ, but arm {structure.arms[0]!r} has a "
                "logistic link; use glm-ucb."
            )
        points = structure.parameters.points
        assert points is not None  # a linear view has seen to it
        precision = self.ridge / float(structure.sigma.max()) ** 2
        norm = float(np.linalg.norm(points, axis=1).max())
        return OFULAgent(
            view.offsets,
            view.features,
            precision,
            math.log(1.0 / self.delta),
            math.sqrt(precision) * norm,
        )

    def memory(self, structure: Structure) -> Memory:
        dimension = structure.parameters.dimension
        columns = max(structure.n_arms, dimension)
        return scratch_memory(structure.n_arms, 3 + dimension, columns)


@scores_of(OFULAgent)
def _score(agent: Any, floats: Any, evidence: Any, allowed: Any, moment: Any) -> Any:
    # In units of sigma: V / sigma² is factorised, and the widths come out as sigma · ‖x‖ in V⁻¹.
    dimension = agent.features.shape[1]
    theta, spare, matrix = floats[1], floats[2], floats[3:]
    for i in range(dimension):
        theta[i] = 0.0
        for j in range(dimension):
            matrix[i, j] = agent.precision if i == j else 0.0
    gather(agent.features, agent.offsets, evidence, matrix, theta)
    factorise(matrix, dimension)
    solve(matrix, theta, dimension)
    log_ratio = 0.0
    for i in range(dimension):
        log_ratio += math.log(matrix[i, i] * matrix[i, i] / agent.precision)
    radius = math.sqrt(2.0 * agent.log_one_over_delta + log_ratio) + agent.bias
    for place in range(allowed.size):
        arm = allowed[place]
        mean = agent.offsets[arm] + product(agent.features[arm], theta, dimension)
        floats[0, place] = mean + radius * width_along(matrix, agent.features[arm], spare)
