"""Where rewards come from: true means, tables of quantiles, and streams that can be repeated."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from structuredbandits.environments import (
    Bernoulli,
    Bounded,
    Environment,
    Gaussian,
    NormalEnvironment,
    Ratings,
    TableEnvironment,
)
from structuredbandits.environments._reward_stream import TableLaw
from structuredbandits.errors import (
    InvalidInput,
    InvalidParameter,
    InvalidStructure,
    UnknownArm,
)
from structuredbandits.structure import Finite, Interval, Structure

SHARES = Structure.from_breakpoints(
    {"a": [(0, 0), (1, 1)], "b": [(0, 0.75), (1, 0.25)]}, sigma=[0.5, 2.0], points=5
)
COUNTS = np.array([[[1, 0, 3], [2, 2, 0]], [[0, 5, 0], [1, 1, 1]]])
STARS = Ratings(COUNTS, [1, 2, 4], Finite(["x", "y"]), ["a", "b"])
CASES: list[tuple[Environment, Any]] = [
    (Gaussian(SHARES), 0.3),
    (Gaussian(SHARES, sigma=[0, 1]), 0.3),
    (Bernoulli(SHARES), 0.3),
    (Bernoulli(SHARES, prize=[2, 1]), 0.3),
    (STARS, "x"),
    (Bounded(SHARES.with_(rewards="bounded", limits=(0, 1))), 0.3),
    (Bounded(SHARES.with_(rewards="bounded", limits=[(-1, 2), (0, 1)], noise=0.2)), 0.3),
]


@pytest.mark.parametrize(("environment", "theta"), CASES)
class TestEveryEnvironment:
    def test_is_an_environment(self, environment: Environment, theta: Any) -> None:
        assert isinstance(environment, Environment)
        normal = isinstance(environment, NormalEnvironment)
        assert normal != isinstance(environment, TableEnvironment)
        assert environment.arms == ("a", "b")
        assert environment.means_at(theta).shape == (2,)

    def test_value_semantics(self, environment: Environment, theta: Any) -> None:
        for other in (pickle.loads(pickle.dumps(environment)), copy.deepcopy(environment)):
            assert other == environment
            assert hash(other) == hash(environment)
        assert sum(environment == other for other, _ in CASES) == 1
        with pytest.raises(AttributeError):
            environment.arms = ()  # type: ignore[misc]

    def test_seed_and_run_fix_the_rewards(self, environment: Environment, theta: Any) -> None:
        def draws(seed: int, run: int) -> list[float]:
            stream = environment.rewards(theta, seed, run)
            return [stream.draw(k) for k in (0, 1) * 20]

        assert draws(3, 5) == draws(3, 5)
        assert draws(3, 5) != draws(3, 6)
        assert draws(3, 5) != draws(4, 5)

    def test_the_same_luck_whichever_arms_are_pulled(
        self, environment: Environment, theta: Any
    ) -> None:
        one, other = environment.rewards(theta, 1, 0), environment.rewards(theta, 1, 0)
        for _ in range(10):
            one.draw("a")
            other.draw("b")
        assert [one.draw(1) for _ in range(9)] == [other.draw("b") for _ in range(9)]

    def test_the_mean_of_many_rewards(self, environment: Environment, theta: Any) -> None:
        # Seed 0; 4.5 standard errors are exceeded with probability 7e-6 an arm, 7e-5 in all.
        number = 20_000
        for k, mean in enumerate(environment.means_at(theta)):
            stream = environment.rewards(theta, seed=0, run=k)
            rewards = np.array([stream.draw(k) for _ in range(number)])
            error = max(rewards.std(), 1e-12) / np.sqrt(number)
            assert abs(rewards.mean() - mean) <= 4.5 * error

    def test_bad_questions_are_refused(self, environment: Environment, theta: Any) -> None:
        with pytest.raises(InvalidParameter, match="is not in Θ"):
            environment.means_at(7.5)
        with pytest.raises(InvalidParameter, match="is not in Θ"):
            environment.rewards("nowhere", 0, 0)
        stream = environment.rewards(theta, 0)
        for arm in ("c", 2, -1, None, True, 0.0):
            with pytest.raises(UnknownArm, match=r"there is no arm .*; choose one of 'a', 'b'"):
                stream.draw(arm)  # type: ignore[arg-type]
        # A refused call uses up no random number.
        assert stream.draw("a") == environment.rewards(theta, 0).draw("a")
        for seed, run in ((-1, 0), (0, -1), (0.5, 0), (True, 0)):
            with pytest.raises(InvalidInput, match="is not a whole number from 0 on"):
                environment.rewards(theta, seed, run)  # type: ignore[arg-type]


def test_gaussian_streams_are_the_documented_generator() -> None:
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(7, spawn_key=(2,))))
    stream = Gaussian(SHARES).rewards(0.25, seed=7, run=2)
    for k in (0, 1, 1, 0):
        expected = SHARES.means_at(0.25)[k] + SHARES.sigma[k] * generator.standard_normal()
        assert stream.draw(k) == expected


@pytest.mark.parametrize(
    ("environment", "theta"), [(Bernoulli(SHARES, prize=[1, 3]), 0.3), (STARS, "x")]
)
def test_table_streams_are_the_documented_rule(environment: TableEnvironment, theta: Any) -> None:
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(7, spawn_key=(2,))))
    stream = environment.rewards(theta, seed=7, run=2)
    cumulative, values = environment.quantile_table(theta)
    for k in (0, 1) * 50:
        u = generator.random()
        first = next(v for v in range(len(values)) if u < cumulative[k, v])
        assert stream.draw(k) == values[first]


def test_a_number_on_the_border_belongs_to_the_next_value() -> None:
    class Fixed:
        """A generator that always draws the same number."""

        def __init__(self, u: float) -> None:
            self.random = lambda: u

    law = TableLaw(np.array([[0.0, 0.25, 1.0]]), np.array([1.0, 2.0, 3.0]))
    below_one = float(np.nextafter(1, 0))
    for u, value in ((0.0, 2.0), (0.24, 2.0), (0.25, 3.0), (below_one, 3.0)):
        assert law.reward(0, Fixed(u)) == value  # type: ignore[arg-type]


class TestGaussian:
    def test_location_and_scale(self) -> None:
        environment = Gaussian(SHARES)
        assert environment.location(0.5).tolist() == [0.5, 0.5]
        assert environment.scale(0.5).tolist() == [0.5, 2.0]
        assert Gaussian(SHARES, sigma=3).scale(0.5).tolist() == [3, 3]
        assert Gaussian(SHARES, sigma=(1, 2)).scale(0.5).tolist() == [1, 2]

    def test_between_grid_points_the_means_are_exact(self) -> None:
        assert Gaussian(SHARES).means_at(0.3)[0] == pytest.approx(0.3)

    def test_one_number_is_the_same_as_equal_ones(self) -> None:
        assert Gaussian(SHARES, sigma=3) == Gaussian(SHARES, sigma=[3.0, 3.0])

    @pytest.mark.parametrize("sigma", [-1, float("nan"), float("inf"), [1, 2, 3], "x"])
    def test_bad_sigma_is_refused(self, sigma: Any) -> None:
        with pytest.raises(InvalidStructure, match="sigma"):
            Gaussian(SHARES, sigma=sigma)


class TestBernoulli:
    def test_zero_and_one(self) -> None:
        cumulative, values = Bernoulli(SHARES).quantile_table(0.25)
        assert values.tolist() == [0, 1]
        assert cumulative.tolist() == [[0.75, 1], [0.375, 1]]

    def test_certain_events(self) -> None:
        never = Bernoulli(SHARES).rewards(0, seed=0)
        always = Bernoulli(SHARES).rewards(1, seed=0)
        assert {never.draw("a") for _ in range(200)} == {0.0}
        assert {always.draw("a") for _ in range(200)} == {1.0}

    def test_prizes(self) -> None:
        environment = Bernoulli(SHARES, prize=[4, 1])
        cumulative, values = environment.quantile_table(0.5)
        assert values.tolist() == [0, 1, 4]
        assert cumulative.tolist() == [[0.875, 0.875, 1], [0.5, 1, 1]]
        np.testing.assert_allclose(np.diff(cumulative, prepend=0) @ values, [0.5, 0.5])

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda s: Bernoulli(s), "arm '2' has mean 1.5 somewhere in Θ"),
            (lambda s: Bernoulli(s.with_(minimize=True)), "arm '2' has mean 1.5"),
            (lambda s: Bernoulli(s, prize=0), "a prize is 0"),
            (lambda s: Bernoulli(s, prize=[2, -1]), "prize = -1 for arm '2'"),
            (
                lambda s: Bernoulli(Structure.from_table([[0.5, -0.1]], sigma=1)),
                "arm '2' has mean -0.1 somewhere",
            ),
        ],
    )
    def test_refuses(self, make: Callable[[Structure], Bernoulli], message: str) -> None:
        with pytest.raises(InvalidStructure, match=message):
            make(Structure.from_table([[0.5, 1.5]], sigma=1))

    def test_refuses_a_mean_between_grid_points(self) -> None:
        peak = Structure.from_functions(
            {"a": lambda t: 1.0 if t in (0, 1) else 2.0, "b": lambda t: 0.5},
            Interval(0, 1, points=2),
            sigma=1,
        )
        environment = Bernoulli(peak)
        with pytest.raises(InvalidStructure, match=r"arm 'a' has mean 2 at θ = 0\.3"):
            environment.quantile_table(0.3)


class TestRatings:
    def test_means_and_quantiles(self) -> None:
        assert STARS.means_at("x").tolist() == [13 / 4, 1.5]
        cumulative, values = STARS.quantile_table("y")
        assert values.tolist() == [1, 2, 4]
        np.testing.assert_allclose(cumulative, [[0, 1, 1], [1 / 3, 2 / 3, 1]])

    @given(hnp.arrays(np.int64, (3, 2, 4), elements=st.integers(0, 10**6)))
    def test_tables_end_in_one_and_have_the_mean(self, counts: Any) -> None:
        counts[:, :, 0] += 1
        environment = Ratings(counts, [-1, 0, 2, 7], Finite([1, 2, 3]), ["a", "b"])
        for theta in (1, 2, 3):
            cumulative, values = environment.quantile_table(theta)
            assert (cumulative[:, -1] == 1.0).all()
            assert (np.diff(cumulative) >= 0).all()
            means = np.diff(cumulative, prepend=0) @ values
            np.testing.assert_allclose(means, environment.means_at(theta), atol=1e-9)

    def test_frequencies_of_draws(self) -> None:
        # Seed 1. Pearson's statistic with 2 degrees of freedom exceeds 22 with probability 2e-5.
        stream = STARS.rewards("y", seed=1)
        draws = np.array([stream.draw("b") for _ in range(9_000)])
        observed = np.array([(draws == value).sum() for value in STARS.values])
        assert observed.sum() == 9_000
        assert ((observed - 3_000) ** 2 / 3_000).sum() < 22

    def test_a_value_that_was_never_counted_is_never_drawn(self) -> None:
        stream = STARS.rewards("x", seed=2)
        assert {stream.draw("a") for _ in range(2_000)} == {1.0, 4.0}

    def test_cannot_be_changed(self) -> None:
        for array in (STARS.counts, STARS.values, STARS.means):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
        with pytest.raises(AttributeError, match="cannot be changed"):
            STARS.values = np.ones(3)
        assert Ratings(COUNTS + 1, [1, 2, 4], Finite(["x", "y"]), ["a", "b"]) != STARS
        assert repr(STARS) == "<Ratings: 16 of 3 values, 2 θ, 2 arms>"

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"counts": -COUNTS}, "counts hold -1"),
            ({"counts": COUNTS * 0.5}, "counts hold 0.5"),
            ({"counts": COUNTS * np.nan}, "counts hold nan"),
            ({"counts": COUNTS + np.inf}, "counts hold inf"),
            ({"counts": COUNTS * 0}, "arm 'a' has no counts at θ = x"),
            ({"counts": COUNTS[0]}, r"counts have shape \(2, 3\)"),
            ({"values": [1, 2]}, r"counts have shape \(2, 2, 3\), .* 2 values"),
            ({"values": [2, 1, 4]}, "do not increase"),
            ({"values": [1, 1, 4]}, "do not increase"),
            ({"values": [1, 2, np.nan]}, "finite rewards"),
            ({"values": []}, "finite rewards"),
            ({"arms": ["a", "a"]}, "two arms are called 'a'"),
            ({"arms": ["a"]}, "1 arm leaves nothing"),
            ({"parameters": Interval(0, 1, points=2)}, "need a finite Θ"),
        ],
    )
    def test_refuses(self, change: dict[str, Any], message: str) -> None:
        good: dict[str, Any] = {
            "counts": COUNTS,
            "values": [1, 2, 4],
            "parameters": Finite(["x", "y"]),
            "arms": ["a", "b"],
        }
        with pytest.raises(InvalidStructure, match=message):
            Ratings(**{**good, **change})


@pytest.mark.parametrize("make", [Gaussian, Bernoulli])
@pytest.mark.parametrize("wrong", ["three-arms", None, SHARES.means])
def test_only_a_structure_has_true_means(make: Any, wrong: object) -> None:
    with pytest.raises(InvalidInput, match="is not a structure; give one, such as"):
        make(wrong)
