"""How often each of several normal draws is the largest, quickly: within a thousandth.

This room knows normal distributions. It must not know where means and deviations come from. The
precise version is in ``structured/hierarchical_shares.py``; this one serves where shares are needed
many times a second, and where the choice is drawn from exactly the shares that it gives.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from structuredbandits._compiled import inline

# Beyond so many deviations a normal has 3e-4 of its mass on a side; a draw that lies so far below
# the leader wins as rarely.
_REACH = 3.4
# A table that stays in the nearest cache: linear between its rows is right to 2e-6.
_STEPS, _END = 128, 4.0
# The trapezoidal rule with this step, in deviations of the narrowest rival, is right to 3e-4; the
# product of many distribution functions is narrower than each.
_STEP, _NARROWER = 1.1, 0.3
_MOST_POINTS = 600
#: Columns that the workspace of `add_largest` needs.
WORK_COLUMNS = _MOST_POINTS + 2


@cache
def normal_table() -> np.ndarray:
    """Distribution function and density of the standard normal: (places, 2)."""
    from scipy.special import ndtr

    places = np.arange(-round(_END * _STEPS), round(_END * _STEPS) + 2) / _STEPS
    density = np.exp(-0.5 * places**2) / math.sqrt(2.0 * math.pi)
    return np.ascontiguousarray(np.stack([ndtr(places), density], axis=1))


@inline
def add_largest(
    table: np.ndarray,
    means: np.ndarray,
    deviations: np.ndarray,
    n_draws: int,
    weight: float,
    scratch: np.ndarray,
    work: np.ndarray,
    shares: np.ndarray,
) -> None:
    """Add ``weight`` times the probability that each draw is the largest to ``shares``: (draws,).

    ``scratch`` is (3, draws) at least, ``work`` (2 draws + 1, `WORK_COLUMNS`). Deviations may be
    0, and exact ties are shared.
    """
    floor, leader = -math.inf, 0
    for draw in range(n_draws):
        floor = max(floor, means[draw] - _REACH * deviations[draw])
        if means[draw] > means[leader]:
            leader = draw
    rivals, roof, narrowest, n_rivals = scratch[0], -math.inf, math.inf, 0
    for draw in range(n_draws):
        gap, spread = means[leader] - means[draw], deviations[draw]
        reachable = gap * gap <= _REACH * _REACH * (spread * spread + deviations[leader] ** 2)
        if reachable and means[draw] + _REACH * spread >= floor:
            rivals[n_rivals] = draw
            roof = max(roof, means[draw] + _REACH * spread)
            narrowest = min(narrowest, spread)
            n_rivals += 1
    if n_rivals == 1 or roof <= floor:  # nothing is left to chance but the order of ties
        for place in range(n_rivals):
            shares[int(rivals[place])] += weight / n_rivals
        return
    finest = _STEP / (1.0 + _NARROWER * math.log(n_rivals)) * narrowest
    step = max(finest, (roof - floor) / _MOST_POINTS)
    n_points = min(int((roof - floor) / step) + 1, _MOST_POINTS + 1)
    _multiply(table, means, deviations, rivals, n_rivals, floor, step, n_points, scratch, work)
    won, total = scratch[1], 0.0
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
    table: np.ndarray,
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

    Point by point inside, so that the processor does several at once. Row 1 of ``scratch`` gets
    what makes a height a density, row 2 how many points lie below the rival's end.
    """
    product = work[0]
    for point in range(n_points):
        product[point] = 1.0
    for place in range(n_rivals):
        draw = int(rivals[place])
        # A narrower normal than the grid resolves is drawn as wide as a step: the error is of
        # second order.
        narrow = 1.0 / max(deviations[draw], step)
        begin = ((floor + 0.5 * step - means[draw]) * narrow + _END) * _STEPS
        by = step * narrow * _STEPS
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
