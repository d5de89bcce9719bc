"""Structures from breakpoints, from features and from tables of several kinds."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from structuredbandits.errors import InvalidStructure
from structuredbandits.structure import Box, Finite, Interval, PiecewiseLinear, Structure

NAN = float("nan")


class TestBreakpoints:
    def test_the_grid_holds_every_breakpoint(self) -> None:
        structure = Structure.from_breakpoints(
            {"a": [(0, 1), (1 / 3, 2), (6, 3)], "b": [(0, 1), (3.3, 2), (6, 3)]}, sigma=1
        )
        assert len(structure.parameters) == 602
        assert structure.means[structure.parameters.index(1 / 3), 0] == 2.0
        assert structure.means[structure.parameters.index(3.3), 1] == 2.0

    def test_pieces_are_kept(self) -> None:
        f = PiecewiseLinear([(0, 1), (6, 3)])
        structure = Structure.from_breakpoints({"a": f, "b": [(0, 2), (6, 2)]}, sigma=1)
        assert structure.pieces == (f, PiecewiseLinear([(0, 2), (6, 2)]))

    def test_refuses(self) -> None:
        with pytest.raises(InvalidStructure, match="arm 'b': θ = 3 is given more than twice"):
            Structure.from_breakpoints(
                {"a": [(0, 1), (6, 1)], "b": [(0, 1), (3, 1), (3, 2), (3, 3), (6, 1)]}, sigma=1
            )
        with pytest.raises(InvalidStructure, match="arm 'b' runs from 0 to 5, but arm 'a'"):
            Structure.from_breakpoints({"a": [(0, 1), (6, 1)], "b": [(0, 1), (5, 1)]}, sigma=1)


class TestLinear:
    box = Box([(-1, 1), (-1, 1)], points=5)

    def test_products(self) -> None:
        structure = Structure.linear({"p": [2, 1], "q": [1, 1.5]}, self.box, sigma=2)
        assert structure.arms == ("p", "q")
        assert structure.features is not None
        assert structure.features.tolist() == [[2, 1], [1, 1.5]]
        for i, (x, y) in enumerate(np.asarray(self.box.points)):
            np.testing.assert_allclose(structure.means[i], [2 * x + y, x + 1.5 * y], atol=1e-15)
        np.testing.assert_allclose(structure.means_at((0.33, 0.11)), [0.77, 0.495])

    def test_the_logistic_link(self) -> None:
        structure = Structure.linear([[2, 1], [800, 800]], self.box, sigma=0.5, link="logistic")
        assert structure.link == "logistic"
        x = 2 * 0.3 - 0.2
        assert structure.means_at((0.3, -0.2))[0] == pytest.approx(1 / (1 + np.exp(-x)))
        assert structure.means_at((-1, -1))[1] == 0.0
        assert structure.means_at((1, 1))[1] == 1.0

    def test_identity_is_no_link(self) -> None:
        plain = Structure.linear([[2, 1], [1, 1]], self.box, sigma=1)
        assert plain == Structure.linear([[2, 1], [1, 1]], self.box, sigma=1, link="identity")
        assert plain != Structure.linear([[2, 1], [1, 1]], self.box, sigma=1, link="logistic")

    def test_other_sets(self) -> None:
        vectors = Finite([(1.0, 0.0), (0.0, 1.0)])
        assert Structure.linear([[2, 1], [1, 3]], vectors, sigma=1).means.tolist() == [
            [2, 1],
            [1, 3],
        ]
        line = Structure.linear([[2], [1]], Interval(0, 1, points=2), sigma=1)
        assert line.means_at(0.25).tolist() == [0.5, 0.25]

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda box: Structure.linear([[1], [2]], box, sigma=1), "1 numbers per arm"),
            (lambda _: Structure.linear([[1], [2]], Finite(["a"]), sigma=1), "of labels"),
            (lambda box: Structure.linear([1, 2], box, sigma=1), "features has shape"),
            (lambda box: Structure.linear([[1, NAN], [1, 2]], box, sigma=1), "NaN or infinity"),
            (
                lambda box: Structure.linear([[1, 1], [1, 2]], box, sigma=1, link="probit"),
                "link = 'probit' is unknown",
            ),
        ],
    )
    def test_refuses(self, make: Callable[[Box], Structure], message: str) -> None:
        with pytest.raises(InvalidStructure, match=message):
            make(self.box)


class TestTables:
    def test_a_mapping_names_the_arms(self) -> None:
        structure = Structure.from_table({"a": [1, 2], "b": [3, 4]}, sigma=1)
        assert structure.arms == ("a", "b")
        assert structure.means.tolist() == [[1, 3], [2, 4]]
        with pytest.raises(InvalidStructure, match="differ in length"):
            Structure.from_table({"a": [1, 2], "b": [3]}, sigma=1)

    def test_a_frame_there_and_back(self) -> None:
        labels = Finite([("18-24", "student"), ("25-34", "artist")], names=("age", "job"))
        structure = Structure.from_table([[1, 2], [3, 4]], labels, ["a", "b"], sigma=1)
        frame = structure.to_frame()
        assert frame.index.names == ["age", "job"]
        assert frame.loc[("25-34", "artist"), "b"] == 4.0
        assert Structure.from_table(frame, sigma=1) == structure

    def test_frames_of_numbers(self) -> None:
        structure = Structure.from_table([[1, 2], [3, 4]], Interval(0, 1, points=2), sigma=1)
        frame = structure.to_frame()
        assert frame.index.tolist() == [0.0, 1.0]
        assert frame.index.name == "theta"
        frame.iloc[0, 0] = 99.0
        assert structure.means[0, 0] == 1.0
        unnamed = pd.DataFrame({"a": [1.0], "b": [2.0]}, index=["x"])
        assert Structure.from_table(unnamed, sigma=1).parameters == Finite(["x"])
