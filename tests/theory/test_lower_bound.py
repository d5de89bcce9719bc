"""The lower bound: against the whole program, against fine grids, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structuredbandits.problems import load_structure
from structuredbandits.structure import Box, Finite, Interval, Structure
from structuredbandits.theory import analyze, lower_bound
from tests.theory import plain_definitions as plain
from tests.theory.test_competitive_arms import curves, tables


@given(tables().filter(lambda structure: structure.exact))
def test_it_is_the_value_of_the_whole_program(structure: Structure) -> None:
    table = analyze(structure)
    values = table.lower_bounds()
    for i in range(structure.n_parameters):
        found = lower_bound(structure, i)
        assert found.value == pytest.approx(plain.least_regret(structure, i), rel=1e-6)
        assert found.value == pytest.approx(values[i])
        assert (found.value > 0) == (table.C_tilde[i] > 1)


@given(tables().filter(lambda structure: structure.exact))
def test_the_rates_tell_every_rival_from_the_truth(structure: Structure) -> None:
    for i in range(structure.n_parameters):
        rates = lower_bound(structure, i).rates
        assert (rates >= 0).all()
        assert not rates[plain.best_arms(structure, i)].any()
        for j in plain.rivals(structure, i):
            gap = structure.means[i] - structure.means[j]
            information = rates @ (np.square(gap) / (2 * np.square(structure.sigma)))
            assert information >= 1 - 1e-6


def test_two_arms_by_hand() -> None:
    # θ = 3.25 on the flat part: arm 2 is 0.25 worse and equals arm 1 just below 3.
    found = lower_bound(load_structure("two-arms"), 3.25)
    assert found.value == pytest.approx(2 * 4 / 0.25)
    assert found.rates == pytest.approx([0, 2 * 4 / 0.25**2])


def test_an_arm_that_is_never_the_best_may_be_the_cheapest_to_learn_from() -> None:
    report = analyze(load_structure("informative"), 3.1)
    assert report.exploration_rates["3"] == pytest.approx(2 * 4 / 3**2)
    assert report.exploration_rates["1"] == 0
    assert report.lower_bound == pytest.approx(report.gaps["3"] * 8 / 9)


@given(curves(), st.integers(0, 16))
def test_curves_need_at_least_what_their_grid_points_need(
    structure: Structure, quarter: int
) -> None:
    theta = quarter / 4
    found = lower_bound(structure, theta)
    assert structure.pieces is not None
    grid = np.arange(0, 4 + 1 / 64, 1 / 32).clip(max=4)
    rows = np.stack([piece(grid) for piece in structure.pieces], axis=1)
    twin = Structure.from_table(rows, sigma=1.0, minimize=structure.minimize)
    assert found.value >= lower_bound(twin, 8 * quarter).value * (1 - 1e-6)
    assert (found.value > 0) == (not analyze(structure, theta).bounded_regret_possible)


def test_a_flat_part_is_looked_at_between_its_ends() -> None:
    """Along it one arm rises and one falls, so the hardest rival lies in the middle."""
    arms = {
        "best": [(0, 1.0), (1, 1.0), (1, 2.0), (2, 2.0)],
        "rival": [(0, 3.0), (1, 3.0), (1, 0.0), (2, 0.0)],
        "up": [(0, 0.0), (1, 1.0), (1, 0.5), (2, 0.5)],
        "down": [(0, 1.0), (1, 0.0), (1, 0.5), (2, 0.5)],
    }
    flat = {**arms, "best": [(0, 2.0), (2, 2.0)], "rival": [(0, 3.0), (1, 3.0), (1, 0), (2, 0)]}
    structure = Structure.from_breakpoints(flat, sigma=[1.0, 100.0, 0.1, 0.1])
    found = lower_bound(structure, 1.5)
    fine = np.linspace(0, 1, 2001)[:-1]
    rows = np.stack([2 + 0 * fine, 3 + 0 * fine, fine, 1 - fine], axis=1)
    twin = Structure.from_table(
        np.concatenate([[structure.means_at(1.5)], rows]), sigma=structure.sigma
    )
    assert found.value == pytest.approx(lower_bound(twin, 0).value, rel=1e-3)
    # At the middle of the flat part both arms look as they do at θ, so only the rival helps.
    assert found.value == pytest.approx(2 * 2 * 100**2 / 3**2, rel=1e-6)


@pytest.mark.parametrize(
    ("theta", "value"), [((0.5, 0.5), 16.0), ((0.9, 0.9), 0.0), ((0.123, 0.456), 76.190476)]
)
def test_linear_arms(theta: tuple[float, float], value: float) -> None:
    structure = load_structure("linear")
    found = lower_bound(structure, theta)
    assert found.value == pytest.approx(value, rel=1e-6, abs=1e-12)
    # Rivals of linear arms lie on a line; many points of it need no more.
    features = np.asarray(structure.features)
    best = int(np.argmax(features @ theta))
    along = np.array([-features[best][1], features[best][0]])
    points = np.array(theta) + np.linspace(-1, 1, 40_001)[:, None] * along
    points = points[(np.abs(points) <= 1).all(axis=1)]
    rows = np.concatenate([[features @ theta], points @ features.T])
    twin = lower_bound(Structure.from_table(rows, sigma=2.0), 0)
    assert twin.value <= value * (1 + 1e-6)
    assert twin.value == pytest.approx(value, rel=0.01, abs=1e-9)


def test_a_logistic_link_counts_in_means() -> None:
    features = {"a": [2.0, 1.0], "b": [1.0, 1.5], "c": [3.0, -1.0]}
    box = Box([(-1, 1), (-1, 1)], points=21)
    structure = Structure.linear(features, box, sigma=0.5, link="logistic")
    found = lower_bound(structure, (0.5, 0.5))
    along = np.linspace(-0.25, 1, 4001)
    points = np.stack([along, 1.5 - 2 * along], axis=1)
    points = points[(np.abs(points) <= 1).all(axis=1)]
    rows = 1 / (
        1 + np.exp(-np.concatenate([[[0.5, 0.5]], points]) @ np.array(list(features.values())).T)
    )
    twin = lower_bound(Structure.from_table(rows, sigma=0.5), 0)
    assert found.value == pytest.approx(twin.value, rel=0.01)


def test_where_arms_tie_all_of_them_tell_of_theta() -> None:
    two = load_structure("two-arms")
    assert lower_bound(two, 3).value == 0  # both arms are the best: nothing to lose
    three = load_structure("three-arms")
    report = analyze(three, 2.5)
    assert report.optimal_arms == ("1", "3")
    # Arms 1 and 3 have the same means at θ = 0, where arm 2 is the best: 6 instead of 2.5.
    assert report.exploration_rates["2"] == pytest.approx(8 / 3.5**2)
    assert (report.C, report.C_tilde) == (3, 2)


def test_bounds_let_the_truth_be_anywhere_between_them() -> None:
    lower = [[1.0, 0.0], [0.9, 0.5]]
    upper = [[1.0, 0.0], [1.1, 2.0]]
    structure = Structure.from_bounds(lower, upper, sigma=1.0)
    # The nearest truth that makes arm 2 the best at the second θ gives it a mean of 1.
    assert lower_bound(structure, 0).value == pytest.approx(2.0)
    exact = Structure.from_table([[1.0, 0.0], [1.0, 2.0]], sigma=1.0)
    assert lower_bound(exact, 0).value == pytest.approx(0.5)


@given(tables())
def test_vaguer_knowledge_never_needs_less_exploration(structure: Structure) -> None:
    exact = Structure.from_table(
        structure.means, sigma=structure.sigma, minimize=structure.minimize
    )
    for i in range(structure.n_parameters):
        vague = lower_bound(structure, i).value
        assert vague >= lower_bound(exact, i).value * (1 - 1e-6)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_do_not_matter(unit: float) -> None:
    table = [[1.0, 0.2, 0.4], [1.0, 1.5, 0.3], [1.0, 0.1, 1.1]]
    small = Structure.from_table(np.array(table) * unit, sigma=0.3 * unit)
    plain_units = Structure.from_table(table, sigma=0.3)
    assert lower_bound(small, 0).value == pytest.approx(unit * lower_bound(plain_units, 0).value)
    box = Structure.linear(
        {"a": [2 * unit, unit], "b": [unit, 1.5 * unit], "c": [3 * unit, -unit]},
        Box([(-1, 1), (-1, 1)], points=5),
        sigma=2 * unit,
    )
    assert lower_bound(box, (0.5, 0.5)).value == pytest.approx(16 * unit, rel=1e-5)


def test_a_table_on_an_interval_is_taken_as_straight_between_its_points() -> None:
    flat = Structure.from_table(
        [[1.0, 2.0], [1.0, 0.0]], Interval(0, 1, points=2), ["flat", "falling"], sigma=1.0
    )
    report = analyze(flat, 0.75)
    assert report.optimal_arm == "flat"
    assert report.C_tilde == 2
    assert report.lower_bound == pytest.approx(2 / 0.5)
    grid = Structure.from_table([[1.0, 2.0], [1.0, 0.0]], Finite([0.0, 1.0]), sigma=1.0)
    assert analyze(grid, 1.0).lower_bound == pytest.approx(1 / 2)


def kl(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The divergence of Bernoulli rewards, for rates within (0, 1)."""
    return np.asarray(p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q)))


