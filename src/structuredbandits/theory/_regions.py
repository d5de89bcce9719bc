"""Regions of a one- or two-dimensional Θ by best arm and number of competitive arms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structuredbandits.structure import FloatArray
from structuredbandits.theory._competitive_arms import Competition, competition_of
from structuredbandits.theory._landscape import Landscape
from structuredbandits.theory._polytopes import Polytopes
from structuredbandits.theory._spans import BoolArray
from structuredbandits.theory._straight_lines import StraightLines

# Beyond this many candidate ends the regions are computed from the grid.
_MOST_ENDS = 20_000


class Region(NamedTuple):
    """A part [low, high] of Θ with the same best arms and the same number of competitive arms.

    Single θ at which arms tie, and more compete than on either side, are not regions.
    """

    low: float
    high: float
    arms: tuple[str, ...]
    """The best arms; several only if they are equal throughout the region."""
    C: int


class PlaneMap(NamedTuple):
    """The best arm and the number of competitive arms over a box in the plane."""

    first: FloatArray
    """(m,): values of the first coordinate."""
    second: FloatArray
    """(n,): values of the second coordinate."""
    best: NDArray[np.intp]
    """(m, n): the position of the best arm, the first one on a tie."""
    unique: BoolArray
    """(m, n): whether it is the only one."""
    C: NDArray[np.int64]
    """(m, n): the number of competitive arms."""


def plane_map(landscape: Landscape, everywhere: Competition, points: int) -> PlaneMap:
    """Return a map of a box in the plane.

    Parameters
    ----------
    landscape
        The arms over Θ.
    everywhere
        Which arms compete at every grid point.
    points
        The number of points per side where the arms are known between grid points; otherwise the
        grid of Θ is used.
    """
    sides = list(landscape.structure.parameters.axes)
    found = everywhere
    if isinstance(landscape, Polytopes):
        sides = [np.linspace(side[0], side[-1], points) for side in sides]
        mesh = np.meshgrid(*sides, indexing="ij")
        rewards = landscape.rewards(np.stack([part.ravel() for part in mesh], axis=1))
        found = competition_of(landscape, rewards, rewards, rewards)
    shape = len(sides[0]), len(sides[1])
    return PlaneMap(
        sides[0],
        sides[1],
        found.optimal.argmax(axis=1).reshape(shape),
        (found.optimal.sum(axis=1) == 1).reshape(shape),
        found.C.reshape(shape),
    )


def regions_of(landscape: Landscape, everywhere: Competition) -> tuple[Region, ...]:
    """Return the regions of a one-dimensional Θ from left to right.

    Their ends are exact where the reward functions are straight lines, and half-way between
    neighbouring θ of the grid otherwise.

    Parameters
    ----------
    landscape
        The arms over Θ.
    everywhere
        Which arms compete at every grid point.
    """
    found: tuple[FloatArray, Competition] | None = None
    if isinstance(landscape, StraightLines):
        found = _exact_parts(landscape)
    points = np.asarray(landscape.structure.parameters.points)[:, 0]
    if found is None:
        order = np.argsort(points)
        inner = (points[order][1:] + points[order][:-1]) / 2
        ends = np.concatenate([[points.min()], inner, [points.max()]])
        found = ends, everywhere.taken(order)
    return _joined(landscape.structure.arms, *found)


def _exact_parts(lines: StraightLines) -> tuple[FloatArray, Competition] | None:
    """Return the ends of the parts in which nothing changes, and the competition inside each."""
    theta, arms = lines.knots.theta, lines.start.shape[1]
    ends = [theta]
    number = len(theta)
    for best in np.flatnonzero(lines.optimal_on_pieces.any(axis=0)).tolist():
        spans = [lines.reach(best, arm).merged() for arm in range(arms)]
        values = np.unique(np.concatenate([np.append(s.low, s.high) for s in spans]))
        pieces = np.flatnonzero(lines.optimal_on_pieces[:, best])
        start, end = lines.start[pieces, best], lines.end[pieces, best]
        low = np.searchsorted(values, np.minimum(start, end), side="right")
        count = np.maximum(np.searchsorted(values, np.maximum(start, end), side="left") - low, 0)
        number += int(count.sum())
        if number > _MOST_ENDS:
            return None
        which = np.repeat(np.arange(len(pieces)), count)
        within = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
        share = (values[low[which] + within] - start[which]) / (end - start)[which]
        ends.append(theta[pieces[which]] + share * np.diff(theta)[pieces[which]])
    cuts = np.unique(np.concatenate(ends))
    middles = (cuts[1:] + cuts[:-1]) / 2
    piece = np.searchsorted(theta, middles, side="right") - 1
    share = (middles - theta[piece]) / np.diff(theta)[piece]
    means = lines.start[piece] + share[:, np.newaxis] * (lines.end - lines.start)[piece]
    return cuts, competition_of(lines, means, means, means)


def _joined(
    arms: tuple[str, ...], ends: FloatArray, competition: Competition
) -> tuple[Region, ...]:
    """Join neighbouring parts that do not differ."""
    regions: list[Region] = []
    width = float(ends[-1] - ends[0])
    for i, flags in enumerate(competition.optimal):
        best = tuple(arm for arm, flag in zip(arms, flags.tolist(), strict=True) if flag)
        new = Region(float(ends[i]), float(ends[i + 1]), best, int(competition.C[i]))
        if new.high - new.low <= 1e-12 * width:
            continue  # two ends that are equal up to rounding
        if regions and regions[-1][2:] == new[2:]:
            new = new._replace(low=regions.pop().low)
        elif regions:
            new = new._replace(low=regions[-1].high)
        regions.append(new)
    return tuple(regions)
