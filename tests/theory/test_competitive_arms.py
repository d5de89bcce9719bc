"""Competitive arms: fast against plain, invariances, and continuous Θ against fine grids."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structuredbandits.errors import InvalidInput, InvalidParameter
from structuredbandits.structure import Box, Finite, Interval, Structure
from structuredbandits.theory import C_epsilon, analyze
from tests.theory import plain_definitions as plain

small = st.integers(0, 6).map(float)


@st.composite
def tables(draw: st.DrawFn) -> Structure:
    """Small tables with many ties, means or bounds, rewards or costs."""
    arms, rows = draw(st.integers(2, 4)), draw(st.integers(1, 7))
    lower = np.array([[draw(small) for _ in range(arms)] for _ in range(rows)])
    width = np.zeros_like(lower)
    if draw(st.booleans()):
        width = np.array([[draw(st.integers(0, 2)) for _ in range(arms)] for _ in range(rows)])
    sigma = [draw(st.sampled_from([0.5, 1.0, 2.0])) for _ in range(arms)]
    return Structure.from_bounds(lower, lower + width, sigma=sigma, minimize=draw(st.booleans()))


@given(tables())
def test_degrees_are_those_of_the_definition(structure: Structure) -> None:
    table = analyze(structure)
    for i in range(structure.n_parameters):
        expected = plain.degrees(structure, i)
        assert table.epsilon[i].tolist() == pytest.approx(expected)
        assert table.C[i] == expected.count(0.0)
        single = analyze(structure, i)
        assert list(single.epsilon.values()) == pytest.approx(expected)
        assert (single.C, single.C_tilde) == (table.C[i], table.C_tilde[i])


@given(tables().filter(lambda structure: structure.exact))
def test_c_tilde_is_that_of_the_definition(structure: Structure) -> None:
    table = analyze(structure)
    for i in range(structure.n_parameters):
        assert table.C_tilde[i] == plain.c_tilde(structure, i)


@given(tables())
def test_bounds_only_add_competitive_arms(structure: Structure) -> None:
    exact = Structure.from_table(
        structure.means, sigma=structure.sigma, minimize=structure.minimize
    )
    vague, sharp = analyze(structure), analyze(exact)
    assert (vague.C >= sharp.C).all()
    assert (vague.epsilon <= sharp.epsilon + 1e-12).all()
    one = (vague.C_tilde == 1) & vague.unique
    assert (sharp.C_tilde[one] == 1).all()


@given(tables(), st.floats(0.01, 1000), st.floats(-100, 100))
def test_other_units_change_nothing_but_epsilon(
    structure: Structure, factor: float, shift: float
) -> None:
    other = Structure.from_bounds(
        factor * structure.lower + shift,
        factor * structure.upper + shift,
        sigma=factor * structure.sigma,
        minimize=structure.minimize,
    )
    a, b = analyze(structure), analyze(other)
    assert (a.C == b.C).all()
    assert (a.C_tilde == b.C_tilde).all()
    assert b.epsilon == pytest.approx(factor * a.epsilon, abs=1e-6 * factor)


@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_the_arms_does_not_matter(structure: Structure, random: object) -> None:
    order = list(range(structure.n_arms))
    random.shuffle(order)  # type: ignore[attr-defined]
    a, b = analyze(structure), analyze(structure.with_(arms=order))
    assert (a.C == b.C).all()
    assert (a.C_tilde == b.C_tilde).all()
    assert (a.epsilon[:, order] == b.epsilon).all()


@given(tables())
def test_costs_are_rewards_with_a_minus_sign(structure: Structure) -> None:
    mirrored = Structure.from_bounds(
        -structure.upper,
        -structure.lower,
        sigma=structure.sigma,
        minimize=not structure.minimize,
    )
    a, b = analyze(structure), analyze(mirrored)
    assert (a.epsilon == b.epsilon).all()
    assert (a.gaps == b.gaps).all()
    assert (a.C_tilde == b.C_tilde).all()


@given(tables(), st.floats(0.1, 7))
def test_c_epsilon_counts_the_arms_within_a_radius(structure: Structure, radius: float) -> None:
    counts = analyze(structure).C_epsilon(radius)
    for i in range(structure.n_parameters):
        expected = sum(e < radius - structure.tolerance for e in plain.degrees(structure, i))
        assert counts[i] == expected == C_epsilon(structure, i, radius)


@st.composite
def curves(draw: st.DrawFn) -> Structure:
    """Piecewise-linear arms on [0, 4] with whole numbers for breakpoints, some with jumps."""
    arms: dict[str, list[tuple[float, float]]] = {}
    for k in range(draw(st.integers(2, 4))):
        points = [(0.0, draw(small))]
        for theta in (1.0, 2.0, 3.0):
            points.append((theta, draw(small)))
            if draw(st.integers(0, 3)) == 0:
                points.append((theta, draw(small)))
        arms[str(k)] = [*points, (4.0, draw(small))]
    return Structure.from_breakpoints(arms, sigma=1.0, points=5, minimize=draw(st.booleans()))


@given(curves(), st.integers(0, 16))
def test_curves_agree_with_a_fine_grid(structure: Structure, quarter: int) -> None:
    theta = quarter / 4
    report = analyze(structure, theta)
    assert structure.pieces is not None
    # Slopes are at most 6, so between grid points nothing changes by more than this.
    step = 1 / 240
    grid = np.arange(0, 4 + step / 2, step).clip(max=4)
    fine = np.stack([piece(grid) for piece in structure.pieces], axis=1)
    left = np.stack([piece.left_limit(grid) for piece in structure.pieces], axis=1)
    rows = np.concatenate([fine, left])
    twin = Structure.from_table(rows, sigma=1.0, minimize=structure.minimize)
    i = round(theta / step)
    assert twin.means[i] == pytest.approx(list(report.means.values()))
    near = analyze(twin, i)
    for arm, exact in zip(near.arms, report.epsilon.values(), strict=True):
        assert exact <= near.epsilon[arm] + 1e-9
        # A best part that is shorter than a step may have no grid point in it.
        if np.isfinite(near.epsilon[arm]):
            assert exact >= near.epsilon[arm] - 2 * 6 * step - 1e-9 or exact == 0
    assert report.C >= near.C
    # Limits do not force anything: only members of Θ do.
    members = Structure.from_table(fine, sigma=1.0, minimize=structure.minimize)
    assert report.C_tilde >= analyze(members, i).C_tilde


@given(curves())
def test_regions_agree_with_single_answers(structure: Structure) -> None:
    table = analyze(structure)
    regions = table.regions
    assert regions[0].low == 0
    assert regions[-1].high == 4
    for region, following in pairwise(regions):
        assert region.high == following.low
        assert region[2:] != following[2:]
    for region in regions:
        for share in (0.2137, 0.5311, 0.8309):  # arms tie at rounder numbers
            report = table.at(region.low + share * (region.high - region.low))
            assert (report.optimal_arms, report.C) == (region.arms, region.C)


def test_at_a_jump_the_limit_from_the_left_counts() -> None:
    jumping = {
        "a": [(0, 1), (2, 3), (2, 5), (4, 7)],
        "b": [(0, 2), (2, 4), (2, 0), (4, 0)],
    }
    report = analyze(Structure.from_breakpoints(jumping, sigma=1.0), 2)
    assert report.optimal_arm == "a"
    assert report.epsilon["b"] == pytest.approx(2.0, abs=1e-12)


def test_an_arm_that_ties_only_in_a_limit_is_competitive_but_forces_nothing() -> None:
    touching = {
        "a": [(0, 4), (1, 5), (2, 4), (2, 2), (4, 2)],
        "b": [(0, 3), (2, 4), (2, 1), (4, 1)],
    }
    report = analyze(Structure.from_breakpoints(touching, sigma=1.0), 0)
    assert report.competitive_arms == ("a", "b")
    assert (report.C_tilde, report.lower_bound) == (1, 0.0)


@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=4, unique=True
    ),
    st.tuples(st.integers(-4, 4), st.integers(-4, 4)),
)
def test_linear_arms_agree_with_a_fine_grid(
    features: list[tuple[int, int]], quarters: tuple[int, int]
) -> None:
    box = Box([(-1, 1), (-1, 1)], points=41)
    structure = Structure.linear(np.array(features, dtype=float), box, sigma=1.0)
    theta = (quarters[0] / 4, quarters[1] / 4)
    report = analyze(structure, theta)
    grid = Structure.from_table(structure.means, Finite(list(box)), sigma=1.0)
    near = analyze(grid, theta)
    # Slopes add up to at most 6; the grid may miss a thin part, but not the other way round.
    for arm in report.arms:
        assert report.epsilon[arm] <= near.epsilon[arm] + 1e-9
        if np.isfinite(near.epsilon[arm]) and len(features) == 2:
            assert report.epsilon[arm] >= near.epsilon[arm] - 2 * 6 * 0.05
    assert report.C >= near.C
    if report.unique:
        assert report.C_tilde >= near.C_tilde


def test_the_table_of_a_box_agrees_with_single_answers() -> None:
    structure = Structure.linear(
        {"a": [2, 1], "b": [1, 1.5], "c": [3, -1], "d": [0, 0]},
        Box([(-1, 1), (0, 2)], points=5),
        sigma=1.0,
    )
    table = analyze(structure)
    for i, theta in enumerate(structure.parameters):
        report = analyze(structure, theta)
        assert (report.C, report.C_tilde) == (table.C[i], table.C_tilde[i])
        assert list(report.epsilon.values()) == pytest.approx(table.epsilon[i].tolist())


@pytest.mark.parametrize("minimize", [False, True])
def test_a_logistic_link_keeps_the_order_and_bends_the_distances(minimize: bool) -> None:
    features = {"a": [2.0, 1.0], "b": [1.0, 1.5], "c": [3.0, -1.0]}
    box = Box([(-1, 1), (-1, 1)], points=41)
    straight = Structure.linear(features, box, sigma=1.0, minimize=minimize)
    bent = Structure.linear(features, box, sigma=1.0, link="logistic", minimize=minimize)
    theta = (-0.9, -0.9) if minimize else (0.9, 0.9)
    a, b = analyze(straight, theta), analyze(bent, theta)
    assert (a.C, a.C_tilde, a.competitive_arms) == (b.C, b.C_tilde, b.competitive_arms)

    def link(x: float) -> float:
        return 1 / (1 + np.exp(-x))

    assert b.epsilon["c"] == pytest.approx(link(2.7) - link(2.7 - a.epsilon["c"]))
    both = analyze(straight), analyze(bent)
    assert (both[0].C == both[1].C).all()


def test_maxima_and_minima_of_lines_are_recognised() -> None:
    box = Box([(-1, 1), (-1, 1)], points=9)
    tent = Structure.from_functions(
        {"tent": lambda t: 1 - abs(t[0]), "flat": lambda t: 0.5, "slope": lambda t: t[1]},
        box,
        sigma=1.0,
    )
    report = analyze(tent, (0.13, 0.2))
    assert report.exact
    assert report.optimal_arm == "tent"
    assert report.C == 2  # slope beats it at (0.13, 0.9); flat would need 0.5
    assert report.epsilon["flat"] == pytest.approx(0.87 - 0.5)


def test_what_cannot_be_recognised_is_read_off_the_grid_and_said_so() -> None:
    box = Box([(-1, 1), (-1, 1)], points=9)
    round_hill = Structure.from_functions(
        {"hill": lambda t: 1 - t[0] ** 2 - t[1] ** 2, "flat": lambda t: 0.3}, box, sigma=1.0
    )
    report = analyze(round_hill, (0.5, 0.0))
    assert not report.exact
    assert "grid points" in report.note


def test_sound_cells_give_an_upper_bound() -> None:
    curves = {"hill": lambda x: 4 - (x - 2) ** 2, "line": lambda x: 1 + x / 2}
    rough = Structure.from_functions(curves, Interval(0, 4, points=41), sigma=1.0, lipschitz=4.0)
    fine = Structure.from_functions(curves, Interval(0, 4, points=401), sigma=1.0)
    a, b = analyze(rough), analyze(fine)
    assert not a.exact
    assert "upper bounds" in a.note
    assert (b.C[::10] <= a.C).all()
    assert (a.epsilon <= b.epsilon[::10] + 1e-12).all()


def test_wrong_questions_are_refused() -> None:
    structure = Structure.from_table([[1, 0], [0, 1]], sigma=1)
    with pytest.raises(InvalidParameter, match="not in Θ"):
        analyze(structure, 7)
    with pytest.raises(InvalidInput, match="horizon = 0"):
        analyze(structure, 0, horizon=0)
    with pytest.raises(InvalidInput, match=r"horizon = 2\.5"):
        analyze(structure, 0, horizon=2.5)  # type: ignore[call-overload]
    with pytest.raises(InvalidInput, match="alpha = -1"):
        analyze(structure, 0, alpha=-1)
    with pytest.raises(InvalidInput, match="alpha = nan"):
        analyze(structure, alpha=float("nan"))
    with pytest.raises(InvalidInput, match="epsilon = 0"):
        analyze(structure, 0, epsilon=0)
    with pytest.raises(InvalidInput, match="epsilon = -1"):
        analyze(structure, epsilon=[0.1, -1])
    with pytest.raises(InvalidInput, match="not a Structure"):
        analyze("three-arms", 0.5)  # type: ignore[call-overload]