@pytest.mark.parametrize("minimize", [False, True])
def test_clicks_have_their_own_divergence(minimize: bool) -> None:
    """The best arm pays 0.5 everywhere; of each rival only one arm tells, which by hand is easy."""
    prizes = np.array([1.0, 10.0, 2.0])
    rates = np.array([[0.5, 0.02, 0.1], [0.5, 0.06, 0.1], [0.5, 0.02, 0.4]])
    if minimize:
        rates = 1 - rates
        rates[:, 0] = 0.5
        prizes = np.array([19.0, 10.0, 18.0])
        rates = rates * 0.9
    structure = Structure.from_table(
        prizes * rates, rewards="bernoulli", prize=prizes, minimize=minimize
    )
    found = lower_bound(structure, 0)
    gains = structure.sign * structure.means
    gaps = gains[0].max() - gains[0]
    worse = np.flatnonzero(gaps > 0)
    expected = np.zeros(3)
    for rival in (1, 2):
        if gains[rival].max() > gains[0].max():
            expected[rival] = 1 / kl(rates[0, rival], rates[rival, rival])
    assert expected.any()
    np.testing.assert_allclose(found.rates[worse], expected[worse], rtol=1e-6)
    assert found.value == pytest.approx(gaps @ expected, rel=1e-6)


