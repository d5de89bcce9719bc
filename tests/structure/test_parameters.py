"""Θ: where its points lie, how a θ is found in it, and what is refused."""

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structuredbandits.errors import InvalidParameter
from structuredbandits.structure import Box, Finite, Interval, Parameters
from structuredbandits.structure._files import parameters_from

SETS: list[Parameters] = [
    Interval(0, 6),
    Interval(-1.5, 2.25, points=4, include=[0.1, 2.0]),
    Box([(-1, 1), (0, 4)], points=[3, 5]),
    Box([(0, 1)], points=2),
    Finite([3, 1, 2]),
    Finite([0.5, 1]),
    Finite(["low", "high"]),
    Finite([(0.0, 1.5), (1.0, 2.5)]),
    Finite([("18-24", "student"), ("25-34", "artist")], names=("age", "job"), aliases=[4, 23]),
    Finite([("a", 1), ("a", 2)]),
    Finite(["only"]),
]


@pytest.mark.parametrize("parameters", SETS, ids=repr)
class TestEverySet:
    def test_prints_as_the_code_that_makes_it(self, parameters: Parameters) -> None:
        assert eval(repr(parameters)) == parameters

    def test_equal_after_pickling_copying_and_describing(self, parameters: Parameters) -> None:
        for other in (
            pickle.loads(pickle.dumps(parameters)),
            copy.deepcopy(parameters),
            parameters_from(parameters.describe()),
        ):
            assert other == parameters
            assert hash(other) == hash(parameters)
            assert list(other) == list(parameters)

    def test_every_member_is_found_again(self, parameters: Parameters) -> None:
        for i, theta in enumerate(parameters):
            assert parameters.index(theta) == i
            assert parameters.nearest(theta) == i
            assert parameters.contains(theta)
            assert parameters.resolve(theta) == theta
            assert parameters.index(parameters.label(i)) == i

    def test_points_and_weights_fit_the_members(self, parameters: Parameters) -> None:
        assert parameters.weights.shape == (len(parameters),)
        assert parameters.weights.sum() == pytest.approx(1.0)
        assert (parameters.weights > 0).all()
        if parameters.points is not None:
            assert parameters.points.shape == (len(parameters), parameters.dimension)
            members = np.array(list(parameters), dtype=float).reshape(len(parameters), -1)
            np.testing.assert_array_equal(parameters.points, members)
        assert len(parameters.names) == parameters.dimension
        assert len(parameters.spacing) == (parameters.dimension if parameters.continuous else 0)

    def test_cannot_be_changed(self, parameters: Parameters) -> None:
        with pytest.raises(AttributeError, match="cannot be changed"):
            parameters.low = 3
        with pytest.raises(ValueError, match="read-only"):
            parameters.weights[0] = 2.0
        if parameters.points is not None:
            with pytest.raises(ValueError, match="read-only"):
                parameters.points[0, 0] = 2.0

    def test_a_stranger_is_refused(self, parameters: Parameters) -> None:
        for stranger in (float("nan"), float("inf"), 99.5, "nowhere", None, (1, 2, 3), True, [[]]):
            assert not parameters.contains(stranger)
            with pytest.raises(InvalidParameter, match="is not in Θ"):
                parameters.index(stranger)
            with pytest.raises(InvalidParameter, match="is not in Θ"):
                parameters.resolve(stranger)


def test_sets_differ_by_value() -> None:
    assert len(set(SETS)) == len(SETS)
    assert Interval(0, 6) != Interval(0, 6, points=600)
    assert Finite([1, 2]) == Finite([1.0, 2.0])
    assert Finite([1, 2]) != Finite(["1", "2"])
    assert Interval(0, 1, points=2) != Box([(0, 1)], points=2)
    assert Interval(0, 6) != "Interval(0, 6)"


