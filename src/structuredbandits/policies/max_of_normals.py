"""The probability that each of several independent normal draws is the largest.

One quadrature with two accuracies. `fast_normals` (within 1e-3) is for decisions that are made many
times per second and drawn from exactly these probabilities; `precise_normals` (within 1e-7) is for
everything else, and also resolves draws of very different deviations.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from structuredbandits._compiled import inline, kernel

# The product of many distribution functions is narrower than each of them: steps are divided by
# 1 + 0.3 log(rivals).
_NARROWER = 0.3
# Where deviations differ so much that the largest number of points is not enough: a Gauss-Legendre
# rule on panels of at most this many deviations of the narrowest draw in the panel.
_PANEL = 2.5
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)


class Normals(NamedTuple):
    """The standard normal as a table, and how accurately to integrate with it."""

    table: np.ndarray  # (rows, 2) distribution function and density; linear between the rows
    steps: float  # rows per standard deviation
    end: float  # standard deviations from the middle to either end of the table
    reach: float  # draws further apart than this many deviations do not compete
    step: float  # of the trapezoidal rule, in deviations of the narrowest rival
    most_points: int


def _normals(steps: int, end: float, reach: float, step: float, most_points: int) -> Normals:
    from scipy.special import ndtr

    places = np.arange(-round(end * steps), round(end * steps) + 2) / steps
    density = np.exp(-0.5 * places**2) / math.sqrt(2.0 * math.pi)
    table = np.ascontiguousarray(np.stack([ndtr(places), density], axis=1))
    return Normals(table, float(steps), end, reach, step, most_points)


@cache
def fast_normals() -> Normals:
    """For probabilities within 1e-3, with a table that stays in the nearest cache.

    The probabilities are stored in logs, so they must stay the same to the last bit.
    """
    # Between its rows the table is right to 2e-6, the trapezoidal rule to 3e-4. Beyond 3.4
    # deviations a normal has 3e-4 of its mass on a side.
    return _normals(steps=128, end=4.0, reach=3.4, step=1.1, most_points=600)


@cache
def precise_normals() -> Normals:
    """For probabilities within 1e-7."""
    # Between its rows the table is right to 5e-8. Beyond 5.5 deviations a normal has 2e-8 of its
    # mass on a side.
    return _normals(steps=1024, end=6.0, reach=5.5, step=0.8, most_points=1000)


def largest_of_normals(means: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Probability that each normal draw is the largest, within 1e-7.

    Parameters
    ----------
    means, deviations : (draws,) arrays
        Deviations may be 0; exact ties are shared.

    Examples
    --------
    >>> largest_of_normals(np.array([0.0, 0.0]), np.array([1.0, 3.0])).round(6).tolist()
    [0.5, 0.5]
    """
    means, deviations = np.ascontiguousarray(means), np.ascontiguousarray(deviations)
    return np.asarray(_largest_of_normals(precise_normals(), means, deviations))


