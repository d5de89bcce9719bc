"""Arms whose means are linear functions of θ, or the maximum or minimum of a few of them.

`recognise` finds such functions from their values on a grid.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from structuredbandits.structure import FloatArray, Parameters

# Arms with more pieces are not recognised: every combination of one piece per arm is visited.
_MOST_PIECES = 12
_MOST_PARTS = 256
# Two numbers are equal if they differ by less than this share of the range of the means.
_SAME = 1e-9


class LinearPart(NamedTuple):
    """A part {θ : limits · θ ≤ ends} of the box in which all arms are linear in θ."""

    slopes: FloatArray
    """(arms, dimension)"""
    intercepts: FloatArray
    """(arms,)"""
    limits: FloatArray
    """(inequalities, dimension)"""
    ends: FloatArray
    """(inequalities,)"""


@dataclass(frozen=True, eq=False)
class MaxLinear:
    """One arm's mean: the maximum (or minimum) of a few linear functions of θ.

    Parameters
    ----------
    slopes
        (pieces, dimension)
    intercepts
        (pieces,)
    convex
        True for the maximum of the pieces, False for the minimum.

    Examples
    --------
    >>> size = MaxLinear(np.array([[1.0], [-1.0]]), np.zeros(2))
    >>> size.at(np.array([[-3.0], [2.0]]))
    array([3., 2.])
    """

    slopes: FloatArray
    intercepts: FloatArray
    convex: bool = True

    def at(self, points: FloatArray) -> FloatArray:
        """Return the values (points,) at points (points, dimension)."""
        values = points @ self.slopes.T + self.intercepts
        return np.asarray(values.max(axis=1) if self.convex else values.min(axis=1))

    def inequalities(self, piece: int) -> tuple[FloatArray, FloatArray]:
        """Return limits and ends: limits · θ ≤ ends is where one piece is the value."""
        others = np.arange(len(self.intercepts)) != piece
        sign = 1.0 if self.convex else -1.0
        limits = sign * (self.slopes[others] - self.slopes[piece])
        return limits, sign * (self.intercepts[piece] - self.intercepts[others])


def linear_arms(features: FloatArray) -> tuple[MaxLinear, ...]:
    """Return one linear function per row of features (arms, dimension)."""
    return tuple(MaxLinear(row[np.newaxis], np.zeros(1)) for row in features)


def linear_parts_of(arms: tuple[MaxLinear, ...]) -> Iterator[LinearPart]:
    """Return the parts of the space in which every arm is linear; some may be empty."""
    for choice in product(*(range(len(arm.intercepts)) for arm in arms)):
        inequalities = [arm.inequalities(piece) for arm, piece in zip(arms, choice, strict=True)]
        yield LinearPart(
            np.stack([arm.slopes[piece] for arm, piece in zip(arms, choice, strict=True)]),
            np.array([arm.intercepts[piece] for arm, piece in zip(arms, choice, strict=True)]),
            np.concatenate([limits for limits, _ in inequalities]),
            np.concatenate([ends for _, ends in inequalities]),
        )


def recognise(parameters: Parameters, means: FloatArray) -> tuple[MaxLinear, ...] | None:
    """Return the arms as maxima or minima of linear functions, None if they are not.

    Parameters
    ----------
    parameters
        A continuous Θ.
    means
        (parameters, arms): the means on its grid, all of which the result reproduces.

    Examples
    --------
    >>> from structuredbandits.structure import Box
    >>> square = Box([(-1, 1), (-1, 1)], points=11)
    >>> means = np.stack([square.points.sum(axis=1), np.abs(square.points).max(axis=1)], axis=1)
    >>> [len(arm.intercepts) for arm in recognise(square, means)]
    [1, 4]
    >>> recognise(square, means**2) is None
    True
    """
    scale = float(np.ptp(means)) or 1.0
    arms = []
    for column in means.T:
        arm = _recognise_arm(parameters, column, scale)
        if arm is None:
            return None
        arms.append(arm)
    return tuple(arms) if prod(len(arm.intercepts) for arm in arms) <= _MOST_PARTS else None


def _recognise_arm(parameters: Parameters, values: FloatArray, scale: float) -> MaxLinear | None:
    points = np.asarray(parameters.points)
    candidates = _gradients(parameters, values, scale)
    if len(candidates) > 4 * _MOST_PIECES:
        return None
    for convex in (True, False):
        sign = 1.0 if convex else -1.0
        planes = points @ candidates[:, :-1].T + candidates[:, -1]
        over = sign * (planes - values[:, np.newaxis])
        # A true piece is never above the maximum; planes through points of two pieces are.
        kept = (over <= _SAME * scale).all(axis=0)
        needed = _cover(over[:, kept] >= -_SAME * scale)
        if needed is not None and len(needed) <= _MOST_PIECES:
            chosen = candidates[kept][needed]
            return MaxLinear(chosen[:, :-1], chosen[:, -1], convex)
    return None


def _gradients(parameters: Parameters, values: FloatArray, scale: float) -> FloatArray:
    """Return the distinct planes (planes, dimension + 1) through neighbouring grid points."""
    shape = tuple(len(axis) for axis in parameters.axes)
    block = values.reshape(shape)
    corner = tuple(slice(None, -1) for _ in shape)
    slopes = []
    for j, axis in enumerate(parameters.axes):
        width = np.diff(axis).reshape([-1 if i == j else 1 for i in range(len(shape))])
        slopes.append((np.diff(block, axis=j) / width)[_up_to_last(shape, j)].ravel())
    gradient = np.stack(slopes, axis=1)
    points = np.asarray(parameters.points).reshape(*shape, -1)[corner].reshape(len(gradient), -1)
    intercept = block[corner].ravel() - (gradient * points).sum(axis=1)
    planes = np.column_stack([gradient, intercept])
    # Rounded for comparison only: the planes themselves keep all their digits.
    widths = np.array([axis[-1] - axis[0] for axis in parameters.axes])
    units = _SAME * scale / np.append(widths, 1.0)
    _, first = np.unique(np.round(planes / units / 100), axis=0, return_index=True)
    return np.asarray(planes[np.sort(first)])


def _up_to_last(shape: tuple[int, ...], done: int) -> tuple[slice, ...]:
    """Return an index that drops the last point of every side except one."""
    return tuple(slice(None) if i == done else slice(None, -1) for i in range(len(shape)))


def _cover(touches: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> list[int] | None:
    """Choose planes until every grid point lies on one, the largest parts first."""
    left = np.ones(len(touches), dtype=bool)
    chosen: list[int] = []
    while left.any():
        counts = touches[left].sum(axis=0)
        if not counts.size or not counts.max():
            return None
        chosen.append(int(counts.argmax()))
        left &= ~touches[:, chosen[-1]]
    return chosen
