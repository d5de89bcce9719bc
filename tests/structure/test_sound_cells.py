"""Sound cells: the bounds of a cell hold for every θ in it, and no θ is in no cell."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structuredbandits.errors import InvalidStructure
from structuredbandits.structure import Box, Finite, Interval, PiecewiseLinear, Structure
from structuredbandits.structure._sound_cells import sound_cell_corners
from tests.structure.curves import functions


def cell_of(structure: Structure, theta: Any) -> list[int]:
    """Every cell that holds θ; on a boundary there are several."""
    low, high = sound_cell_corners(structure.parameters)
    point = np.atleast_1d(np.array(theta, dtype=float))
    inside = ((low <= point) & (point <= high)).all(axis=1)
    return np.flatnonzero(inside).tolist()


def test_cells_cover_an_uneven_grid() -> None:
    low, high = sound_cell_corners(Interval(0, 4, points=2, include=[1]))
    assert low.ravel().tolist() == [0, 0.5, 2.5]
    assert high.ravel().tolist() == [0.5, 2.5, 4]


def test_cells_cover_a_box() -> None:
    low, high = sound_cell_corners(Box([(0, 1), (0, 3)], points=[2, 3]))
    assert np.prod(high - low, axis=1).sum() == pytest.approx(3.0)


@given(
    functions(),
    functions(),
    st.integers(2, 40),
    st.lists(st.floats(0, 6), min_size=1, max_size=30),
)
def test_pieces(f: PiecewiseLinear, g: PiecewiseLinear, points: int, thetas: list[float]) -> None:
    structure = Structure.from_breakpoints({"f": f, "g": g}, sigma=1, points=points, sound=True)
    # Also just before every breakpoint, where a jump shows its limit from the left.
    before = [np.nextafter(t, 0) for t in (*f.theta, *g.theta) if t > 0]
    for theta in (*thetas, *before, *f.theta, *g.theta):
        cells = cell_of(structure, theta)
        assert cells
        means = structure.means_at(theta)
        for i in cells:
            assert (structure.lower[i] <= means).all()
            assert (means <= structure.upper[i]).all()
            best = means == means.max()
            assert structure.optimal[i][best].all()


def test_bounds_of_pieces_are_the_tightest() -> None:
    structure = Structure.from_breakpoints(
        {"f": [(0, 0), (2, 4)], "g": [(0, 1), (1, 1), (1, 3), (2, 3)]},
        sigma=1,
        points=3,
        sound=True,
    )
    assert structure.lower.tolist() == [[0, 1], [1, 1], [3, 3]]
    assert structure.upper.tolist() == [[1, 1], [3, 3], [4, 3]]
    assert structure.means.tolist() == [[0.5, 1], [2, 2], [3.5, 3]]
    assert structure.means_at(1).tolist() == [2, 3]
    assert structure.means_at(0.9).tolist() == [1.8, 1]


def test_flat_pieces_stay_exact() -> None:
    flat = {"f": [(0, 1.0), (6, 1.0)], "g": [(0, 2.0), (6, 2.0)]}
    assert Structure.from_breakpoints(flat, sigma=1, sound=True).exact


@given(
    st.lists(st.tuples(st.floats(-3, 3), st.floats(0.1, 4), st.floats(0, 6)), min_size=1),
    st.integers(2, 30),
    st.lists(st.floats(0, 6), min_size=1, max_size=20),
)
def test_lipschitz_on_an_interval(
    waves: list[tuple[float, float, float]], points: int, thetas: list[float]
) -> None:
    constant = sum(abs(height * speed) for height, speed, _ in waves)

    def wave(theta: Any) -> Any:
        return sum(height * np.sin(speed * theta + phase) for height, speed, phase in waves)

    structure = Structure.from_functions(
        {"wave": wave, "flat": lambda theta: 0.25},
        Interval(0, 6, points=points, include=[0.123]),
        sigma=1,
        lipschitz=[constant, 0.0],
    )
    slack = 1e-13 * (1 + sum(abs(height) for height, _, _ in waves))  # of sin itself
    for theta in thetas:
        for i in cell_of(structure, theta):
            assert structure.lower[i, 0] - slack <= wave(theta) <= structure.upper[i, 0] + slack
    np.testing.assert_array_equal(structure.lower[:, 1], 0.25)
    np.testing.assert_array_equal(structure.upper[:, 1], 0.25)
    assert structure.means_at(thetas[0])[0] == pytest.approx(wave(thetas[0]))


def test_lipschitz_bounds_are_no_wider_than_needed() -> None:
    structure = Structure.from_functions(
        {"f": lambda t: t, "g": lambda t: -2 * t},
        Interval(0, 2, points=3),
        sigma=1,
        lipschitz=[1, 2],
    )
    np.testing.assert_allclose(structure.lower, [[-0.5, -1], [0.5, -3], [1.5, -5]], atol=1e-12)
    np.testing.assert_allclose(structure.upper, [[0.5, 1], [1.5, -1], [2.5, -3]], atol=1e-12)


@given(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), st.integers(2, 12))
def test_lipschitz_on_a_box_is_euclidean(theta: tuple[float, float], points: int) -> None:
    structure = Structure.from_functions(
        {"sum": lambda t: t[:, 0] + t[:, 1], "norm": lambda t: np.hypot(t[:, 0], t[:, 1])},
        Box([(-1, 1), (-1, 1)], points=[points, 5]),
        sigma=1,
        lipschitz=[2**0.5, 1.0],
    )
    means = structure.means_at(theta)
    for i in cell_of(structure, theta):
        assert (structure.lower[i] <= means + 1e-15).all()
        assert (means <= structure.upper[i] + 1e-15).all()


@given(
    st.tuples(st.floats(-1, 1), st.floats(0, 2)),
    st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=2, max_size=5),
    st.sampled_from([None, "logistic"]),
)
def test_linear(
    theta: tuple[float, float], features: list[tuple[float, float]], link: str | None
) -> None:
    box = Box([(-1, 1), (0, 2)], points=[4, 6])
    structure = Structure.linear(features, box, sigma=1, link=link, sound=True)
    means = structure.means_at(theta)
    for i in cell_of(structure, theta):
        assert (structure.lower[i] <= means).all()
        assert (means <= structure.upper[i]).all()


def test_linear_bounds_are_the_tightest() -> None:
    structure = Structure.linear([[1], [-2]], Interval(0, 2, points=3), sigma=1, sound=True)
    np.testing.assert_allclose(structure.lower, [[0, -1], [0.5, -3], [1.5, -4]], atol=1e-12)
    np.testing.assert_allclose(structure.upper, [[0.5, 0], [1.5, -1], [2, -3]], atol=1e-12)


def test_a_table_can_have_cells() -> None:
    structure = Structure.from_table(
        [[0, 1], [1, 1]], Interval(0, 1, points=2), sigma=1, lipschitz=1
    )
    np.testing.assert_allclose(structure.upper - structure.lower, 1.0, atol=1e-12)


@pytest.mark.parametrize("constant", [-1.0, float("nan"), float("inf"), [1.0, 2.0, 3.0]])
def test_bad_constants_are_refused(constant: Any) -> None:
    with pytest.raises(InvalidStructure, match="lipschitz"):
        Structure.from_functions(
            {"f": lambda t: t, "g": lambda t: -t}, Interval(0, 1), sigma=1, lipschitz=constant
        )


def test_a_finite_set_has_no_cells() -> None:
    with pytest.raises(InvalidStructure, match="sound cells need a continuous Θ"):
        Structure.from_table([[1, 2]], sigma=1, lipschitz=1)
    with pytest.raises(InvalidStructure, match="sound cells need a continuous Θ"):
        Structure.linear([[1], [2]], Finite([1.0, 2.0]), sigma=1, sound=True)


class TestAConstantThatTheTableContradicts:
    def test_on_an_interval(self) -> None:
        def make(constant: float) -> Structure:
            return Structure.from_functions(
                {"slow": lambda x: 15 - 0 * x, "fast": lambda x: 5 * x},
                Interval(0, 6, points=7),
                sigma=1,
                lipschitz=[0, constant],
            )

        with pytest.raises(InvalidStructure) as caught:
            make(4.99)
        text = str(caught.value)
        assert "lipschitz = 4.99 for arm 'fast' is too small" in text
        assert "changes by 5 between θ = 0 and θ = 1; give at least 5." in text
        assert not make(5.0).exact

    def test_at_one_step_of_an_uneven_grid(self) -> None:
        grid = Interval(0, 4, points=3, include=[3])
        means = [[0, 0], [0, 1], [0, 1], [0.6, 1]]
        with pytest.raises(InvalidStructure, match=r"between θ = 3 and θ = 4; give at least 0\.6"):
            Structure.from_table(means, grid, sigma=1, lipschitz=0.5)
        with pytest.raises(InvalidStructure, match=r"'2'.* between θ = 0 and θ = 2"):
            Structure.from_table(means, grid, sigma=1, lipschitz=[0.6, 0.4])
        Structure.from_table(means, grid, sigma=1, lipschitz=[0.6, 0.5])

    @pytest.mark.parametrize("sign", [1, -1])
    def test_along_a_diagonal(self, sign: int) -> None:
        """Along each side x ± y changes by 1 a step; along one diagonal by the root of 2."""
        box = Box([(0, 2), (0, 3)], points=[3, 4])
        arms = {"sum": lambda p: p[:, 0] + sign * p[:, 1], "none": lambda p: 0 * p[:, 0]}
        with pytest.raises(InvalidStructure, match=r"arm 'sum'.* give at least 1\.41421"):
            Structure.from_functions(arms, box, sigma=1, lipschitz=1.4)
        Structure.from_functions(arms, box, sigma=1, lipschitz=math.sqrt(2))