@kernel
def _largest_of_normals(normals: Normals, means: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    shares = np.zeros(means.size)
    scratch, work = new_workspace(normals, means.size)
    add_largest_precisely(normals, means, deviations, means.size, 1.0, scratch, work, shares)
    return shares


@inline
def new_workspace(normals: Normals, n_draws: int) -> tuple[np.ndarray, np.ndarray]:
    """The arrays in which probabilities are computed: ``scratch`` and ``work``."""
    return np.empty((3, n_draws)), np.empty((2 * n_draws + 1, normals.most_points + 2))


@inline
def add_largest(
    normals: Normals,
    means: np.ndarray,
    deviations: np.ndarray,
    n_draws: int,
    weight: float,
    scratch: np.ndarray,
    work: np.ndarray,
    shares: np.ndarray,
) -> None:
    """Add ``weight`` times the probability that each draw is the largest to ``shares``: (draws,).

    Only the first ``n_draws`` means and deviations are read. ``scratch`` and ``work`` are as
    `new_workspace` makes them, or larger. Deviations may be 0, and exact ties are shared.
    """
    n_rivals, floor, roof, step = _rivals(normals, means, deviations, n_draws, scratch[0])
    if step == 0.0:
        _share_equally(scratch[0], n_rivals, weight, shares)
        return
    step = max(step, (roof - floor) / normals.most_points)
    _add_by_points(
        normals, means, deviations, n_rivals, floor, roof, step, weight, scratch, work, shares
    )


@inline
def add_largest_precisely(
    normals: Normals,
    means: np.ndarray,
    deviations: np.ndarray,
    n_draws: int,
    weight: float,
    scratch: np.ndarray,
    work: np.ndarray,
    shares: np.ndarray,
) -> None:
    """As `add_largest`, and right also where deviations differ by more than the points resolve."""
    n_rivals, floor, roof, step = _rivals(normals, means, deviations, n_draws, scratch[0])
    if step == 0.0:
        _share_equally(scratch[0], n_rivals, weight, shares)
    elif step * normals.most_points >= roof - floor:
        _add_by_points(
            normals, means, deviations, n_rivals, floor, roof, step, weight, scratch, work, shares
        )
    else:
        _add_by_panels(normals, means, deviations, n_rivals, floor, roof, weight, scratch, shares)


@inline
def _rivals(
    normals: Normals,
    means: np.ndarray,
    deviations: np.ndarray,
    n_draws: int,
    rivals: np.ndarray,
) -> tuple[int, float, float, float]:
    """Write the draws that can be the largest to ``rivals``; return their number, range and step.

    The step is that of the trapezoidal rule; 0 if no randomness is left but the order of ties.
    """
    reach = normals.reach
    floor, leader = -math.inf, 0
    for draw in range(n_draws):
        floor = max(floor, means[draw] - reach * deviations[draw])
        if means[draw] > means[leader]:
            leader = draw
    roof, narrowest, n_rivals = -math.inf, math.inf, 0
    for draw in range(n_draws):
        gap, spread = means[leader] - means[draw], deviations[draw]
        reachable = gap * gap <= reach * reach * (spread * spread + deviations[leader] ** 2)
        if reachable and means[draw] + reach * spread >= floor:
            rivals[n_rivals] = draw
            roof = max(roof, means[draw] + reach * spread)
            narrowest = min(narrowest, spread)
            n_rivals += 1
    if n_rivals == 1 or roof <= floor:
        return n_rivals, floor, roof, 0.0
    # Never 0: what is that narrow is below every possible resolution.
    finest = normals.step / (1.0 + _NARROWER * math.log(n_rivals)) * narrowest
    return n_rivals, floor, roof, max(finest, 1e-300)


@inline
def _share_equally(rivals: np.ndarray, n_rivals: int, weight: float, shares: np.ndarray) -> None:
    for place in range(n_rivals):
        shares[int(rivals[place])] += weight / n_rivals


# -- the trapezoidal rule on equal steps -----------------------------------------------------------


@inline
def _add_by_points(
    normals: Normals,
    means: np.ndarray,
    deviations: np.ndarray,
    n_rivals: int,
    floor: float,
    roof: float,
    step: float,
    weight: float,
    scratch: np.ndarray,
    work: np.ndarray,
    shares: np.ndarray,
) -> None:
    """Integrate each density times the others' distribution functions; it converges fast."""
    rivals, won, total = scratch[0], scratch[1], 0.0
    n_points = min(int((roof - floor) / step) + 1, normals.most_points + 1)
    _multiply(normals, means, deviations, rivals, n_rivals, floor, step, n_points, scratch, work)
    for place in range(n_rivals):
        values, heights, mass = work[2 * place + 1], work[2 * place + 2], 0.0
        for point in range(int(scratch[2, place])):
            mass += heights[point] * work[0, point] / values[point]
        won[place] = mass * won[place]
        total += won[place]
    for place in range(n_rivals):
        shares[int(rivals[place])] += weight * won[place] / total


@inline
def _multiply(
    normals: Normals,
    means: np.ndarray,
    deviations: np.ndarray,
    rivals: np.ndarray,
    n_rivals: int,
    floor: float,
    step: float,
    n_points: int,
    scratch: np.ndarray,
    work: np.ndarray,
) -> None:
    """Distribution function and density of each rival at every point, and the functions' product.

    The inner loop runs over points, so that the processor computes several at once. Row 1 of
    ``scratch`` gets the factor that makes a height a density, row 2 the number of points below the
    rival's end of the table.
    """
    table, product = normals.table, work[0]
    for point in range(n_points):
        product[point] = 1.0
    for place in range(n_rivals):
        draw = int(rivals[place])
        # A normal that is narrower than a step is taken as wide as a step; the error is of second
        # order, unless several such narrow ones compete.
        narrow = 1.0 / max(deviations[draw], step)
        begin = ((floor + 0.5 * step - means[draw]) * narrow + normals.end) * normals.steps
        by = step * narrow * normals.steps
        inside = max(0, min(n_points, int((table.shape[0] - 2.0 - begin) / by) + 1))
        values, heights = work[2 * place + 1], work[2 * place + 2]
        for point in range(inside):
            position = max(begin + point * by, 0.0)
            row = int(position)
            part = position - row
            value = table[row, 0] + part * (table[row + 1, 0] - table[row, 0])
            values[point] = value
            heights[point] = table[row, 1] + part * (table[row + 1, 1] - table[row, 1])
            product[point] *= value
        scratch[1, place], scratch[2, place] = narrow, inside


# -- panels, for very different deviations ---------------------------------------------------------


@inline
def _add_by_panels(
    normals: Normals,
    means: np.ndarray,
    deviations: np.ndarray,
    n_rivals: int,
    floor: float,
    roof: float,
    weight: float,
    scratch: np.ndarray,
    shares: np.ndarray,
) -> None:
    """The same integral on panels that are as short as the narrowest rival there needs."""
    rivals, won, values = scratch[0], scratch[1], scratch[2]
    _share_floor(normals, means, deviations, rivals, n_rivals, floor, won)
    longest = _PANEL / (1.0 + _NARROWER * math.log(n_rivals))
    left = floor
    while left < roof:
        end = _panel_end(normals.reach, means, deviations, rivals, n_rivals, left, longest)
        right = min(roof, end)
        half = 0.5 * (right - left)
        for node in range(_NODES.size):
            x = left + half * (1.0 + _NODES[node])
            product = 1.0
            for place in range(n_rivals):
                values[place] = _read(normals, x, means, deviations, int(rivals[place]), 0)
                product *= values[place]
            if product > 0.0:
                for place in range(n_rivals):
                    height = _read(normals, x, means, deviations, int(rivals[place]), 1)
                    won[place] += half * _WEIGHTS[node] * height * product / values[place]
        left = right
    total = 0.0
    for place in range(n_rivals):
        total += won[place]
    for place in range(n_rivals):
        shares[int(rivals[place])] += weight * won[place] / total


@inline
def _read(
    normals: Normals, x: float, means: np.ndarray, deviations: np.ndarray, draw: int, column: int
) -> float:
    """Distribution function (column 0) or density (column 1) of a draw at x."""
    if deviations[draw] == 0.0:
        return 1.0 - column  # a certain draw lies at the floor or below
    position = ((x - means[draw]) / deviations[draw] + normals.end) * normals.steps
    if position < 0.0:
        return 0.0
    if position >= normals.table.shape[0] - 2:
        return 1.0 - column
    row = int(position)
    value = normals.table[row, column]
    value += (position - row) * (normals.table[row + 1, column] - value)
    return float(value if column == 0 else value / deviations[draw])


@inline
def _panel_end(
    reach: float,
    means: np.ndarray,
    deviations: np.ndarray,
    rivals: np.ndarray,
    n_rivals: int,
    left: float,
    longest: float,
) -> float:
    """The end of the panel that begins at ``left``, in which no rival varies too much."""
    end = math.inf
    for place in range(n_rivals):
        mean, deviation = means[int(rivals[place])], deviations[int(rivals[place])]
        begin = mean - reach * deviation
        if left < begin:
            end = min(end, begin)
        elif left < mean + reach * deviation:
            end = min(end, left + longest * deviation)
    # Far from 0 a short panel can be lost in rounding.
    return end if end > left else float(np.nextafter(left, math.inf))


@inline
def _share_floor(
    normals: Normals,
    means: np.ndarray,
    deviations: np.ndarray,
    rivals: np.ndarray,
    n_rivals: int,
    floor: float,
    won: np.ndarray,
) -> None:
    """Begin with what certain draws win: those of deviation 0 lie at the floor, and share it."""
    mass, certain = 1.0, 0
    for place in range(n_rivals):
        draw = int(rivals[place])
        if deviations[draw] == 0.0:
            certain += 1
        else:
            mass *= _read(normals, floor, means, deviations, draw, 0)
    for place in range(n_rivals):
        won[place] = mass / certain if deviations[int(rivals[place])] == 0.0 else 0.0