class TestInterval:
    def test_the_default_grid_holds_the_decimals_that_one_would_type(self) -> None:
        grid = Interval(0, 6, points=601)
        assert list(grid) == [i / 100 for i in range(601)]
        assert grid.spacing == (pytest.approx(0.01),)
        np.testing.assert_array_equal(grid.weights, np.full(601, 1 / 601))

    def test_included_points_replace_grid_points_that_differ_by_rounding(self) -> None:
        grid = Interval(0, 6, points=601, include=[330 * 0.01, 2.6])
        assert len(grid) == 601
        assert grid[330] == 330 * 0.01 != 3.3
        assert grid.include == (330 * 0.01,)

    def test_uneven_weights_are_half_the_distance_to_both_neighbours(self) -> None:
        grid = Interval(0, 4, points=2, include=[1])
        assert list(grid) == [0, 1, 4]
        np.testing.assert_allclose(grid.weights, np.array([1, 2, 3]) / 6)
        assert grid.spacing == (3.0,)

    def test_weights_turn_even_as_the_grid_does(self) -> None:
        nearly = Interval(0, 2, points=2, include=[1 + 1e-9])
        np.testing.assert_allclose(nearly.weights, np.full(3, 1 / 3), rtol=1e-8)

    def test_text_is_read_as_a_number(self) -> None:
        assert Interval(0, 6).resolve(" 2.6 ") == 2.6
        assert Interval(0, 6).index("2.6") == 260

    def test_a_point_between_is_named_with_its_neighbours(self) -> None:
        with pytest.raises(InvalidParameter, match=r"2\.605 is not a grid point.* 2\.6 and 2\.61"):
            Interval(0, 6).index(2.605)

    def test_a_point_outside_is_named_with_the_ends(self) -> None:
        with pytest.raises(InvalidParameter, match=r"θ = 7 is not in Θ; .* from 0 to 6"):
            Interval(0, 6).nearest(7)

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Interval(1, 1), "give low below high"),
            (lambda: Interval(2, 1), "low = 2 and high = 1"),
            (lambda: Interval(float("nan"), 1), "low holds nan"),
            (lambda: Interval(0, float("inf")), "high holds inf"),
            (lambda: Interval(0, 1e300), "at most 1e"),
            (lambda: Interval(0, 1, points=1), "points = 1 "),
            (lambda: Interval(0, 1, points=2.5), "points = 2.5"),  # type: ignore[arg-type]
            (lambda: Interval(0, 1, points=True), "points = True"),
            (lambda: Interval(0, 1, points=10**12), "points = 1000000000000"),
            (lambda: Interval(1, 1 + 1e-15, points=601), "do not fit"),
            (lambda: Interval(0, 1, include=[2]), r"include holds 2, .* \[0, 1\]"),
            (lambda: Interval(0, 1, include=[-1]), "include holds -1"),
            (lambda: Interval(0, 1, include=["x"]), "include holds 'x'"),  # type: ignore[list-item]
        ],
    )
    def test_refuses(self, make: Callable[[], Interval], message: str) -> None:
        with pytest.raises(InvalidParameter, match=message):
            make()

    @given(
        low=st.floats(-1e6, 1e6),
        width=st.floats(1e-3, 1e6),
        points=st.integers(2, 50),
        shares=st.lists(st.floats(0, 1), max_size=5),
        where=st.floats(0, 1),
    )
    def test_grid_facts(
        self, low: float, width: float, points: int, shares: list[float], where: float
    ) -> None:
        high = low + width
        extra = [min(max(low + share * width, low), high) for share in shares]
        grid = Interval(low, high, points=points, include=extra)
        axis = grid.axes[0]
        assert axis[0] == low
        assert axis[-1] == high
        assert (np.diff(axis) > 0).all()
        assert points <= len(grid) + len(extra)
        assert set(extra) <= set(axis.tolist())
        theta = min(max(low + where * width, low), high)
        assert abs(axis[grid.nearest(theta)] - theta) == np.abs(axis - theta).min()
        np.testing.assert_allclose(grid.weights.sum(), 1.0)