def test_the_lower_bound_of_clicks_between_grid_points_and_on_a_box() -> None:
    """As that of a fine table, for straight lines and for linear arms."""
    lines = {"a": [(0, 0.3), (4, 0.3)], "b": [(0, 0.05), (4, 0.45)], "c": [(0, 0.4), (4, 0.02)]}
    curved = Structure.from_breakpoints(lines, rewards="bernoulli", points=9)
    fine = np.linspace(0, 4, 4001)
    rows = np.stack([np.interp(fine, *np.transpose(line)) for line in lines.values()], axis=1)
    twin = Structure.from_table(rows, rewards="bernoulli")
    assert lower_bound(curved, 2).value == pytest.approx(lower_bound(twin, 2000).value, rel=1e-2)
    features = np.array([[0.4, 0.1], [0.1, 0.4], [0.3, 0.3]])
    box = Structure.linear(features, Box([(0.1, 0.9), (0.1, 0.9)], points=9), rewards="bernoulli")
    theta = np.array([0.6, 0.4])
    best = int((features @ theta).argmax())
    along = np.array([-features[best][1], features[best][0]])
    points = theta + np.linspace(-3, 3, 40_001)[:, None] * along
    points = points[((points >= 0.1) & (points <= 0.9)).all(axis=1)]
    rows = np.concatenate([[features @ theta], points @ features.T])
    twin = Structure.from_table(rows, rewards="bernoulli")
    found = lower_bound(box, tuple(theta))
    assert found.value > 0
    assert found.value == pytest.approx(lower_bound(twin, 0).value, rel=1e-2)


def test_bounded_rewards_count_with_their_deviation() -> None:
    means = [[2.0, 1.5], [2.0, 3.0]]
    known = Structure.from_table(means, rewards="bounded", limits=(1, 5), noise=0.5)
    assert lower_bound(known, 0).rates[1] == pytest.approx(2 * 0.5**2 / 1.5**2)
