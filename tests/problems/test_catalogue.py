"""Embedded problems by name, and the facts that each of them was made to have."""

import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structuredbandits.environments import Bernoulli, Gaussian
from structuredbandits.errors import FileError, InvalidInput, InvalidParameter
from structuredbandits.problems import (
    Problem,
    describe_problems,
    load_problem,
    load_structure,
    problem_names,
)
from structuredbandits.structure import Box, Finite, Interval, Structure

CURVES = ("setup", "three-arms", "two-arms", "corner", "informative")
CONTINUOUS = (*CURVES, "linear", "plane", "pricing", "dose")


class TestNames:
    def test_all_of_them(self) -> None:
        assert problem_names() == (*CURVES, "linear", "plane", "movielens", "pricing", "dose")

    def test_case_does_not_matter(self) -> None:
        assert load_problem(" Three-Arms ").name == "three-arms"

    def test_an_unknown_name_lists_the_nearest(self) -> None:
        with pytest.raises(InvalidInput, match="no problem 'tree-arms'; did you mean 'three-arms'"):
            load_problem("tree-arms")
        with pytest.raises(InvalidInput, match="choose one of 'setup', 'three-arms'"):
            load_problem("zzz")

    def test_an_unknown_option_lists_those_there_are(self) -> None:
        with pytest.raises(InvalidInput, match="no option 'split_seed'; it has points, sound"):
            load_problem("setup", split_seed=1)
        with pytest.raises(InvalidInput, match="no option 'points'; it has split_seed"):
            load_problem("movielens", points=3)
        with pytest.raises(InvalidInput, match="no option 'name'"):
            load_problem("setup", name="corner")

    def test_the_table(self) -> None:
        rows = describe_problems()
        assert tuple(row.name for row in rows) == problem_names()
        for row in rows:
            problem = load_problem(row.name)
            assert row.arms == problem.structure.n_arms
            assert row.parameters == problem.structure.n_parameters
            assert len(row.thetas) == len(problem.thetas)
            assert row.title == problem.title


class TestLoadStructure:
    def test_embedded_names(self) -> None:
        assert load_structure("three-arms") == load_problem("three-arms").structure
        assert len(load_structure("setup", points=61).parameters) == 61

    def test_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        structure = load_structure("corner").with_(name="mine")
        structure.save(tmp_path / "setup")
        assert load_structure(tmp_path / "setup") == structure
        assert load_structure(str(tmp_path / "setup")) == structure
        monkeypatch.chdir(tmp_path)
        assert load_structure("setup") != structure
        assert load_structure("./setup") == structure
        assert load_structure(Path("setup")) == structure

    def test_refuses(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match="neither a file nor an embedded name; did you mean"):
            load_structure("tree-arms")
        with pytest.raises(InvalidInput, match=r"options \(points\) need an embedded name"):
            load_structure(tmp_path / "x", points=3)

    @pytest.mark.parametrize("name", problem_names())
    def test_every_embedded_structure_survives_a_file(self, name: str, tmp_path: Path) -> None:
        structure = load_structure(name)
        structure.save(tmp_path / "a")
        assert load_structure(tmp_path / "a") == structure


@pytest.mark.parametrize("name", problem_names())
class TestEveryProblem:
    def test_is_complete(self, name: str) -> None:
        problem = load_problem(name)
        assert problem.name == problem.structure.name == name
        assert problem.title
        assert "\n" not in problem.title
        assert not problem.title.endswith(".")
        assert problem.description.endswith(".")
        assert problem.thetas
        for theta in problem.thetas:
            assert problem.environment.means_at(theta).shape == (problem.structure.n_arms,)
            assert problem.label(theta)
        assert (problem.structure.prior is not None) == (name == "movielens")

    def test_is_the_same_every_time_and_can_be_sent(self, name: str) -> None:
        problem = load_problem(name)
        assert load_problem(name) == problem
        again = pickle.loads(pickle.dumps(problem))
        assert again == problem
        theta = problem.thetas[0]
        np.testing.assert_array_equal(
            again.environment.means_at(theta), problem.environment.means_at(theta)
        )


