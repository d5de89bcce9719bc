"""Whether a grid of points is fine enough for the rewards of a search.

A search on exact means assumes that θ is one of the grid points. If θ lies between two of them, and
the rewards distinguish them, the point that fits best may have another best arm than θ.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from structuredbandits.structure import Structure

# The largest accepted gain in log likelihood of a θ between grid points over the nearest point.
_LARGEST_LOSS = 0.5


def too_coarse(
    structure: Structure, counts: np.ndarray, means: np.ndarray, answer: int, delta: float
) -> Any | None:
    """Return a θ between grid points that may contradict an answer, or None if there is none.

    Such a θ lies half-way between two neighbours, of which one is plausible and one has another
    best arm, and would fit the rewards better than both. While the grid is fine against the noise,
    no θ does.

    Parameters
    ----------
    structure
        With exact means.
    counts, means
        (arms,): the rewards of a search; costs are negated.
    answer
        The arm that it named, as a position.
    delta
        A θ is plausible as long as it is not ruled out with this error probability.

    Examples
    --------
    >>> from structuredbandits.structure import Interval
    >>> coarse = Structure.from_functions(
    ...     {"a": lambda x: x, "b": lambda x: 1.2 + 0 * x}, Interval(0, 4, points=5), sigma=0.1
    ... )
    >>> too_coarse(coarse, np.array([200.0, 0.0]), np.array([1.1, 0.0]), answer=1, delta=0.05)
    1.5
    >>> too_coarse(coarse, np.array([1.0, 0.0]), np.array([3.1, 0.0]), answer=0, delta=0.05)
    """
    if not (structure.parameters.continuous and structure.exact):
        return None
    weights = 0.5 * counts / np.square(structure.sigma)
    gains = structure.sign * structure.means
    misfits = np.square(gains - means) @ weights
    excess = misfits - misfits.min()
    plausible = excess < math.log(len(excess) / float(np.exp(-excess).sum())) - math.log(delta)
    agrees = structure.optimal[:, answer]
    for here, there in _neighbours(structure):
        contradicts = (plausible[here] | plausible[there]) & ~(agrees[here] & agrees[there])
        here, there = here[contradicts], there[contradicts]
        loss = 0.25 * np.square(gains[here] - gains[there]) @ weights
        for i, j in zip(here[loss > _LARGEST_LOSS], there[loss > _LARGEST_LOSS], strict=True):
            theta = _half_way(structure, int(i), int(j))
            # Next to a jump, what lies between is one of the two sides and no mixture.
            between = structure.sign * structure.means_at(theta)
            if float((np.square(gains[[i, j]] - between) @ weights).min()) > _LARGEST_LOSS:
                return theta
    return None


def _half_way(structure: Structure, i: int, j: int) -> Any:
    points = np.asarray(structure.parameters.points)
    middle = 0.5 * points[i] + 0.5 * points[j]
    return float(middle[0]) if len(middle) == 1 else tuple(middle.tolist())


@lru_cache(maxsize=8)
def _neighbours(structure: Structure) -> list[tuple[np.ndarray, np.ndarray]]:
    """Positions of all pairs of neighbouring grid points, by direction."""
    sides = tuple(len(axis) for axis in structure.parameters.axes)
    places = np.arange(structure.n_parameters).reshape(sides)
    pairs = []
    # Each step and its opposite are one pair.
    for step in product((-1, 0, 1), repeat=len(sides)):
        if step > (0,) * len(sides):
            first = tuple(
                slice(max(-s, 0), n - max(s, 0)) for s, n in zip(step, sides, strict=True)
            )
            second = tuple(
                slice(max(s, 0), n - max(-s, 0)) for s, n in zip(step, sides, strict=True)
            )
            pairs.append((places[first].ravel(), places[second].ravel()))
    return pairs
