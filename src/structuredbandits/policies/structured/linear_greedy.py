"""Greedy for linear rewards: estimate θ, pull what is best there, never explore on purpose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits.confidence.joint_set import scratch_memory
from structuredbandits.confidence.memory import Memory
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.registration import register
from structuredbandits.policies.structured.linear_model import (
    factorise,
    gather,
    linear_view,
    product,
    solve,
)
from structuredbandits.policies.structured.score_policy import ScoreAlgorithm, scores_of

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class LinearGreedyAgent(NamedTuple):
    """Parameters of the linear greedy policy in compiled code."""

    offsets: np.ndarray  # (arms,)
    features: np.ndarray  # (arms, dimension)
    precision: np.ndarray  # (dimension, dimension) of the prior
    pull: np.ndarray  # (dimension,) prior precision times prior mean


@register(
    summary="The best arm at the estimated parameter of a linear model.",
    use="Means that are linear in the parameter, where every arm is informative about it.",
    needs=("linear means",),
    colour="grey",
    order=170,
)
@dataclass(frozen=True, repr=False)
class LinearGreedy(ScoreAlgorithm):
    """argmax_k mu_k(θ̂), with θ̂ the posterior mean of θ under Gaussian rewards and prior.

    Means are eta_k + u_k · θ. The prior has the mean and covariance of θ over Θ, weighted by the
    structure's prior if it has one; as rewards come in, θ̂ becomes the least-squares estimate.

    References
    ----------
    A. J. Mersereau, P. Rusmevichientong, J. N. Tsitsiklis, "A structured multiarmed bandit problem
    and the greedy policy", IEEE Transactions on Automatic Control 54(12), 2009.

    Examples
    --------
    >>> from structuredbandits.structure import Interval, Structure
    >>> lines = {"a": lambda x: 1 + 0 * x, "b": lambda x: x}
    >>> known = Structure.from_functions(lines, Interval(0, 3, points=31), sigma=0.1)
    >>> LinearGreedy().start(known, seed=7).probabilities()  # at θ = 1.5, the middle
    {'a': 0.0, 'b': 1.0}
    """

    name: ClassVar[str] = "linear-greedy"

    def check(self, structure: Structure) -> None:
        self.agent(structure, 1, 0)

    def agent(self, structure: Structure, rounds: int, horizon: int) -> LinearGreedyAgent:
        view = linear_view(structure, self.name)
        if view.logistic:
            raise InvalidPolicy(
                f"linear-greedy needs means that are linear in θ, but arm {structure.arms[0]!r} "
                "has a logistic link; use glm-ucb."
            )
        weights = structure.parameters.weights if structure.prior is None else structure.prior
        points = structure.parameters.points
        assert points is not None  # a linear view has seen to it
        mean = weights @ points
        covariance = (weights[:, None] * (points - mean)).T @ (points - mean)
        if np.linalg.matrix_rank(covariance) < len(mean):
            raise InvalidPolicy(
                f"linear-greedy needs a Θ that spans all its {len(mean)} directions; leave out "
                "the coordinates of θ that do not vary."
            )
        precision = np.linalg.inv(covariance)
        return LinearGreedyAgent(view.offsets, view.features, precision, precision @ mean)

    def memory(self, structure: Structure) -> Memory:
        dimension = structure.parameters.dimension
        columns = max(structure.n_arms, dimension)
        return scratch_memory(structure.n_arms, 2 + dimension, columns)


@scores_of(LinearGreedyAgent)
def _score(agent: Any, floats: Any, evidence: Any, allowed: Any, moment: Any) -> Any:
    dimension = agent.features.shape[1]
    theta, matrix = floats[1], floats[2:]
    for i in range(dimension):
        theta[i] = agent.pull[i]
        for j in range(dimension):
            matrix[i, j] = agent.precision[i, j]
    gather(agent.features, agent.offsets, evidence, matrix, theta)
    factorise(matrix, dimension)
    solve(matrix, theta, dimension)
    for place in range(allowed.size):
        arm = allowed[place]
        floats[0, place] = agent.offsets[arm] + product(agent.features[arm], theta, dimension)
