"""Structures from Python functions, however the functions are written."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from structuredbandits.errors import InvalidStructure
from structuredbandits.structure import Box, Finite, Interval, Parameters, Structure

SQUARE = Box([(-1, 1), (-1, 1)], points=5)
TINY = Finite([(1.0, 2.0), (3.0, 5.0)])  # as many points as coordinates


def one_arm(function: Callable[..., Any], parameters: Parameters) -> Structure:
    return Structure.from_functions({"f": function, "0": lambda theta: 0.0}, parameters, sigma=1)


def branch(theta: float) -> float:
    return 1.0 if theta > 2 else theta


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda t: t**2, lambda t: t**2),
        (lambda t: 3.0, lambda t: 3.0),
        (lambda t: 3, lambda t: 3),
        (branch, branch),
        (lambda t: max(t, 1.0), lambda t: max(t, 1.0)),
        # For an array this is the largest of all θ, for one θ it is θ.
        (lambda t: np.max(t), lambda t: t),
        (lambda t: np.where(t > 1, 2.0, 0.0), lambda t: 2.0 if t > 1 else 0.0),
        (lambda t: [2 * x for x in t], lambda t: 2 * t),
        (lambda t: np.interp(t, [0, 6], [1, 4]), lambda t: 1 + t / 2),
    ],
)
def test_functions_of_a_number(
    function: Callable[..., Any], expected: Callable[[float], float]
) -> None:
    grid = Interval(0, 6, points=13)
    structure = one_arm(function, grid)
    np.testing.assert_allclose(structure.means[:, 0], [expected(float(t)) for t in grid])  # type: ignore[arg-type]
    assert structure.means_at(1.2345)[0] == pytest.approx(expected(1.2345))


@pytest.mark.parametrize("parameters", [SQUARE, TINY], ids=["square", "tiny"])
@pytest.mark.parametrize(
    "function",
    [
        lambda t: t[..., 0] + 2 * t[..., 1],
        lambda t: t[0] + 2 * t[1],
        lambda t: t[:, 0] + 2 * t[:, 1],
        lambda t: t @ np.array([1.0, 2.0]),
        lambda t: float(np.dot(t, [1.0, 2.0])),
        lambda t: np.sum(t * [1.0, 2.0]),
        lambda t: (t * [1.0, 2.0]).sum(axis=-1),
    ],
)
def test_functions_of_a_vector(function: Callable[..., Any], parameters: Parameters) -> None:
    structure = one_arm(function, parameters)
    expected = np.asarray(parameters.points) @ [1.0, 2.0]
    np.testing.assert_allclose(structure.means[:, 0], expected, atol=1e-15)
    if parameters.continuous:
        assert structure.means_at((0.3, 0.15))[0] == pytest.approx(0.6)


def test_a_box_of_one_side_gives_vectors() -> None:
    structure = one_arm(lambda t: t[:, 0], Box([(0, 1)], points=3))
    assert structure.means[:, 0].tolist() == [0, 0.5, 1]


def test_functions_of_labels_and_numbers() -> None:
    labels = Finite(["calm", "busy"])
    assert one_arm(len, labels).means[:, 0].tolist() == [4, 4]
    pairs = Finite([("a", 1), ("b", 2)])
    assert one_arm(lambda pair: pair[1], pairs).means[:, 0].tolist() == [1, 2]
    assert one_arm(lambda t: t**-1, Finite([1, 2])).means[:, 0].tolist() == [1, 0.5]


def test_a_function_is_asked_once_if_it_understands_arrays() -> None:
    sizes = []

    def count(theta: Any) -> Any:
        sizes.append(np.size(theta))
        return 2.0 * theta

    one_arm(count, Interval(0, 6, points=601))
    assert sizes[0] == 601
    assert len(sizes) < 10


def test_a_function_that_writes_into_its_argument_harms_only_itself() -> None:
    def spoil(theta: Any) -> Any:
        theta *= 2
        return theta

    grid = Interval(0, 1, points=3)
    structure = one_arm(spoil, grid)
    assert structure.means[:, 0].tolist() == [0, 1, 2]
    assert list(grid) == [0, 0.5, 1]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t: float("nan"), "mean of arm 'f' at θ = 0 is nan"),
        (lambda t: None, "mean of arm 'f' at θ = 0 is nan"),
        (lambda t: "x", "arm 'f' failed at θ = 0 with ValueError"),
        (lambda t: [1, 2], "arm 'f' gave 2 numbers at θ = 0"),
        (lambda: 1, "arm 'f' failed at θ = 0 with TypeError"),
        (3.0, "arm 'f' has 3.0, which cannot be called"),
    ],
)
def test_refuses(function: Any, message: str) -> None:
    with pytest.raises(InvalidStructure, match=message):
        one_arm(function, Interval(0, 6, points=13))


def test_fewer_than_two_arms() -> None:
    with pytest.raises(InvalidStructure, match="1 arm leaves nothing"):
        Structure.from_functions({"f": lambda t: t}, Interval(0, 1), sigma=1)
    with pytest.raises(InvalidStructure, match="0 arm leaves nothing"):
        Structure.from_functions({}, Interval(0, 1), sigma=1)


def test_a_function_that_breaks_between_grid_points_is_named() -> None:
    def hole(theta: float) -> float:
        return float("inf") if theta == 0.3 else 1.0

    with pytest.raises(InvalidStructure, match=r"arm 'f' is not finite at θ = 0\.3"):
        one_arm(hole, Interval(0, 1, points=3)).means_at(0.3)
