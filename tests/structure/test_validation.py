"""What cannot make a structure is refused in one sentence with the value and the remedy."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from structuredbandits.errors import InvalidInput, InvalidParameter, InvalidStructure
from structuredbandits.structure import Box, Finite, Interval, PiecewiseLinear, Structure

TABLE = [[1.0, 0.0], [0.0, 2.0]]
PAIRS = {"a": [(0, 1), (6, 1)], "b": [(0, 2), (6, 3)]}
# The second has too many digits for Python to print it.
HUGE = (10**400, 10**5000)


def theta(x: Any) -> Any:
    return x


def assert_a_sentence(error: BaseException, *parts: str) -> None:
    text = str(error)
    assert "\n" not in text
    assert len(text) < 300
    assert text.endswith(".")
    for part in parts:
        assert part in text


@pytest.mark.parametrize("wrong", [["x", "y"], [0, 1], range(2), np.array([0, 1]), 2, "xy"])
@pytest.mark.parametrize(
    "make",
    [
        lambda wrong: Structure.from_table(TABLE, wrong, sigma=1),
        lambda wrong: Structure.from_bounds(TABLE, TABLE, wrong, sigma=1),
        lambda wrong: Structure.from_functions({"a": theta, "b": theta}, wrong, sigma=1),
        lambda wrong: Structure.linear(TABLE, wrong, sigma=1),
        lambda wrong: Structure(TABLE, TABLE, parameters=wrong, sigma=1),
    ],
    ids=["table", "bounds", "functions", "linear", "direct"],
)
def test_parameters_that_are_no_set(make: Callable[[Any], Structure], wrong: Any) -> None:
    with pytest.raises(InvalidParameter) as caught:
        make(wrong)
    assert_a_sentence(caught.value, "is not a set of θ; give Finite(...)")


class TestNamesGivenTwice:
    def test_a_mapping_of_columns(self) -> None:
        with pytest.raises(
            InvalidStructure, match=r"'b', 'a'.* called .*'a', 'b'.* leave out arms"
        ):
            Structure.from_table({"a": [1, 2], "b": [5, 6]}, arms=["b", "a"], sigma=1)

    def test_a_data_frame(self) -> None:
        frame = pd.DataFrame(TABLE, columns=["a", "b"])
        with pytest.raises(InvalidStructure, match="leave out arms"):
            Structure.from_table(frame, arms=["x", "y"], sigma=1)

    def test_a_mapping_of_features(self) -> None:
        box = Box([(0, 1), (0, 1)], points=2)
        with pytest.raises(InvalidStructure, match=r"'x', 'y'.* called .*'a', 'b'"):
            Structure.linear({"a": [1, 2], "b": [2, 3]}, box, arms=["x", "y"], sigma=1)

    def test_equal_names_do_no_harm(self) -> None:
        columns = {"a": [1, 2], "b": [5, 6]}
        twice = Structure.from_table(columns, arms=["a", "b"], sigma=1)
        assert twice == Structure.from_table(columns, sigma=1)


@pytest.mark.parametrize("huge", HUGE, ids=["401 digits", "5001 digits"])
@pytest.mark.parametrize(
    "make",
    [
        lambda huge: Structure.from_table([[huge, 1]], sigma=1),
        lambda huge: Structure.from_table(TABLE, sigma=huge),
        lambda huge: Structure.from_table(TABLE, sigma=1, prior=[huge, 1]),
        lambda huge: Structure.from_breakpoints({**PAIRS, "a": [(0, huge), (6, 1)]}, sigma=1),
        lambda huge: Structure.from_breakpoints(PAIRS, sigma=1).means_at(huge),
        lambda huge: Structure.from_breakpoints(PAIRS, sigma=1, points=huge),
        lambda huge: Structure.from_table(TABLE, sigma=1).means_at(huge),
        lambda huge: Finite([huge, 1]),
        lambda huge: Finite([(huge, 1)]),
        lambda huge: Interval(0, huge),
        lambda huge: Interval(0, 1, include=[huge]),
        lambda huge: Box([(0, huge)]),
        lambda huge: Box([(0, 1)]).resolve((huge,)),
    ],
)
def test_whole_numbers_beyond_floats(make: Callable[[int], object], huge: int) -> None:
    with pytest.raises(InvalidInput) as caught:
        make(huge)
    assert_a_sentence(caught.value)


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: Finite(5), "Θ = 5 is not a list"),
        (lambda: Box(5), "sides = 5"),
        (lambda: Box([5]), "sides = [5]"),
        (lambda: Interval(0, 1, include=5), "include = 5 is not a list"),
        (lambda: Structure.from_functions([theta], Interval(0, 1), sigma=1), "give a mapping"),
        (
            lambda: Structure.from_breakpoints([], sigma=1),
            "breakpoints = [] does not name its arms",
        ),
        (
            lambda: Structure.from_breakpoints({**PAIRS, "a": [0, 1]}, sigma=1),
            "arm 'a': breakpoint",
        ),
        (
            lambda: Structure.from_breakpoints({**PAIRS, "a": 5}, sigma=1),
            "arm 'a': breakpoints = 5",
        ),
        (lambda: PiecewiseLinear(5), "give pairs (θ, value)"),
        (lambda: Structure.from_table(TABLE, arms=5, sigma=1), "arms = 5 is not a list"),
        (lambda: Structure.from_table({"a": [1], "b": [2]}, arms=5, sigma=1), "arms = 5 names"),
        (lambda: Structure.from_table(TABLE, sigma=1, name=5), "name = 5 is not text"),
        (
            lambda: Structure.from_table(TABLE, sigma=1).with_(arms="12"),
            "'12' is not a list",
        ),
        (lambda: Structure.from_table(TABLE, sigma=1).with_(arms=1), "arms = 1 is not a list"),
        (lambda: Structure.from_table(TABLE, sigma=1).with_(arms=[]), "keep at least 2 arms"),
        (lambda: Structure.from_table(TABLE, sigma=None), "sigma is None; give the standard"),
        (lambda: Structure.from_table(TABLE, sigma=math.nan), "give a finite number above 0"),
        (
            lambda: Structure.from_bounds([[1, 5]], [[2, 4, 5]], sigma=1),
            "the upper bounds have shape (1, 3)",
        ),
        (
            lambda: Structure.from_bounds(TABLE, TABLE, Finite([1]), sigma=1),
            "the lower bounds have shape (2, 2)",
        ),
    ],
)
def test_other_rubbish(make: Callable[[], object], part: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make()
    assert_a_sentence(caught.value, part)


@pytest.mark.parametrize("wrong", [pd.Series([0.5, 1.5]), {"a": 1}, object(), np.zeros((40, 40))])
@pytest.mark.parametrize("parameters", [Interval(0, 6, points=3), Box([(0, 1)] * 2, points=3)])
def test_a_wrong_theta_makes_one_line(parameters: Interval | Box, wrong: object) -> None:
    with pytest.raises(InvalidParameter) as caught:
        parameters.resolve(wrong)
    assert_a_sentence(caught.value, "is not in Θ; give")


@pytest.mark.parametrize("path", ["", None, "a\0b", 5, "."])
def test_a_file_without_a_name(path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput) as caught:
        Structure.from_table(TABLE, sigma=1).save(path)
    assert_a_sentence(caught.value, "is not a file name; give one")
    assert list(tmp_path.iterdir()) == []
