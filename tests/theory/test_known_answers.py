"""The answers that the published text and captions state."""

import numpy as np
import pytest

from structuredbandits.problems import load_structure
from structuredbandits.structure import Box, Interval, Structure
from structuredbandits.theory import C_epsilon, analyze


def test_the_introductory_example() -> None:
    report = analyze(load_structure("setup"), 3)
    assert report.optimal_arm == "2"
    assert report.competitive_arms == ("1", "2")
    assert report.C == 2
    assert report.epsilon["3"] == pytest.approx(1.5, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0])
def test_what_looks_like_the_introductory_theta_is_a_slightly_wider_interval(
    epsilon: float,
) -> None:
    structure = load_structure("setup")
    theta = structure.parameters.points[:, 0]
    inside = np.abs(structure.means[:, 1] - structure.means_at(3)[1]) < epsilon
    width = 2 * epsilon / 3
    expected = (theta > 2 - width) & (theta < 4 + width)
    at_an_end = np.isclose(theta, 2 - width) | np.isclose(theta, 4 + width)
    assert (inside == expected)[~at_an_end].all()


@pytest.mark.parametrize(
    ("name", "theta", "best", "C", "C_tilde"),
    [
        ("setup", 1.0, "1", 1, 1),
        ("setup", 3.0, "2", 2, 1),
        ("setup", 4.5, "2", 1, 1),
        ("setup", 5.5, "3", 1, 1),
        ("three-arms", 0.5, "2", 1, 1),
        ("three-arms", 1.5, "3", 2, 2),
        ("three-arms", 2.6, "1", 3, 3),
        ("three-arms", 3.5, "1", 1, 1),
        ("two-arms", 2.75, "2", 1, 1),
        ("two-arms", 3.25, "1", 2, 2),
        ("two-arms", 5.5, "1", 1, 1),
        ("corner", 3.0, "1", 2, 1),
        ("corner", 1.0, "1", 1, 1),
        ("informative", 3.1, "2", 2, 2),
        ("linear", (0.9, 0.9), "1", 1, 1),
        ("linear", (0.5, 0.5), "1", 3, 3),
        ("plane", (0.9, 0.2), "1", 1, 1),
        ("plane", (-0.2, 0.1), "3", 3, 3),
    ],
)
def test_the_figures(name: str, theta: object, best: str, C: int, C_tilde: int) -> None:
    report = analyze(load_structure(name), theta)
    assert report.exact
    assert (report.optimal_arm, report.unique) == (best, True)
    assert (report.C, report.C_tilde) == (C, C_tilde)
    assert (report.lower_bound > 0) == (C_tilde > 1)
    assert report.bounded_regret_possible == (C_tilde == 1)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("setup", [(0, 2, "1", 1), (2, 4, "2", 2), (4, 5, "2", 1), (5, 6, "3", 1)]),
        ("three-arms", [(0, 1, "2", 1), (1, 2.5, "3", 2), (2.5, 3, "1", 3), (3, 6, "1", 1)]),
        ("two-arms", [(0, 3, "2", 1), (3, 5, "1", 2), (5, 6, "1", 1)]),
        ("corner", [(0, 2, "1", 1), (2, 4, "1", 2), (4, 6, "2", 1)]),
    ],
)
def test_the_regions_of_the_figures_have_exact_ends(
    name: str, expected: list[tuple[float, float, str, int]]
) -> None:
    for points in (601, 8):  # a coarse grid changes nothing: ends are computed, not searched
        regions = analyze(load_structure(name, points=points)).regions
        assert [(r.arms, r.C) for r in regions] == [((arm,), C) for _, _, arm, C in expected]
        ends = [(r.low, r.high) for r in regions]
        assert np.array(ends) == pytest.approx(np.array([e[:2] for e in expected]), abs=1e-12)


def test_the_informative_arm_is_never_the_best() -> None:
    table = analyze(load_structure("informative"))
    assert np.isinf(table.epsilon[:, 2]).all()
    assert not table.competitive[:, 2].any()


def test_plane_is_recognised_off_the_grid_too() -> None:
    structure = load_structure("plane", points=7)
    assert not np.isin(0.9, structure.parameters.axes[0])
    assert analyze(structure, (0.9, 0.2)).C == 1
    assert analyze(structure, (-0.2, 0.1)).C == 3
    assert analyze(structure, (0.9, 0.2)).epsilon["3"] == pytest.approx(0.1)


@pytest.mark.parametrize("arms", [2, 3, 4])
@pytest.mark.parametrize("by_functions", [False, True])
def test_a_classical_bandit_has_all_arms_competitive(arms: int, by_functions: bool) -> None:
    box = Box([(0, 1)] * arms, points=5)
    if by_functions:
        functions = {str(k): lambda theta, k=k: theta[..., k] for k in range(arms)}
        structure = Structure.from_functions(functions, box, sigma=0.5)
    else:
        structure = Structure.linear(np.eye(arms), box, sigma=0.5)
    theta = tuple(np.linspace(0.9, 0.3, arms).tolist())
    report = analyze(structure, theta)
    assert report.exact
    assert (report.C, report.C_tilde) == (arms, arms)
    # Lai and Robbins: each arm must be distinguished from one as good as the best.
    gaps = 0.9 - np.array(theta[1:])
    assert report.lower_bound == pytest.approx((2 * 0.5**2 / gaps).sum(), rel=1e-5)
    rates = np.array(list(report.exploration_rates.values()))
    assert rates == pytest.approx([0, *(2 * 0.5**2 / gaps**2)], rel=1e-5)


def test_invertible_arms_leave_one_competitive_wherever_no_two_tie() -> None:
    curves = {
        "rising": lambda x: x**3 + x,
        "falling": lambda x: 3 - 2 * x,
        "slow": lambda x: 1 + np.tanh(x),
    }
    structure = Structure.from_functions(curves, Interval(-1, 2, points=301), sigma=1.0)
    table = analyze(structure)
    assert table.unique.mean() > 0.98
    assert (table.C[table.unique] == 1).all()
    assert not table.exact


def test_movielens_needs_a_radius_to_say_anything() -> None:
    structure = load_structure("movielens")
    table = analyze(structure, epsilon=[0.05, 0.1, 0.2])
    assert np.median(table.C) == 1
    means = [table.C_epsilon(radius).mean() for radius in (0.05, 0.1, 0.2)]
    assert table.C.mean() < means[0] < means[1] < means[2] < structure.n_arms
    assert table.C_epsilon(0.1)[0] == C_epsilon(structure, structure.parameters[0], 0.1)
    assert list(table.to_frame().columns[-3:]) == ["C(0.05)", "C(0.1)", "C(0.2)"]


def test_a_price_that_sells_to_all_leaves_every_higher_price_competitive() -> None:
    report = analyze(load_structure("pricing"), 62)
    assert report.optimal_arm == "40 EUR"
    assert report.competitive_arms == tuple(f"{p} EUR" for p in (40, 50, 60, 70, 80, 90))
    assert analyze(load_structure("pricing"), 49).C == 1