@pytest.mark.parametrize("name", CONTINUOUS)
def test_sound_cells_can_be_asked_for(name: str) -> None:
    points, cells = load_problem(name, points=11), load_problem(name, points=11, sound=True)
    assert points.structure.exact
    assert not cells.structure.exact
    # A θ of the figures, which is not on so coarse a grid, has the same exact means in both.
    for theta in points.thetas:
        np.testing.assert_allclose(
            points.environment.means_at(theta), cells.environment.means_at(theta), atol=1e-12
        )
        near = cells.structure.parameters.nearest(theta)
        means = cells.environment.means_at(theta)
        assert (cells.structure.lower[near] <= means).all()
        assert (means <= cells.structure.upper[near]).all()


def best(structure: Structure, low: float, high: float) -> set[str]:
    """The arms that are best somewhere strictly between two θ."""
    grid = structure.parameters.axes[0]
    rows = structure.optimal[(grid > low + 1e-9) & (grid < high - 1e-9)]
    return {structure.arms[k] for k in np.flatnonzero(rows.any(axis=0))}


def competitive(structure: Structure, theta: float) -> set[str]:
    """The competitive arms at θ from the exact pieces, by bisection-free bookkeeping.

    Every piece of the best arm is looked at on its own: where it passes through (or touches) its
    value at θ, the arms that are best there, or just left or right of it, are competitive.
    """
    pieces = structure.pieces
    assert pieces is not None
    means = structure.sign * structure.means_at(theta)
    chosen = pieces[int(np.argmax(means))]
    level = float(chosen(theta))
    marks = {chosen.low, chosen.high, theta, *chosen.theta.tolist()}
    flat = type(chosen)([(chosen.low, level), (chosen.high, level)])
    marks |= set(chosen.crossings(flat))
    for one in pieces:
        for other in pieces:
            marks |= set(one.crossings(other))
    found: set[str] = set()
    ordered = sorted(marks)
    middles = [(a + b) / 2 for a, b in pairwise(ordered)]
    width = 1e-7
    for x in (*ordered, *middles):
        for y in (x - width, x, x + width):
            inside = min(max(y, chosen.low), chosen.high)
            if abs(chosen(inside) - level) < 1e-5:
                values = structure.sign * structure.means_at(inside)
                found |= {structure.arms[k] for k in np.flatnonzero(values >= values.max() - 1e-6)}
    return found


class TestCurves:
    @pytest.mark.parametrize("name", CURVES)
    def test_the_grid(self, name: str) -> None:
        structure = load_structure(name)
        assert structure.parameters == Interval(0, 6, points=601)
        assert structure.sigma.tolist() == [2.0] * structure.n_arms
        assert isinstance(load_problem(name).environment, Gaussian)
        assert structure.pieces is not None
        for piece in structure.pieces:
            for theta in piece.theta:
                structure.parameters.index(theta)

    def test_setup(self) -> None:
        problem = load_problem("setup")
        structure = problem.structure
        assert problem.thetas == (3.0,)
        assert problem.horizon == 5_000
        assert structure.optimal_arm(3) == "2"
        assert best(structure, 0, 2) == {"1"}
        assert best(structure, 2, 4) == {"2"}
        assert competitive(structure, 3) == {"1", "2"}
        for theta, number in ((2.5, 2), (3.9, 2), (1, 1), (4.5, 1), (5.5, 1)):
            assert len(competitive(structure, theta)) == number
        # Arm 2 is within ε of 5 exactly on (2 − 2ε/3, 4 + 2ε/3).
        assert structure.pieces is not None
        for epsilon in (0.3, 1.2):
            second = structure.pieces[1]
            assert second(2 - 2 * epsilon / 3) == pytest.approx(5 - epsilon)
            assert second(4 + 2 * epsilon / 3) == pytest.approx(5 + epsilon)
        # Arm 3 is first best where arm 2 has risen by 1.5.
        crossing = structure.pieces[2].crossings(structure.pieces[1])[-1]
        assert second(crossing) - 5 == pytest.approx(1.5)

    def test_three_arms(self) -> None:
        problem = load_problem("three-arms")
        structure = problem.structure
        assert problem.thetas == (0.5, 1.5, 2.6)
        assert problem.horizon == 50_000
        assert best(structure, 0, 1) == {"2"}
        assert best(structure, 1, 2.5) == {"3"}
        assert best(structure, 2.5, 6) == {"1"}
        assert [len(competitive(structure, theta)) for theta in (0.5, 1.5, 2.6)] == [1, 2, 3]

    def test_two_arms(self) -> None:
        problem = load_problem("two-arms")
        structure = problem.structure
        assert {2.75, 3.25} <= set(problem.thetas)
        assert problem.horizon == 50_000
        assert best(structure, 0, 3) == {"2"}
        assert best(structure, 3, 6) == {"1"}
        assert len(competitive(structure, 4)) == 2
        assert len(competitive(structure, 2.5)) == len(competitive(structure, 5.5)) == 1

    def test_corner(self) -> None:
        problem = load_problem("corner")
        structure = problem.structure
        assert problem.horizon == 5_000
        assert structure.optimal_arm(3) == "1"
        assert competitive(structure, 3) == {"1", "2"}
        # Where arm 1 has the value that it has at 3, it is itself among the best.
        flat = structure.means[:, 0] == structure.means_at(3)[0]
        assert structure.optimal[flat, 0].all()
        assert best(structure, 0, 4) == {"1"}
        assert best(structure, 4, 6) == {"2"}

    def test_informative(self) -> None:
        problem = load_problem("informative")
        structure = problem.structure
        assert problem.thetas == (3.1,)
        assert problem.horizon == 50_000
        assert not structure.optimal[:, 2].any()
        assert structure.means.var(axis=0).argmax() == 2
        values = [len(np.unique(structure.means[:, k].round(9))) for k in range(3)]
        assert np.argmax(values) == 1
        assert structure.means_at(3)[2] == 4
        assert structure.means_at(2.9999)[2] == 1


