"""What a page needs to draw a structure, and a set of parameters in few numbers.

This module knows sizes that a page can bear. It must not know experiments or subjects.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structuredbandits.structure import Structure

_MOST_POINTS = 1_000


def runs_of(mask: np.ndarray) -> list[list[int]]:
    """A set of positions as runs, first and last.

    Examples
    --------
    >>> runs_of(np.array([True, True, False, True]))
    [[0, 1], [3, 3]]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [[int(a), int(b) - 1] for a, b in zip(edges[::2], edges[1::2], strict=True)]


def structure_picture(structure: Structure) -> dict[str, Any]:
    """Arms, parameters and means; at most a thousand parameters, evenly taken."""
    size = structure.n_parameters
    places = np.unique(np.linspace(0, size - 1, min(size, _MOST_POINTS)).round().astype(int))
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
