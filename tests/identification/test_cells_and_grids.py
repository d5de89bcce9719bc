"""Identification between grid points: sound cells keep the promise, a coarse grid makes none."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.confidence.evidence import new_block
from structuredbandits.identification._cell_rules import best_cell_weights, cells_of
from structuredbandits.identification._identify import _make_rule, _scratch
from structuredbandits.identification._search_loop import look, note
from tests.statistical.agreement import share_exceeds

DELTA = 0.05
# Two lines that cross at 1.45, between the grid points 1 and 1.5.
LINES = {"rising": [(0, 1.55), (6, 7.55)], "falling": [(0, 4.45), (6, -1.55)]}


def two_lines(points: int, sound: bool) -> sb.Structure:
    return sb.Structure.from_breakpoints(LINES, sigma=0.3, points=points, sound=sound)


def test_a_coarse_grid_certifies_nothing_between_its_points() -> None:
    """θ = 1.41, 13 points: 97 % of the answers are wrong, since 1.5 has another best arm.

    1,000 runs, seed 3; if at most delta were certified wrongly, this would fail with rate 1e-4.
    """
    with pytest.warns(sb.StructureWarning, match="too coarse for this search in .* of 1,000 runs"):
        found = sb.identify(two_lines(13, sound=False), 1.41, delta=DELTA, runs=1000, seed=3)
    assert found.correct is not None
    assert found.correct.mean() < 0.5
    assert not share_exceeds(int((found.finished & ~found.correct).sum()), 1000, DELTA)


def test_a_real_search_is_warned_about_a_coarse_grid() -> None:
    structure = two_lines(13, sound=False)
    truth = dict(zip(structure.arms, structure.means_at(1.41), strict=True))
    with pytest.warns(sb.StructureWarning, match=r"too coarse for this search around θ = 1\.25"):
        found = sb.identify(structure, rewards=lambda arm: truth[arm], delta=DELTA)
    assert found.confidence.tolist() == [0.0]
    assert not found.finished.any()


def test_a_fine_grid_is_not_warned_about() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sb.identify(two_lines(601, sound=False), 1.2, delta=DELTA, runs=50, seed=1)
        jump = sb.identify("informative", 2.9, delta=DELTA, runs=5, seed=1, max_rounds=3000)
    assert found.finished.all()
    assert jump.pulls.sum() > 0  # an arm jumps at 3, next to the truth


@pytest.mark.parametrize("rule", ["track", "round-robin"])
@pytest.mark.parametrize("theta", [0.77, 1.41, 2.11])
def test_error_rate_of_sound_cells_is_at_most_delta_off_the_grid(rule: str, theta: float) -> None:
    """2,000 runs of at most 300 rewards, delta = 0.2, seed 3; fails by chance with rate 1e-4."""
    sound = two_lines(13, sound=True)
    found = sb.identify(sound, theta, rule=rule, delta=0.2, runs=2000, seed=3, max_rounds=300)
    assert found.correct is not None
    assert not share_exceeds(int((found.finished & ~found.correct).sum()), 2000, 0.2)
    if theta != 1.41:  # whose cell has no arm that is best all over it
        assert found.finished.mean() > 0.95


def test_the_error_rate_test_of_cells_can_fail() -> None:
    """Noise ten times as large as sigma says breaks the promise, and it shows; seed 3."""
    sound = two_lines(13, sound=True)
    louder = sb.Gaussian(sound, sigma=3.0)
    found = sb.identify(sound, 0.9, delta=0.2, runs=2000, seed=3, environment=louder)
    assert found.correct is not None
    assert share_exceeds(int((found.finished & ~found.correct).sum()), 2000, 0.2)


def test_cells_that_are_large_against_the_noise_still_come_to_an_end() -> None:
    """The middle of the cell fits ever worse, but the cells of the other arm fit even worse."""
    curves = {"a": [(0, 0), (6, 6)], "b": [(0, 2.1), (6, 2.1)]}
    sound = sb.Structure.from_breakpoints(curves, sigma=0.05, points=7, sound=True)
    found = sb.identify(sound, 3.4, delta=DELTA, runs=100, seed=2, max_rounds=2000)
    assert found.finished.all()
    assert found.error_rate == 0.0


@pytest.mark.parametrize("minimize", [False, True])
def test_verdicts_on_cells_are_those_of_the_plain_formulas(minimize: bool) -> None:
    structure = two_lines(13, sound=True).with_(minimize=minimize)
    sign = structure.sign
    low = structure.lower if not minimize else -structure.upper
    high = structure.upper if not minimize else -structure.lower
    generator = np.random.default_rng(8)
    rule, floats = _make_rule("track", structure, 0.1), _scratch(structure)
    block = new_block(structure.sigma)
    counts, sums, sigma = np.zeros(2), np.zeros(2), 0.3
    for t in range(40):
        verdict = look(rule, floats, block, t)
        means = np.divide(sums, counts, out=np.zeros(2), where=counts > 0)
        misfit = {
            "middle": (counts * (means - (low + high) / 2) ** 2).sum(axis=1) / (2 * sigma**2),
            "bounds": (counts * (means - np.clip(means, low, high)) ** 2).sum(axis=1)
            / (2 * sigma**2),
        }
        centre, spread = (low.min(axis=0) + high.max(axis=0)) / 2, np.ptp([low, high], (0, 1)) / 2
        variance = 1 / np.maximum(counts, 1e-300) * sigma**2 + spread**2
        # The density of the empirical means under each mixture, against their own maximum.
        wide = np.where(
            counts > 0,
            np.exp(-((means - centre) ** 2) / (2 * variance))
            / np.sqrt(1 + counts * spread**2 / sigma**2),
            1.0,
        ).prod()
        mixture = 0.5 * np.exp(-misfit["middle"]).mean() + 0.5 * wide
        gaps = []
        for arm in (0, 1):
            certain = low[:, arm] >= high[:, 1 - arm] - structure.tolerance
            gaps.append(misfit["bounds"][~certain].min())
        assert verdict.log_doubt == pytest.approx(-math.log(mixture) - max(gaps), abs=1e-9)
        if gaps[0] != gaps[1]:
            assert verdict.answer == int(np.argmax(gaps))
        estimate = int(misfit["middle"].argmin())
        lag = (t + 1) * best_cell_weights(structure, estimate) - counts
        assert verdict.pull == int(lag.argmax())
        arm = int(generator.integers(2))
        reward = sign * structure.means_at(0.8)[arm] + sigma * generator.standard_normal()
        counts[arm] += 1
        sums[arm] += reward
        note(block, arm, reward)


def test_known_bounds_of_a_finite_set_work_as_cells_do() -> None:
    known = sb.Structure.from_bounds(
        [[0.0, 1.0], [1.0, 0.0]], [[0.2, 1.3], [1.4, 0.3]], sigma=0.5, arms=["a", "b"]
    )
    assert cells_of(known).certain.tolist() == [[False, True], [True, False]]
    for rule in ("track", "round-robin"):
        found = sb.identify(known, 0, rule=rule, runs=200, delta=DELTA, seed=1)
        assert found.finished.all()
        assert not share_exceeds(round(200 * found.error_rate), 200, DELTA)


def test_bounds_that_overlap_everywhere_are_refused() -> None:
    vague = sb.Structure.from_bounds([[0.0, 0.4]], [[0.5, 1.0]], sigma=1.0)
    for rule in ("track", "round-robin"):
        with pytest.raises(sb.InvalidPolicy, match="overlap at every θ"):
            sb.identify(vague, 0, rule=rule)
