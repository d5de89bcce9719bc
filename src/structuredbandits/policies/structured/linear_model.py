"""A structure seen as a (generalised) linear model, and least squares in compiled code."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.errors import InvalidPolicy

if TYPE_CHECKING:
    from structuredbandits.structure import Structure

# A pivot that is this much smaller than its diagonal entry is rounding: the matrix is singular.
_SINGULAR = 1e-10


class LinearView(NamedTuple):
    """What is to be maximised is offset_k + g(features_k · θ)."""

    offsets: np.ndarray  # (arms,)
    features: np.ndarray  # (arms, dimension)
    logistic: bool  # g is the logistic function, otherwise the identity


@lru_cache(maxsize=8)
def linear_view(structure: Structure, algorithm: str) -> LinearView:
    """Features of a structure whose means are linear in θ, up to a constant an arm and a link.

    Examples
    --------
    >>> from structuredbandits.structure import Interval, Structure
    >>> lines = {"a": lambda x: 1 + 2 * x, "b": lambda x: 3 - x}
    >>> known = Structure.from_functions(lines, Interval(0, 1, points=5), sigma=1.0)
    >>> linear_view(known, "oful").features.round(9)
    array([[ 2.], [-1.]])
    """
    _require_exact(structure, algorithm)
    sign = structure.sign
    if structure.features is not None:
        features = sign * structure.features
        # For costs, -g(z) = g(-z) - 1 with the logistic g.
        offset = -1.0 if structure.link == "logistic" and structure.minimize else 0.0
        offsets = np.full(structure.n_arms, offset)
        return LinearView(offsets, np.ascontiguousarray(features), structure.link == "logistic")
    points = structure.parameters.points
    if points is None:
        raise InvalidPolicy(
            f"{algorithm} needs means that are linear in θ, but the θ of this structure are "
            "labels; give numbers for θ, or use a policy such as posterior."
        )
    design = np.column_stack([np.ones(len(points)), points])
    coefficients = np.linalg.lstsq(design, structure.means, rcond=None)[0]
    misses = np.abs(design @ coefficients - structure.means).max(axis=0)
    _require_linear(structure, algorithm, misses)
    return LinearView(
        sign * coefficients[0], np.ascontiguousarray(sign * coefficients[1:].T), False
    )


def _require_exact(structure: Structure, algorithm: str) -> None:
    if not structure.exact:
        loose = (structure.lower < structure.upper).any(axis=0)
        raise InvalidPolicy(
            f"{algorithm} needs exact means, but arm {structure.arms[int(loose.argmax())]!r} has "
            "bounds; use a policy such as ucb-c."
        )


def _require_linear(structure: Structure, algorithm: str, misses: np.ndarray) -> None:
    curved = misses > max(structure.tolerance, 1e-12)
    if curved.any():
        arm = int(curved.argmax())
        raise InvalidPolicy(
            f"{algorithm} needs means that are linear in θ, but that of arm "
            f"{structure.arms[arm]!r} is up to {misses[arm]:.3g} away from every linear function; "
            "use a policy such as ucb-c."
        )


# -- symmetric systems, in the first rows of a run's floats ----------------------------------------


@inline
def gather(
    features: np.ndarray,
    offsets: np.ndarray,
    evidence: Evidence,
    matrix: np.ndarray,
    vector: np.ndarray,
) -> None:
    """Add what the evidence says about θ to the two sides of the normal equations.

    ``matrix`` gets Σ n_k x_k x_kᵀ / sigma_k² and ``vector`` gets
    Σ n_k x_k (mu_hat_k - offset_k) / sigma_k².
    """
    dimension = features.shape[1]
    for arm in range(features.shape[0]):
        if evidence.counts[arm] > 0.0:
            weight = evidence.counts[arm] / (evidence.sigmas[arm] * evidence.sigmas[arm])
            residual = evidence.means[arm] - offsets[arm]
            for i in range(dimension):
                vector[i] += weight * features[arm, i] * residual
                for j in range(dimension):
                    matrix[i, j] += weight * features[arm, i] * features[arm, j]


@inline
def factorise(matrix: np.ndarray, dimension: int) -> bool:
    """Replace a symmetric matrix by its lower Cholesky factor; False if it is singular."""
    for j in range(dimension):
        diagonal = matrix[j, j]
        pivot = diagonal
        for i in range(j):
            pivot -= matrix[j, i] * matrix[j, i]
        if not pivot > _SINGULAR * diagonal:
            return False
        root = math.sqrt(pivot)
        matrix[j, j] = root
        for row in range(j + 1, dimension):
            value = matrix[row, j]
            for i in range(j):
                value -= matrix[row, i] * matrix[j, i]
            matrix[row, j] = value / root
    return True


@inline
def solve_lower(factor: np.ndarray, vector: np.ndarray, dimension: int) -> None:
    """Replace ``vector`` by the solution of factor · x = vector."""
    for i in range(dimension):
        for j in range(i):
            vector[i] -= factor[i, j] * vector[j]
        vector[i] /= factor[i, i]


@inline
def solve(factor: np.ndarray, vector: np.ndarray, dimension: int) -> None:
    """Replace ``vector`` by the solution of factor · factorᵀ · x = vector."""
    solve_lower(factor, vector, dimension)
    for step in range(dimension):
        i = dimension - 1 - step
        for j in range(i + 1, dimension):
            vector[i] -= factor[j, i] * vector[j]
        vector[i] /= factor[i, i]


@inline
def width_along(factor: np.ndarray, feature: np.ndarray, spare: np.ndarray) -> float:
    """sqrt(xᵀ V⁻¹ x) for the V whose factor is given."""
    dimension = feature.size
    for i in range(dimension):
        spare[i] = feature[i]
    solve_lower(factor, spare, dimension)
    total = 0.0
    for i in range(dimension):
        total += spare[i] * spare[i]
    return math.sqrt(total)


@inline
def product(first: np.ndarray, second: np.ndarray, dimension: int) -> float:
    """Scalar product of the first ``dimension`` numbers."""
    total = 0.0
    for i in range(dimension):
        total += first[i] * second[i]
    return total
