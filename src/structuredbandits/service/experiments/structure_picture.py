"""The numbers with which a page draws a structure or a set of parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structuredbandits.structure import Box, Structure

_MOST_POINTS = 1_000
# Of a plane; its means are sent twice, as lower and upper ones.
_MOST_ON_A_SIDE = 64
_MOST_MEANS = 60_000


def runs_of(mask: np.ndarray) -> list[list[int]]:
    """A set of positions as runs, first and last.

    Examples
    --------
    >>> runs_of(np.array([True, True, False, True]))
    [[0, 1], [3, 3]]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [[int(a), int(b) - 1] for a, b in zip(edges[::2], edges[1::2], strict=True)]


def drawn_positions(structure: Structure) -> np.ndarray:
    """Which parameters are drawn: all, or evenly taken ones; of a plane, a coarser grid.

    Examples
    --------
    >>> import structuredbandits as sb
    >>> sides = {"a": lambda theta: theta[..., 0], "b": lambda theta: theta[..., 1]}
    >>> plane = sb.Box([(0, 1), (0, 1)], points=201)
    >>> fine = sb.Structure.from_functions(sides, plane, sigma=1.0)
    >>> fine.n_parameters, drawn_positions(fine).size
    (40401, 4096)
    """
    parameters = structure.parameters
    if isinstance(parameters, Box) and parameters.dimension == 2:
        most = min(_MOST_ON_A_SIDE, max(2, math.isqrt(_MOST_MEANS // structure.n_arms)))
        first, second = (_evenly(len(axis), most) for axis in parameters.axes)
        grid: np.ndarray = first[:, None] * len(parameters.axes[1]) + second
        return grid.ravel()
    return _evenly(structure.n_parameters, _MOST_POINTS)


def _evenly(size: int, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, size - 1, min(size, most)).round().astype(int))


def structure_picture(structure: Structure) -> dict[str, Any]:
    """Arms, parameters and means, of as many parameters as a page can draw."""
    size = structure.n_parameters
    places = drawn_positions(structure)
    points = structure.parameters.points
    prior = structure.prior
    return {
        "digest": structure.digest,
        "name": structure.name,
        "minimize": structure.minimize,
        "arms": list(structure.arms),
        "sigma": structure.sigma.tolist(),
        "kind": type(structure.parameters).__name__.lower(),
        "parameters": [structure.label(int(place)) for place in places],
        "values": None
        if points is None
        else np.asarray(points, dtype=float).reshape(size, -1)[places].tolist(),
        "lower": structure.lower[places].tolist(),
        "upper": structure.upper[places].tolist(),
        "prior": None if prior is None else np.asarray(prior)[places].tolist(),
        "positions": places.tolist(),
    }