class TestVectors:
    def test_linear(self) -> None:
        problem = load_problem("linear")
        assert problem.structure.parameters == Box([(-1, 1), (-1, 1)], points=41)
        assert problem.thetas == ((0.9, 0.9), (0.5, 0.5))
        assert problem.horizon == 50_000
        assert problem.structure.features is not None
        assert problem.structure.features.tolist() == [[2, 1], [1, 1.5], [3, -1]]
        np.testing.assert_allclose(problem.environment.means_at((0.5, 0.5)), [1.5, 1.25, 1.0])
        # At (0.9, 0.9) arm 1 earns 2.7, more than where another arm is best; at (0.5, 0.5) not.
        assert self.levels(problem.structure, (0.9, 0.9)) == {"1"}
        assert self.levels(problem.structure, (0.5, 0.5)) == {"1", "2", "3"}

    def test_plane(self) -> None:
        problem = load_problem("plane")
        assert problem.structure.parameters == Box([(-1, 1), (-1, 1)], points=41)
        assert problem.thetas == ((0.9, 0.2), (-0.2, 0.1))
        assert problem.horizon == 50_000
        means = problem.environment.means_at((0.33, -0.71))
        np.testing.assert_allclose(means, [0.33 - 0.71, 0.33 + 0.71, 0.71])
        assert self.levels(problem.structure, (0.9, 0.2)) == {"1"}
        assert self.levels(problem.structure, (-0.2, 0.1)) == {"1", "2", "3"}

    @staticmethod
    def levels(structure: Structure, theta: tuple[float, float]) -> set[str]:
        """The arms that are best on the grid where the best arm at θ has its value there."""
        k = structure.arm_index(structure.optimal_arm(theta))
        near = np.abs(structure.means[:, k] - structure.means_at(theta)[k]) < 1e-9
        return {structure.arms[j] for j in np.flatnonzero(structure.optimal[near].any(axis=0))}


class TestPricing:
    structure = load_structure("pricing")

    def test_revenue(self) -> None:
        assert self.structure.means_at(55)[0] == pytest.approx(0.8 * 20)
        assert self.structure.means_at(55)[2] == pytest.approx(0.8 * 40 * 15 / 20)
        assert self.structure.means_at(55)[4:].tolist() == [0, 0, 0, 0]
        assert self.structure.sigma.tolist() == [10, 15, 20, 25, 30, 35, 40, 45]
        environment = load_problem("pricing").environment
        assert isinstance(environment, Bernoulli)
        cumulative, values = environment.quantile_table(55)
        assert values.tolist() == [0, 20, 30, 40, 50, 60, 70, 80, 90]
        np.testing.assert_allclose(
            np.diff(cumulative, prepend=0) @ values, environment.means_at(55)
        )

    def test_every_price_is_the_best_somewhere(self) -> None:
        assert self.structure.optimal.any(axis=0).all()
        chosen = self.structure.means.argmax(axis=1)
        assert (np.diff(chosen) >= 0).all()

    def test_a_price_that_sells_to_all_keeps_the_higher_ones_in_play(self) -> None:
        numbers = {t: len(competitive(self.structure, t)) for t in (49, 62, 84, 92, 115)}
        assert numbers == {49: 1, 62: 6, 84: 4, 92: 3, 115: 1}
        assert competitive(self.structure, 42) == set(self.structure.arms)