class TestBox:
    def test_the_last_coordinate_changes_fastest(self) -> None:
        box = Box([(0, 1), (0, 2)], points=[2, 3])
        assert list(box) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
        assert box.spacing == (1.0, 1.0)
        assert box.names == ("theta_1", "theta_2")

    def test_the_square_of_the_embedded_problems(self) -> None:
        box = Box([(-1, 1), (-1, 1)])
        assert len(box) == 41 * 41
        assert box[box.index((0.9, -0.2))] == (0.9, -0.2)
        assert box.resolve("0.9, -0.2") == (0.9, -0.2)
        assert box.resolve(np.array([0.9, -0.2])) == (0.9, -0.2)

    def test_three_dimensions(self) -> None:
        box = Box([(0, 1)] * 3, points=3)
        assert len(box) == 27
        assert box.nearest((0.2, 0.8, 0.5)) == box.index((0, 1, 0.5))

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Box([]), "one pair"),
            (lambda: Box([(0, 1, 2)]), "one pair"),  # type: ignore[list-item]
            (lambda: Box([(0, 1), (1, 0)]), "low = 1 and high = 0"),
            (lambda: Box([(0, 1)], points=[2, 3]), "2 entries for 1 sides"),
            (lambda: Box([(0, 1)] * 6), r"4,750,104,241 points is too large"),
            (lambda: Box([(0, 1)], points=1), "points = 1 "),
        ],
    )
    def test_refuses(self, make: Callable[[], Box], message: str) -> None:
        with pytest.raises(InvalidParameter, match=message):
            make()

    def test_a_point_off_the_grid_names_the_neighbours(self) -> None:
        with pytest.raises(InvalidParameter, match=r"\(0.9, 0.33\) is not a grid point"):
            Box([(-1, 1), (-1, 1)]).index((0.9, 0.33))
        with pytest.raises(InvalidParameter, match=r"give 2 numbers in \[-1, 1\] × \[-1, 1\]"):
            Box([(-1, 1), (-1, 1)]).index((0.9, 1.33))


class TestFinite:
    def test_numbers_keep_their_kind(self) -> None:
        assert list(Finite([1.0, 2.0])) == [1, 2]
        assert repr(Finite([1.0, 2.0])) == "Finite([1, 2])"
        assert repr(Finite([1, 2.5])) == "Finite([1.0, 2.5])"
        assert repr(Finite(np.array([[0.5, 1], [1, 2]]))) == "Finite([(0.5, 1.0), (1.0, 2.0)])"
        assert Finite(np.arange(3))[2] == 2

    def test_nearest_and_tolerance(self) -> None:
        levels = Finite([0.1, 0.2, 0.3])
        assert levels.index(0.1 + 0.2) == 2
        assert levels.nearest(0.24) == 1
        with pytest.raises(InvalidParameter, match=r"0\.24 is not in Θ; the nearest is 0\.2\."):
            levels.index(0.24)

    def test_labels_can_be_shortened_only_where_a_user_types_them(self) -> None:
        people = Finite([("18-24", "student"), ("25-34", "student"), ("25-34", "artist")])
        assert people.resolve("ARTIST") == ("25-34", "artist")
        assert people.resolve("student 18") == ("18-24", "student")
        assert not people.contains("artist")
        with pytest.raises(InvalidParameter, match=r"fits 2 members .* write more"):
            people.resolve("student")
        with pytest.raises(InvalidParameter, match="did you mean '25-34 artist'"):
            people.index("25-34 artis")

    def test_aliases(self) -> None:
        people = Finite(["ann", "bob"], aliases=[25, 140])
        assert people.index(140) == people.index("140") == people.index("bob") == 1
        assert people.resolve(25) == "ann"
        assert not people.contains(1)
        assert not people.contains(25.5)

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Finite([]), "empty"),
            (lambda: Finite("abc"), "is a single text"),
            (lambda: Finite([1, 1]), "θ = 1 appears twice"),
            (lambda: Finite([1, 1.0]), "θ = 1 appears twice"),
            (lambda: Finite(["a", "b", "a"]), "θ = a appears twice"),
            (lambda: Finite([1, "a"]), "mixes numbers and texts"),
            (lambda: Finite([(1, 2), (1, 2, 3)]), "mixes tuples of 2 and tuples of 3"),
            (lambda: Finite([float("nan")]), "holds nan"),
            (lambda: Finite([float("inf")]), "holds inf"),
            (lambda: Finite([True, False]), "holds True"),
            (lambda: Finite([None]), "holds None"),
            (lambda: Finite([""]), "empty label"),
            (lambda: Finite([()]), "empty tuple"),
            (lambda: Finite(["a"], names=("x", "y")), "give 1 different names"),
            (lambda: Finite([("a", "b")], names=("x", "x")), "give 2 different names"),
            (lambda: Finite(["a", "b"], aliases=[1]), "2 different second names"),
            (lambda: Finite(["a", "b"], aliases=[1, 1]), "2 different second names"),
            (lambda: Finite([5, 6], aliases=[6, 5]), "different second names, for labels only"),
        ],
    )
    def test_refuses(self, make: Callable[[], Finite], message: str) -> None:
        with pytest.raises(InvalidParameter, match=message):
            make()


def test_an_unknown_description_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="kind = 'ball'"):
        parameters_from({"kind": "ball"})
