"""Structures: what they compute, that they cannot be changed, and that every check bites."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from structuredbandits.errors import InvalidParameter, InvalidStructure, UnknownArm
from structuredbandits.structure import Box, Finite, Interval, Structure

NAN, INF = float("nan"), float("inf")


def table(**options: Any) -> Structure:
    """Two θ, three arms."""
    means = [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    arguments = {"arms": ["low", "mid", "high"], "sigma": 2.0, **options}
    return Structure.from_table(means, Finite(["x", "y"]), **arguments)


class TestWhatIsKnown:
    def test_attributes(self) -> None:
        structure = table(sigma=[1, 2, 3], prior=[1, 3], counts=np.ones((2, 3)), name="t")
        assert structure.arms == ("low", "mid", "high")
        assert (structure.n_arms, structure.n_parameters) == (3, 2)
        assert structure.exact
        assert structure.lower is structure.means is structure.upper
        assert structure.means.dtype == np.float64
        assert structure.means.flags.c_contiguous
        assert structure.sigma.tolist() == [1, 2, 3]
        assert structure.prior is not None
        assert structure.prior.tolist() == [0.25, 0.75]
        assert structure.counts is not None
        assert structure.standard_errors is None
        assert structure.pieces is None
        assert structure.features is None
        assert structure.link is None
        assert structure.name == "t"
        assert structure.sign == 1.0
        assert structure.label(1) == "y"

    def test_names_and_parameters_have_defaults(self) -> None:
        structure = Structure.from_table([[1, 2], [3, 4], [5, 6]], sigma=1)
        assert structure.arms == ("1", "2")
        assert list(structure.parameters) == [0, 1, 2]
        assert structure.sigma.tolist() == [1, 1]

    def test_one_parameter_is_enough(self) -> None:
        assert Structure.from_table([[1, 2]], sigma=1).optimal.tolist() == [[False, True]]

    def test_the_tolerance_follows_the_unit(self) -> None:
        for unit in (1e-9, 1.0, 1e9):
            means = unit * np.array([[1.0, 1.0 - 1e-10], [0.0, 1e-8]])
            structure = Structure.from_table(means, sigma=1)
            assert structure.tolerance == pytest.approx(1e-9 * unit)
            assert structure.optimal.tolist() == [[True, True], [False, True]]

    def test_bounds(self) -> None:
        structure = Structure.from_bounds([[0, 2, 5]], [[4, 4, 6]], sigma=1)
        assert not structure.exact
        assert structure.means.tolist() == [[2, 3, 5.5]]
        assert structure.optimal.tolist() == [[False, False, True]]
        wide = Structure.from_bounds([[0, 2, 3]], [[4, 4, 6]], sigma=1)
        assert wide.optimal.tolist() == [[True, True, True]]
        assert wide.tolerance == pytest.approx(6e-9)

    def test_bounds_that_are_equal_are_exact(self) -> None:
        structure = Structure.from_bounds([[0, 2]], [[0, 2]], sigma=1)
        assert structure.exact
        assert structure == Structure.from_table([[0, 2]], sigma=1)

    @given(
        hnp.arrays(float, (4, 3), elements=st.floats(-100, 100)),
        hnp.arrays(float, (4, 3), elements=st.floats(0, 10)),
    )
    def test_costs_are_rewards_with_the_other_sign(self, low: Any, width: Any) -> None:
        costs = Structure.from_bounds(low, low + width, sigma=1, minimize=True)
        rewards = Structure.from_bounds(-(low + width), -low, sigma=1)
        np.testing.assert_array_equal(costs.optimal, rewards.optimal)
        assert costs.sign == -1.0
        for i in range(4):
            assert costs.optimal_arm(i) == rewards.optimal_arm(i)

    @given(hnp.arrays(float, (5, 3), elements=st.integers(-3, 3)))
    def test_optimal_is_the_definition(self, means: Any) -> None:
        structure = Structure.from_table(means, sigma=1)
        for i in range(5):
            best = max(means[i])
            assert structure.optimal[i].tolist() == [value == best for value in means[i]]
        assert structure.optimal.any(axis=1).all()

    def test_arms_are_found_by_name_or_position(self) -> None:
        structure = table()
        assert structure.arm_index("mid") == structure.arm_index(1) == 1
        assert structure.arm_index(np.int64(2)) == 2  # type: ignore[arg-type]
        with pytest.raises(UnknownArm, match="no arm 'hgih'; did you mean 'high'"):
            structure.arm_index("hgih")
        with pytest.raises(UnknownArm, match="positions run from 0 to 2"):
            structure.arm_index(3)
        with pytest.raises(UnknownArm, match="position -1"):
            structure.arm_index(-1)
        for wrong in (1.0, None, True):
            with pytest.raises(UnknownArm, match="is not an arm"):
                structure.arm_index(wrong)  # type: ignore[arg-type]


class TestMeansAt:
    def test_a_finite_set_has_only_its_members(self) -> None:
        assert table().means_at("y").tolist() == [3, 2, 1]
        assert table().optimal_arm("x") == "high"
        with pytest.raises(InvalidParameter, match="θ = z is not in Θ"):
            table().means_at("z")

    def test_a_table_interpolates_on_an_interval(self) -> None:
        grid = Interval(0, 2, points=2, include=[0.5])
        structure = Structure.from_table([[0, 4], [1, 2], [4, 2]], grid, sigma=1)
        assert structure.means_at(0.25).tolist() == [0.5, 3.0]
        assert structure.means_at(1.25).tolist() == [2.5, 2.0]
        assert structure.means_at(2).tolist() == [4, 2]

    @given(st.floats(-1, 1), st.floats(0, 3))
    def test_a_table_interpolates_bilinear_functions_exactly(self, x: float, y: float) -> None:
        box = Box([(-1, 1), (0, 3)], points=[4, 5])
        a, b = np.asarray(box.points).T
        structure = Structure.from_table(np.stack([a + 2 * b, a * b], axis=1), box, sigma=1)
        np.testing.assert_allclose(structure.means_at((x, y)), [x + 2 * y, x * y], atol=1e-12)

    def test_bounds_give_the_middle(self) -> None:
        structure = Structure.from_bounds([[0, 1]], [[2, 1]], Finite(["x"]), sigma=1)
        assert structure.means_at("x").tolist() == [1, 1]

    def test_pieces_are_exact_between_grid_points(self) -> None:
        structure = Structure.from_breakpoints(
            {"a": [(0, 0), (3, 3), (3, 5), (6, 5)], "b": [(0, 1), (6, 1)]}, sigma=1, points=3
        )
        assert structure.means_at(1.234567).tolist() == [1.234567, 1.0]
        assert structure.means_at(3).tolist() == [5, 1]
        assert structure.means_at(np.nextafter(3, 0))[0] == pytest.approx(3)

    def test_a_result_can_be_changed_without_harm(self) -> None:
        structure = table()
        structure.means_at("x")[0] = 99.0
        assert structure.means_at("x")[0] == 1.0


class TestValue:
    def test_equal_by_value_and_hashable(self) -> None:
        assert table() == table()
        assert hash(table()) == hash(table())
        assert table() is not table()
        assert table() != "table"
        different = [
            table(sigma=1.0),
            table(name="other"),
            table(minimize=True),
            table(prior=[1, 1]),
            table(counts=np.ones((2, 3))),
            table(standard_errors=np.ones((2, 3))),
            table(arms=["low", "mid", "top"]),
            table().with_(arms=["mid", "low", "high"]),
            Structure.from_table(table().means, arms=table().arms, sigma=2.0),
        ]
        assert all(other != table() for other in different)
        assert len({other.digest for other in different}) == len(different)

    def test_the_name_is_no_part_of_the_digest(self) -> None:
        assert table(name="a").digest == table(name="b").digest

    def test_the_digest_is_stable(self) -> None:
        # A stored policy carries it: a change here makes old states unreadable.
        assert table().digest == "2e03799711e77be6"

    def test_signed_zero_does_not_matter(self) -> None:
        assert Structure.from_table([[0.0, 1]], sigma=1) == Structure.from_table(
            [[-0.0, 1]], sigma=1
        )

    def test_arrays_are_copies_and_read_only(self) -> None:
        means = np.array([[1.0, 2.0]])
        structure = Structure.from_table(means, sigma=1, prior=[1], counts=[[1, 2]])
        means[0, 0] = 99.0
        assert structure.means[0, 0] == 1.0
        loaded = pickle.loads(pickle.dumps(structure))
        for one in (structure, loaded):
            for name in ("means", "lower", "upper", "sigma", "prior", "counts", "optimal"):
                with pytest.raises(ValueError, match="read-only"):
                    getattr(one, name)[...] = 0
        with pytest.raises(AttributeError, match="cannot be changed"):
            structure.sigma = np.ones(2)

    def test_pickling_and_copying(self) -> None:
        structures = [
            table(),
            Structure.from_bounds([[0, 1]], [[1, 2]], sigma=1),
            Structure.linear([[1, 2], [2, 1]], Box([(0, 1), (0, 1)], points=3), sigma=1),
            Structure.from_breakpoints({"a": [(0, 1), (6, 2)], "b": [(0, 2), (6, 1)]}, sigma=1),
        ]
        for structure in structures:
            again = pickle.loads(pickle.dumps(structure))
            assert again == structure
            assert again.digest == structure.digest
            assert (again.lower is again.means) == structure.exact
            assert copy.deepcopy(structure) is structure
            assert copy.copy(structure) is structure

    def test_lambdas_survive_pickling(self) -> None:
        structure = Structure.from_functions(
            {"a": lambda t: t**2, "b": lambda t: float(t > 0.5)}, Interval(0, 1, points=3), sigma=1
        )
        again = pickle.loads(pickle.dumps(structure))
        assert again == structure
        np.testing.assert_array_equal(again.means_at(0.3), structure.means_at(0.3))
        assert again.means_at(0.3).tolist() == [0.3**2, 0.0]


class TestWith:
    def test_some_arms(self) -> None:
        full = table(sigma=[1, 2, 3], counts=[[1, 2, 3], [4, 5, 6]], prior=[1, 3], name="n")
        part = full.with_(arms=["high", 0])
        assert part.arms == ("high", "low")
        assert part.means.tolist() == [[3, 1], [1, 3]]
        assert part.sigma.tolist() == [3, 1]
        assert part.counts is not None
        assert part.counts.tolist() == [[3, 1], [6, 4]]
        assert part.prior is not None
        assert part.prior.tolist() == [0.25, 0.75]
        assert part.name == "n"
        assert part.exact
        assert full.n_arms == 3

    def test_other_changes(self) -> None:
        changed = table().with_(sigma=5, minimize=True, name="costs", prior=[2, 2])
        assert changed.sigma.tolist() == [5, 5, 5]
        assert changed.minimize
        assert changed.name == "costs"
        assert changed == table(sigma=5, minimize=True, name="costs", prior=[1, 1])
        assert table().with_() == table()

    def test_models_follow(self) -> None:
        functions = {"a": lambda t: t, "b": lambda t: 1 - t, "c": lambda t: 0 * t}
        by_functions = Structure.from_functions(
            functions, Interval(0, 1, points=3), sigma=1, lipschitz=1
        ).with_(arms=["b", "a"])
        assert by_functions.means_at(0.3).tolist() == [0.7, 0.3]
        assert not by_functions.exact
        breakpoints = {"a": [(0, 0), (1, 1)], "b": [(0, 1), (1, 0)], "c": [(0, 0), (1, 0)]}
        pieces = Structure.from_breakpoints(breakpoints, sigma=1, points=3).with_(arms=["c", "b"])
        assert pieces.means_at(0.3).tolist() == [0, 0.7]
        box = Box([(0, 1), (0, 1)], points=3)
        vectors = Structure.linear([[1, 0], [0, 1], [1, 1]], box, sigma=1).with_(arms=["3", "1"])
        assert vectors.means_at((0.25, 0.5)).tolist() == [0.75, 0.25]

    def test_refuses(self) -> None:
        with pytest.raises(UnknownArm, match="no arm 'top'"):
            table().with_(arms=["low", "top"])
        with pytest.raises(InvalidStructure, match="1 arm leaves nothing to choose"):
            table().with_(arms=["low"])
        with pytest.raises(InvalidStructure, match="called 'low'"):
            table().with_(arms=["low", "low"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Structure.from_table([[1, NAN]], sigma=1), "mean of arm '2' at θ = 0 is nan"),
        (lambda: Structure.from_table([[1, 2], [-INF, 1]], sigma=1), "arm '1' at θ = 1 is -inf"),
        (lambda: Structure.from_table([[-1e308, 1e308]], sigma=1), "use another unit"),
        (lambda: Structure.from_table([1, 2], sigma=1), r"means has shape \(2,\)"),
        (lambda: Structure.from_table([], sigma=1), r"means has shape \(0,\)"),
        (lambda: Structure.from_table([["a", "b"]], sigma=1), "cannot be read as numbers"),
        (lambda: Structure.from_table([[1, 2], [1]], sigma=1), "cannot be read as numbers"),
        (lambda: Structure.from_table([[1], [2]], sigma=1), "1 arm leaves nothing to choose"),
        (
            lambda: Structure.from_table([[1, 2]], Finite([1, 2]), sigma=1),
            r"shape \(1, 2\), but there are 2 θ and 2 arms",
        ),
        (lambda: table(arms=["a", "b"]), "2 arm names were given for 3 arms"),
        (lambda: table(arms=["a", "b", "a"]), "two arms are called 'a'"),
        (lambda: table(arms=["a", "b", " "]), "arm 3 has an empty name"),
        (lambda: table(arms="abc"), "is a single text"),
        (lambda: table(sigma=0), "sigma = 0 for arm 'low' is not above 0"),
        (lambda: table(sigma=[1, -2, 1]), "sigma = -2 for arm 'mid' is not above 0"),
        (lambda: table(sigma=NAN), "sigma = nan"),
        (lambda: table(sigma=INF), "sigma = inf"),
        (lambda: table(sigma=[1, 2]), r"sigma has shape \(2,\) for 3 arms"),
        (lambda: table(sigma="two"), "sigma cannot be read as numbers"),
        (lambda: table(prior=[1]), r"prior has shape \(1,\) for 2 θ"),
        (lambda: table(prior=[0, 0]), "not all 0"),
        (lambda: table(prior=[-1, 2]), "not negative"),
        (lambda: table(prior=[NAN, 2]), "finite weights"),
        (lambda: table(prior=[INF, 2]), "finite weights"),
        (lambda: table(counts=[[1, 2]]), r"counts has shape \(1, 2\), but the means have \(2, 3\)"),
        (lambda: table(counts=-np.ones((2, 3))), "counts holds -1"),
        (lambda: table(standard_errors=np.full((2, 3), NAN)), "standard_errors holds nan"),
        (
            lambda: Structure.from_bounds([[1, 2]], [[1, 1.5]], sigma=1),
            "bounds of arm '2' at θ = 0 cross: lower 2 is above upper 1.5",
        ),
        (lambda: Structure.from_bounds([[1, 2]], [[INF, 3]], sigma=1), "bound of arm '1'"),
        (lambda: Structure.from_bounds([[1, 2]], [[1, 2, 3]], sigma=1), r"shape \(1, 3\)"),
        (lambda: Structure.from_bounds([[1, 2]], [[3, 4], [5, 6]], sigma=1), r"shape \(2, 2\)"),
    ],
)
def test_bad_numbers_are_refused(make: Callable[[], Structure], message: str) -> None:
    with pytest.raises(InvalidStructure, match=message):
        make()


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(TypeError, match="no option 'minimise'; it takes minimize"):
        table(minimise=True)