class TestDose:
    structure = load_structure("dose")

    def test_scores(self) -> None:
        assert self.structure.arms[2] == "20 mg"
        assert self.structure.means_at(0)[2] == pytest.approx(100 - 2 * 3)
        assert self.structure.means_at(-1)[2] == pytest.approx(50 - 2 * 3)
        assert self.structure.means_at(3.5)[2] == pytest.approx(100 - 60 - 2 * 3)

    def test_every_dose_is_the_best_for_somebody(self) -> None:
        assert self.structure.optimal.any(axis=0).all()
        chosen = self.structure.means.argmax(axis=1)
        assert (np.diff(chosen) <= 0).all()

    def test_the_number_of_competitive_doses_varies(self) -> None:
        numbers = {t: len(competitive(self.structure, t)) for t in (-3.2, -0.5, 1.5, 3)}
        # At -3.2 160 mg is too weak, and scores the same where it does harm and 40 mg is best.
        assert numbers == {-3.2: 2, -0.5: 3, 1.5: 2, 3: 1}
        assert competitive(self.structure, -3.2) == {"160 mg", "40 mg"}


class TestProblem:
    structure = Structure.from_table([[1, 2], [2, 1]], Finite(["x", "y"]), sigma=1)

    def problem(self, **changes: object) -> Problem:
        given: dict[str, object] = {
            "name": "p",
            "structure": self.structure,
            "environment": Gaussian(self.structure),
            "thetas": ["x"],
            "horizon": 10,
            "description": "A test.",
            "title": "A test",
        }
        return Problem(**{**given, **changes})  # type: ignore[arg-type]

    def test_costs_are_allowed(self) -> None:
        costs = self.structure.with_(minimize=True)
        assert self.problem(structure=costs, environment=Gaussian(costs)).thetas == ("x",)

    def test_refuses(self) -> None:
        other = Structure.from_table([[1, 2]], arms=["a", "b"], sigma=1)
        with pytest.raises(InvalidInput, match=r"problem 'p' has arms \('a', 'b'\)"):
            self.problem(environment=Gaussian(other))
        with pytest.raises(InvalidParameter, match="θ = z is not in Θ"):
            self.problem(thetas=["x", "z"])
        with pytest.raises(InvalidInput, match="'three-arms' is not a structure; give one"):
            self.problem(structure="three-arms")
        for environment in (None, "p", Gaussian):
            with pytest.raises(InvalidInput, match="is not an environment; give for example"):
                self.problem(environment=environment)
        with pytest.raises(InvalidInput, match="name = 5 is not text; give a short name"):
            self.problem(name=5)
        for horizon in (0, -1, 2.5, True, None):
            with pytest.raises(InvalidInput, match="is not a number of rounds"):
                self.problem(horizon=horizon)


@pytest.mark.parametrize("thetas", [0.5, "0.5", None])
def test_a_problem_needs_a_list_of_theta(thetas: Any) -> None:
    structure = load_structure("three-arms")
    with pytest.raises(InvalidInput, match=r"thetas = .* is not a list; give a tuple such as"):
        Problem("x", structure, Gaussian(structure), thetas, 10, "d", "t")


@pytest.mark.parametrize(
    ("name", "part"),
    [("", "is neither a file nor an embedded name"), ("a" * 5000, "File name too long; give a")],
    ids=["empty", "long"],
)
def test_a_name_that_no_file_can_have(name: str, part: str) -> None:
    with pytest.raises(FileError) as caught:
        load_structure(name)
    assert part in str(caught.value)
    assert len(str(caught.value)) < 300
