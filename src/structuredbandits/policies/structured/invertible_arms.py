"""A scalar θ computed from one arm's mean, for arms whose means are strictly monotone in θ."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.errors import InvalidPolicy
from structuredbandits.structure.parameters import show_theta

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class Curves(NamedTuple):
    """Each arm's mean along θ; costs are negated."""

    theta: np.ndarray  # (parameters,) ascending
    means: np.ndarray  # (arms, parameters)
    directions: np.ndarray  # (arms,) 1.0 for a rising arm, -1.0 for a falling one
    between: bool  # θ may lie between the points, where means are interpolated


@lru_cache(maxsize=8)
def curves_of(structure: Structure, algorithm: str) -> Curves:
    """Curves of a structure; refuses one whose means are not strictly monotone.

    Examples
    --------
    >>> from structuredbandits.structure import Interval, Structure
    >>> lines = {"a": lambda x: 1 + 2 * x, "b": lambda x: 3 - x}
    >>> known = Structure.from_functions(lines, Interval(0, 1, points=3), sigma=1.0)
    >>> curves_of(known, "wagp").directions
    array([ 1., -1.])
    """
    points = structure.parameters.points
    if points is None or points.shape[1] != 1:
        kind = "labels" if points is None else f"vectors of {points.shape[1]} numbers"
        raise InvalidPolicy(
            f"{algorithm} needs a θ that is a single number, but here θ are {kind}; use a policy "
            "such as posterior."
        )
    if not structure.exact:
        loose = (structure.lower < structure.upper).any(axis=0)
        raise InvalidPolicy(
            f"{algorithm} needs exact means, but arm {structure.arms[int(loose.argmax())]!r} has "
            "bounds; use a policy such as ucb-c."
        )
    if len(points) < 2:
        raise InvalidPolicy(
            f"{algorithm} needs at least two θ; with one there is nothing to learn."
        )
    order = np.argsort(points[:, 0], kind="stable")
    theta = np.ascontiguousarray(points[order, 0])
    means = np.ascontiguousarray((structure.sign * structure.means)[order].T)
    directions = np.where(means[:, -1] > means[:, 0], 1.0, -1.0)
    steps = directions[:, None] * np.diff(means, axis=1)
    stuck = ~(steps > structure.tolerance)
    if stuck.any():
        arm, place = map(int, np.argwhere(stuck)[0])
        raise InvalidPolicy(
            f"{algorithm} needs means that are strictly monotone in θ, so that θ follows from "
            f"every arm, but that of arm {structure.arms[arm]!r} is not from θ = "
            f"{show_theta(float(theta[place]))} to {show_theta(float(theta[place + 1]))}; use a "
            "policy such as ucb-c."
        )
    return Curves(theta, means, directions, bool(structure.parameters.continuous))


@inline
def segment(values: np.ndarray, direction: float, value: float) -> int:
    """The i for which value lies between values[i] and values[i + 1], the first or last if none."""
    low, high = 0, values.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if direction * values[middle] <= direction * value:
            low = middle
        else:
            high = middle
    return low


@inline
def theta_from_mean(curves: Curves, arm: int, mean: float) -> float:
    """The θ in Θ at which the arm's mean is nearest to the given one."""
    values, theta = curves.means[arm], curves.theta
    i = segment(values, curves.directions[arm], mean)
    share = (mean - values[i]) / (values[i + 1] - values[i])
    if not curves.between:
        share = 0.0 if share <= 0.5 else 1.0
    result: float = theta[i] + min(1.0, max(0.0, share)) * (theta[i + 1] - theta[i])
    return result


@inline
def mean_at_theta(curves: Curves, arm: int, theta: float) -> float:
    """The arm's mean at a θ, linear between the points."""
    values = curves.means[arm]
    i = segment(curves.theta, 1.0, theta)
    share = (theta - curves.theta[i]) / (curves.theta[i + 1] - curves.theta[i])
    result: float = values[i] + share * (values[i + 1] - values[i])
    return result
