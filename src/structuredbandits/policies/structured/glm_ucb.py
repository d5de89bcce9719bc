"""GLM-UCB: an upper confidence bound in a (generalised) linear model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.joint_set import scratch_memory
from structuredbandits.confidence.memory import Memory
from structuredbandits.confidence.radius import multiplier
from structuredbandits.policies.parameter_checks import positive
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

_NEWTON_STEPS = 100
_CONVERGED = 1e-11
# Features that differ from the span of others by less, relative to their length, lie in it.
_IN_SPAN = 1e-9


class GLMAgent(NamedTuple):
    """Parameters of GLM-UCB in compiled code."""

    offsets: np.ndarray  # (arms,)
    features: np.ndarray  # (arms, rank) in coordinates of their span
    lowest: np.ndarray  # (arms,) smallest mean over Θ, before the offset
    highest: np.ndarray  # (arms,) largest mean over Θ, before the offset
    logistic: bool
    root_alpha: float
    slope: float  # smallest slope of the link over Θ


@register(
    summary="Upper confidence bound of a linear or logistic model.",
    use="Means that are linear in the parameter, or a logistic function of it.",
    needs=("linear means",),
    colour="purple",
    order=190,
)
@dataclass(frozen=True, repr=False)
class GLMUCB(ScoreAlgorithm):
    """argmax_k g(x_k·θ̂) + sqrt(2 alpha log t) sqrt(x_kᵀ V⁻¹ x_k) / (smallest slope of g).

    V = Σ n_k x_k x_kᵀ / sigma_k² and θ̂ solves Σ n_k (mu_hat_k − g(x_k·θ)) x_k / sigma_k² = 0; g is
    the identity or the logistic function. First come arms whose features are independent of those
    seen. For orthogonal features and the identity it is UCB, which is why this width is used and
    not the far larger one of the paper's theorem. With the logistic link an empirical mean outside
    the range of the arm's means over Θ counts as the nearest of them, so that θ̂ exists.

    References
    ----------
    S. Filippi, O. Cappé, A. Garivier, C. Szepesvári, "Parametric bandits: the generalized linear
    case", NIPS 2010.
    """

    alpha: float = positive(3.0)
    name: ClassVar[str] = "glm-ucb"

    def check(self, structure: Structure) -> None:
        linear_view(structure, self.name)

    def agent(self, structure: Structure, rounds: int, horizon: int) -> GLMAgent:
        view = linear_view(structure, self.name)
        means = structure.sign * structure.means - view.offsets
        # Coordinates in which the features span the space, so every direction can be learned.
        _, sizes, directions = np.linalg.svd(view.features, full_matrices=False)
        kept = directions[sizes > 1e-10 * max(float(sizes.max()), 1e-300)]
        features = np.ascontiguousarray(view.features @ kept.T)
        slope = float((means * (1.0 - means)).min()) if view.logistic else 1.0
        return GLMAgent(
            view.offsets,
            features,
            means.min(axis=0),
            means.max(axis=0),
            view.logistic,
            math.sqrt(self.alpha),
            max(slope, 1e-300),
        )

    def memory(self, structure: Structure) -> Memory:
        dimension = structure.parameters.dimension
        columns = max(structure.n_arms, dimension)
        return scratch_memory(structure.n_arms, 3 + 2 * dimension, columns)


@inline
def _logistic(z: float) -> float:
    return 0.5 * (1.0 + math.tanh(0.5 * z))


@inline
def _mark_new_directions(
    agent: Any, evidence: Evidence, allowed: np.ndarray, scores: np.ndarray
) -> bool:
    """Infinite scores for allowed arms that no seen features span; False if there are none."""
    dimension = agent.features.shape[1]
    basis, rest = np.zeros((dimension, dimension)), np.empty(dimension)
    rank, found = 0, False
    for turn in range(agent.features.shape[0] + allowed.size):
        candidate = turn >= agent.features.shape[0]  # first all seen arms, then the allowed ones
        place = turn - agent.features.shape[0]
        arm = allowed[place] if candidate else turn
        if not candidate and (evidence.counts[arm] == 0.0 or rank == dimension):
            continue
        feature = agent.features[arm]
        for i in range(dimension):
            rest[i] = feature[i]
        for row in range(rank):
            along = product(basis[row], rest, dimension)
            for i in range(dimension):
                rest[i] -= along * basis[row, i]
        length = math.sqrt(product(rest, rest, dimension))
        independent = length > _IN_SPAN * math.sqrt(product(feature, feature, dimension))
        if candidate:
            scores[place] = math.inf if independent else -math.inf
            found = found or independent
        elif independent:
            for i in range(dimension):
                basis[rank, i] = rest[i] / length
            rank += 1
    return found


@inline
def _fit_logistic(
    agent: Any, evidence: Evidence, theta: np.ndarray, step: np.ndarray, matrix: np.ndarray
) -> None:
    """Maximum likelihood by Newton's method, damped so that it converges from anywhere."""
    n_arms, dimension = agent.features.shape
    for i in range(dimension):
        theta[i] = 0.0
    for _ in range(_NEWTON_STEPS):
        for i in range(dimension):
            step[i] = 0.0
            for j in range(dimension):
                matrix[i, j] = 0.0
        for arm in range(n_arms):
            if evidence.counts[arm] > 0.0:
                feature = agent.features[arm]
                weight = evidence.counts[arm] / (evidence.sigmas[arm] * evidence.sigmas[arm])
                mean = evidence.means[arm] - agent.offsets[arm]
                mean = min(max(mean, agent.lowest[arm]), agent.highest[arm])
                fitted = _logistic(product(feature, theta, dimension))
                for i in range(dimension):
                    step[i] += weight * (mean - fitted) * feature[i]
                    for j in range(dimension):
                        bend = weight * fitted * (1.0 - fitted)
                        matrix[i, j] += bend * feature[i] * feature[j]
        largest = 0.0
        for i in range(dimension):
            largest = max(largest, matrix[i, i])
        for i in range(dimension):  # the steps change, what they converge to does not
            matrix[i, i] += 1e-9 * largest
        factorise(matrix, dimension)
        solve(matrix, step, dimension)
        longest = 0.0
        for arm in range(n_arms):
            if evidence.counts[arm] > 0.0:
                longest = max(longest, abs(product(agent.features[arm], step, dimension)))
        damping = math.log1p(longest) / longest if longest > 0.0 else 1.0
        for i in range(dimension):
            theta[i] += damping * step[i]
        if longest < _CONVERGED:
            return


