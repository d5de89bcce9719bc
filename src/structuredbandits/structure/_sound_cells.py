"""Sound cells: bounds on the mean rewards that hold for every θ around a grid point.

The sound cell of a grid point reaches half-way to its neighbours, so the sound cells cover Θ and
no θ is lost between grid points.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from structuredbandits.errors import InvalidStructure
from structuredbandits.structure._mean_models import Linear
from structuredbandits.structure._piecewise import PiecewiseLinear
from structuredbandits.structure.parameters import FloatArray, Parameters

# A margin for the rounding of a few additions and multiplications, relative to the numbers added.
_ROUNDING = 8 * np.finfo(float).eps
# Functions round as well; a wrong constant is wrong by more than this.
_SAME_CHANGE = 1e-9


def sound_cell_corners(parameters: Parameters) -> tuple[FloatArray, FloatArray]:
    """Return the lower and upper corners (parameters, dimension) of the sound cells of a grid.

    Examples
    --------
    >>> from structuredbandits.structure import Interval
    >>> low, high = sound_cell_corners(Interval(0, 2, points=3))
    >>> low.ravel().tolist(), high.ravel().tolist()
    ([0.0, 0.5, 1.5], [0.5, 1.5, 2.0])
    """
    if not parameters.continuous:
        raise InvalidStructure(
            "sound cells need a continuous Θ, and this one is finite; leave out lipschitz and "
            "sound, or give an Interval or a Box."
        )
    lows, highs = [], []
    for axis in parameters.axes:
        middle = (axis[:-1] + axis[1:]) / 2
        lows.append(np.concatenate((axis[:1], middle)))
        highs.append(np.concatenate((middle, axis[-1:])))
    return _product(lows), _product(highs)


def lipschitz_bounds(
    means: FloatArray, parameters: Parameters, constants: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return bounds over each sound cell for functions with Lipschitz constants.

    Parameters
    ----------
    means
        (parameters, arms): the means at the grid points.
    parameters
        A continuous Θ.
    constants
        (arms,): |μ_k(θ) − μ_k(θ')| ≤ constants[k] · ‖θ − θ'‖ in the Euclidean norm.

    Returns
    -------
    lower, upper
        (parameters, arms).
    """
    low, high = sound_cell_corners(parameters)
    points = np.asarray(parameters.points)
    farthest = np.linalg.norm(np.maximum(points - low, high - points), axis=1)
    change = farthest[:, np.newaxis] * constants
    change = change + _ROUNDING * (np.abs(means) + change) * (constants > 0)
    return means - change, means + change


def check_lipschitz(
    means: FloatArray, parameters: Parameters, arms: tuple[str, ...], constants: FloatArray
) -> None:
    """Raise if two neighbouring grid points contradict a constant, naming arm and θ."""
    sides = tuple(len(axis) for axis in parameters.axes)
    places = np.arange(len(parameters)).reshape(sides)
    points = np.asarray(parameters.points)
    # Each step and its opposite are one pair; diagonals find what a single side does not show.
    steps = [s for s in product((-1, 0, 1), repeat=len(sides)) if s > (0,) * len(sides)]
    for step in steps:
        here = places[
            tuple(slice(max(-s, 0), n - max(s, 0)) for s, n in zip(step, sides, strict=True))
        ]
        there = places[
            tuple(slice(max(s, 0), n - max(-s, 0)) for s, n in zip(step, sides, strict=True))
        ]
        i, j = here.ravel(), there.ravel()
        distance = np.linalg.norm(points[j] - points[i], axis=1)[:, np.newaxis]
        change = np.abs(means[j] - means[i])
        margin = _SAME_CHANGE * (np.abs(means[i]) + np.abs(means[j]))
        most = constants * distance * (1 + _SAME_CHANGE) + margin + np.finfo(float).tiny
        wrong = change > most
        if wrong.any():
            row, k = map(int, np.argwhere(wrong)[0])
            raise InvalidStructure(
                f"lipschitz = {constants[k]:g} for arm {arms[k]!r} is too small, since its mean "
                f"changes by {change[row, k]:g} between θ = {parameters.label(int(i[row]))} and "
                f"θ = {parameters.label(int(j[row]))}; give at least "
                f"{change[row, k] / distance[row, 0]:.6g}."
            )


def piecewise_bounds(
    pieces: tuple[PiecewiseLinear, ...], parameters: Parameters
) -> tuple[FloatArray, FloatArray]:
    """Return the exact extremes (parameters, arms) of exact functions over each sound cell."""
    low, high = sound_cell_corners(parameters)
    extremes = [piece.extremes(low[:, 0], high[:, 0]) for piece in pieces]
    return np.stack([e[0] for e in extremes], axis=1), np.stack([e[1] for e in extremes], axis=1)


def linear_bounds(model: Linear, parameters: Parameters) -> tuple[FloatArray, FloatArray]:
    """Return the extremes (parameters, arms) of linear functions over each sound cell.

    A linear function takes them at corners, and the link is increasing.
    """
    low, high = sound_cell_corners(parameters)
    rising, falling = np.maximum(model.features, 0.0).T, np.minimum(model.features, 0.0).T
    margin = _ROUNDING * (np.maximum(np.abs(low), np.abs(high)) @ np.abs(model.features).T)
    lower = model.through_link(low @ rising + high @ falling - margin)
    upper = model.through_link(high @ rising + low @ falling + margin)
    if model.link is not None:  # the link itself rounds as well
        lower, upper = np.maximum(lower - _ROUNDING, 0.0), np.minimum(upper + _ROUNDING, 1.0)
    return lower, upper


def _product(sides: list[FloatArray]) -> FloatArray:
    mesh = np.meshgrid(*sides, indexing="ij")
    return np.stack([side.ravel() for side in mesh], axis=1)
