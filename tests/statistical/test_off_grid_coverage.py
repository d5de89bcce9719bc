"""A true θ between the points of a coarse grid: its sound cell stays plausible, as proved.

Pr(the cell of θ* not plausible after t rewards) <= 2 K t^(1 - alpha), as for known bounds; a grid
of points breaks it. One-sided exact binomial tests with error rate 1e-4 each, seeds fixed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.structure import PiecewiseLinear
from tests.statistical.agreement import share_exceeds
from tests.statistical.ruled_out import proved, times_ruled_out

MOMENTS = (10, 30, 100, 300)
ALPHA = 3.0
SIGMA = 0.5
RUNS = 400
CURVES = {
    "a": [(0, 3), (3, 3), (6, 6.5)],
    "b": [(0, 6), (1, 4.5), (2.5, 2.5), (6, 2)],
    "c": [(0, 3), (1, 4.5), (2.5, 3), (6, 1.5)],
}


def from_pieces(sound: bool) -> sb.Structure:
    return sb.Structure.from_breakpoints(CURVES, sigma=SIGMA, points=7, sound=sound)


def from_functions(sound: bool) -> sb.Structure:
    """The same functions, known only by their steepest slopes."""
    functions = {arm: PiecewiseLinear(pairs) for arm, pairs in CURVES.items()}
    return sb.Structure.from_functions(
        functions,
        sb.Interval(0, 6, points=7),
        sigma=SIGMA,
        lipschitz=[3.5 / 3, 1.5, 1.5] if sound else None,
    )


def count_over_runs(structure: sb.Structure, theta: float, seed: int) -> list[int]:
    """In how many runs of UCB-C the grid point nearest to θ is ruled out, at each moment."""
    return times_ruled_out(
        sb.Competitive(sb.UCB(alpha=ALPHA), alpha=ALPHA),
        structure,
        {arm: PiecewiseLinear(pairs)(theta) for arm, pairs in CURVES.items()},
        structure.parameters.nearest(theta),
        np.random.default_rng(seed).normal(0.0, SIGMA, (RUNS, MOMENTS[-1])).tolist(),
        MOMENTS,
    )


def breaks_the_bound(counts: list[int]) -> bool:
    bounds = proved(len(CURVES), ALPHA, MOMENTS)
    return any(share_exceeds(n, RUNS, bound) for n, bound in zip(counts, bounds, strict=True))


@pytest.mark.parametrize("make", [from_pieces, from_functions])
@pytest.mark.parametrize("theta", [0.45, 1.6, 3.45, 5.55])
def test_a_sound_cell_keeps_the_truth_and_a_point_loses_it(
    make: Callable[..., sb.Structure], theta: float
) -> None:
    sound, points = make(sound=True), make(sound=False)
    assert theta not in list(points.parameters)
    assert not breaks_the_bound(count_over_runs(sound, theta, seed=41))
    assert breaks_the_bound(count_over_runs(points, theta, seed=42))