@scores_of(GLMAgent)
def _score(agent: Any, floats: Any, evidence: Any, allowed: Any, moment: Any) -> Any:
    dimension = agent.features.shape[1]
    scores, theta, spare = floats[0], floats[1], floats[2]
    matrix, bends = floats[3 : 3 + dimension], floats[3 + dimension :]
    for i in range(dimension):
        theta[i] = 0.0
        for j in range(dimension):
            matrix[i, j] = 0.0
    gather(agent.features, agent.offsets, evidence, matrix, theta)
    largest = 0.0
    for i in range(dimension):
        largest = max(largest, matrix[i, i])
    if not factorise(matrix, dimension):
        if _mark_new_directions(agent, evidence, allowed, scores):
            return
        # Only arms in the span of the seen ones are allowed: what lies outside does not matter.
        for i in range(dimension):
            theta[i] = 0.0
            for j in range(dimension):
                matrix[i, j] = 1e-9 * largest if i == j else 0.0
        gather(agent.features, agent.offsets, evidence, matrix, theta)
        factorise(matrix, dimension)
    if agent.logistic:
        _fit_logistic(agent, evidence, theta, spare, bends)
    else:
        solve(matrix, theta, dimension)
    radius = multiplier(agent.root_alpha, moment.width) / agent.slope
    for place in range(allowed.size):
        feature = agent.features[allowed[place]]
        mean = product(feature, theta, dimension)
        if agent.logistic:
            mean = _logistic(mean)
        mean += agent.offsets[allowed[place]]
        scores[place] = mean + radius * width_along(matrix, feature, spare)
