"""A true θ between grid points: regret is measured there, and a too coarse grid gives a warning."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.errors import StructureWarning

# -- regret ----------------------------------------------------------------------------------------

# At the nearest grid point, 4, the arms are worth 3, 4 and 2: other gaps, for costs, too.
TRUTH = 4.3
MEANS = np.array([3.0, 4.3, 2.3])


def curves(**options: bool) -> sb.Structure:
    return sb.Structure.from_breakpoints(
        {
            "flat": [(0, 3), (6, 3)],
            "rising": [(0, 0), (6, 6)],
            "bent": [(0, 3), (3, 3), (4, 2), (6, 4)],
        },
        sigma=1.0,
        points=3,
        sound=True,
        **options,
    )


@pytest.mark.parametrize("minimize", [False, True], ids=["rewards", "costs"])
def test_regret_is_measured_at_the_true_theta(minimize: bool) -> None:
    gaps = MEANS - MEANS.min() if minimize else MEANS.max() - MEANS
    found = sb.simulate(
        curves(minimize=minimize), ["ucb", "ucb-c"], TRUTH, horizon=400, runs=5, seed=3
    )
    assert (found.pulls > 0).any(axis=(0, 1, 2)).sum() >= 2
    np.testing.assert_allclose(found.regret[..., -1], found.pulls @ gaps, rtol=1e-12)


def test_rewards_come_from_the_true_theta() -> None:
    structure = curves()
    world = sb.Gaussian(structure, sigma=0.0)
    found = sb.simulate(structure, "ucb", TRUTH, horizon=50, runs=1, environment=world)
    np.testing.assert_allclose(found.reward[..., -1], found.pulls @ MEANS, rtol=1e-12)


# -- the warning -----------------------------------------------------------------------------------

HORIZON = 2_000
SIGMA = (0.5, 2.0)


def coarse(sound: bool = False) -> sb.Structure:
    """The first arm shows a distance in θ four times as clearly as the second."""
    return sb.Structure.from_breakpoints(
        {"a": [(0, 0), (6, 6)], "b": [(0, 6), (6, 0)]}, sigma=SIGMA, points=7, sound=sound
    )


def tolerated(alpha: float) -> float:
    """Half the radius of the more telling arm after all rounds: so far θ may be from the grid."""
    return 0.5 * SIGMA[0] * math.sqrt(2 * alpha * math.log(HORIZON) / HORIZON)


def is_warned(distance: float, *policies: str, sound: bool = False) -> bool:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StructureWarning)
        sb.simulate(coarse(sound), list(policies), 2 + distance, horizon=HORIZON, runs=1)
    assert len(caught) <= 1
    return any("the grid over Θ is too coarse" in str(found.message) for found in caught)


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize(
    ("policies", "alpha"),
    [
        (("ucb-c(alpha=2)",), 2.0),
        (("ucb-c(alpha=4)",), 4.0),
        (("ucb-s(alpha=2)",), 2.0),
        (("ucb-c(alpha=4)", "ucb-s(alpha=2)"), 2.0),
    ],
    ids=["alpha 2", "alpha 4", "ucb-s", "the smallest alpha"],
)
def test_the_warning_begins_at_half_the_radius(
    policies: tuple[str, ...], alpha: float, side: int
) -> None:
    edge = tolerated(alpha)
    assert edge < 0.25  # well before the middle between two grid points
    assert not is_warned(side * 0.98 * edge, *policies)
    assert is_warned(side * 1.02 * edge, *policies)


def test_no_warning_where_nothing_can_be_ruled_out() -> None:
    far = 2 * tolerated(2.0)
    assert is_warned(far, "ucb-c(alpha=2)")
    assert not is_warned(far, "ucb-c(alpha=2)", sound=True)
    assert not is_warned(far, "ucb(alpha=2)")
