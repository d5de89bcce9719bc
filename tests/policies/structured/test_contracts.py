"""What holds for every structured policy: one run, however it is driven, stored or restarted."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits._compiled.lazy_rows import LazyTable
from structuredbandits.environments import Gaussian
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.policies.structured.ossb import exploration_rates
from structuredbandits.simulation.seeds import policy_sequence

# Linear in a scalar θ, rising or falling: every system applies.
LINES = sb.Structure.from_functions(
    {"a": lambda x: x, "b": lambda x: 2.5 - x, "c": lambda x: 1 + 0.25 * x},
    sb.Interval(0, 3, points=61),
    sigma=1.0,
)
GROUPS = sb.UCBG(groups=(("a", "c"), ("b",)))
ALGORITHMS: list[Algorithm] = [
    sb.PosteriorSampling(),
    sb.IDS(),
    sb.LinearGreedy(),
    sb.OFUL(),
    sb.GLMUCB(),
    sb.WAGP(),
    GROUPS,
    sb.OSSB(),
    sb.MUCB(),
    sb.FPUCB(),
    sb.CROP(),
    sb.ValueOfInformation(),
    sb.make_algorithm("ts-cj-kl"),
]
EACH = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.label)


def play(policy: sb.Policy, rewards: np.ndarray, rounds: int) -> list[str]:
    chosen = []
    for t in range(rounds):
        arm = policy.pull()
        chosen.append(arm)
        policy.update(arm, rewards[t, policy.structure.arm_index(arm)])
    return chosen


@EACH
def test_simulation_is_the_interactive_loop(algorithm: Algorithm) -> None:
    rounds = 400
    results = sb.simulate(LINES, [algorithm], theta=1.1, horizon=rounds, runs=2, seed=9)
    sequence = policy_sequence(9, 1, algorithm.label, 1.1)
    policy = algorithm.start(LINES, seed=sequence, horizon=rounds)
    rewards = Gaussian(LINES).rewards(1.1, seed=9, run=1)
    for _ in range(rounds):
        arm = policy.pull()
        policy.update(arm, rewards.draw(arm))
    np.testing.assert_array_equal(results.pulls[0, 0, 1], policy.counts)


@EACH
def test_stored_runs_resume_with_the_same_decisions(algorithm: Algorithm) -> None:
    rewards = np.random.default_rng(4).normal(1.0, 1.0, size=(200, 3))
    policy = algorithm.start(LINES, seed=3)
    play(policy, rewards, 60)
    policy.pull()  # one reward is still to come
    stored = json.loads(json.dumps(policy.state_dict()))
    twins = [sb.Policy.from_state(LINES, stored), pickle.loads(pickle.dumps(policy))]
    went_on = play(policy, rewards, 140)
    for twin in twins:
        assert twin.algorithm == algorithm
        assert play(twin, rewards, 140) == went_on


@EACH
def test_only_allowed_arms_are_pulled(algorithm: Algorithm) -> None:
    policy = algorithm.start(LINES, seed=3)
    generator = np.random.default_rng(6)
    for _ in range(60):
        arms = generator.choice(3, size=generator.integers(1, 4), replace=False)
        names = [LINES.arms[arm] for arm in arms]
        shares = policy.probabilities(names)
        arm = policy.pull(names)
        assert arm in names
        assert shares[arm] > 0
        assert sum(shares.values()) == pytest.approx(1.0)
        policy.update(arm, float(generator.normal(1.0, 1.0)))


@EACH
def test_an_algorithm_prints_as_the_code_that_makes_it(algorithm: Algorithm) -> None:
    assert eval(repr(algorithm), vars(sb) | {name: getattr(sb, name) for name in sb.__all__}) == (
        algorithm
    )


def test_all_names_are_known() -> None:
    names = ["posterior", "ids", "linear-greedy", "oful", "glm-ucb", "wagp", "ucb-g", "ossb"]
    names += ["mucb", "fp-ucb", "crop"]
    for name in [*names, "ucb-cj", "ts-cj", "oful(delta=0.1)", "ossb(gamma=0.5)", "UCB-CJ-KL"]:
        algorithm = sb.make_algorithm(name)
        assert sb.make_algorithm(algorithm.label) == algorithm
    assert {*names, "ucb-cj", "ts-cj"} <= set(sb.policy_names())


@pytest.mark.parametrize(
    ("name", "structure", "said"),
    [
        ("wagp", "three-arms", r"'1' is not from θ = 0 to 0\.01"),
        ("ucb-g", "three-arms", "'1' is not from"),
        ("wagp", "linear", "vectors of 2 numbers"),
        ("wagp", "movielens", "labels"),
        ("oful", "three-arms", "'1' is up to .* away from every linear function"),
        ("linear-greedy", "plane", "'max' is up to|arm '3'"),
        ("glm-ucb", "movielens", "labels"),
    ],
)
def test_structures_without_the_assumption_are_refused(
    name: str, structure: str, said: str
) -> None:
    with pytest.raises(sb.InvalidPolicy, match=said):
        sb.make_policy(name, sb.load_structure(structure))


def test_bounds_are_refused_where_means_are_needed() -> None:
    vague = sb.Structure.from_bounds([[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.5]], sigma=1)
    for name in ("ucb-cj", "ossb", "crop", "oful", "wagp"):
        if name == "wagp":
            vague = sb.Structure.from_bounds(
                vague.lower, vague.upper, sb.Finite([0.0, 1.0]), sigma=1
            )
        with pytest.raises(sb.InvalidPolicy, match="arm '2' has bounds"):
            sb.make_policy(name, vague)


def test_posterior_uses_bounds_as_intervals() -> None:
    vague = sb.Structure.from_bounds([[0.0, 1.0], [1.0, 0.0]], [[0.5, 1.0], [1.0, 0.5]], sigma=1)
    policy = sb.PosteriorSampling().start(vague, seed=1)
    policy.update("1", 0.2)  # within the bounds of the first θ, 0.8 away from the second
    shares = policy.probabilities()
    assert shares["1"] / shares["2"] == pytest.approx(np.exp(-0.5 * 0.8**2))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: sb.OFUL(delta=1.5), "between 0 and 1 as delta, not 1.5"),
        (lambda: sb.OFUL(ridge=0.0), "ridge, not 0.0"),
        (lambda: sb.GLMUCB(alpha=-1.0), "alpha, not -1.0"),
        (lambda: sb.OSSB(gamma=-0.1), "gamma of at least 0, not -0.1"),
        (lambda: sb.OSSB(epsilon=float("nan")), "epsilon of at least 0, not nan"),
        (lambda: sb.CROP(alpha=-0.5), "alpha, not -0.5"),
        (lambda: sb.CROP(z=0.0), "z, not 0.0"),
        (lambda: sb.MUCB(delta=1.0), "delta, not 1.0"),
        (lambda: sb.FPUCB(alpha=0.0), "alpha, not 0.0"),
        (lambda: sb.UCBG(gamma1=2.0), "give both"),
        (lambda: sb.UCBG(d1=-1.0), "d1, not -1.0"),
        (lambda: sb.Competitive(sb.UCB(), confidence="ball"), "no confidence set 'ball'"),
        (lambda: sb.UCBG(groups=(("a",),)).check(LINES), "'b' is in no group"),
        (lambda: sb.UCBG(groups=(("a", "a"), ("b", "c"))).check(LINES), "'a' is in two groups"),
        (lambda: sb.UCBG(groups=(("a", "x"), ("b", "c"))).check(LINES), "no arm 'x'"),
    ],
)
def test_settings_that_mean_nothing_are_refused(make: object, said: str) -> None:
    assert callable(make)
    with pytest.raises(sb.InvalidInput, match=said):
        make()


def test_a_lower_bound_that_fails_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    known = sb.Structure.from_table([[1.0, 0.0], [1.0, 2.0]], sigma=1.0, name="fails")
    rates = exploration_rates(known)

    def fail(row: int) -> np.ndarray:
        raise ValueError(f"no row {row}")

    monkeypatch.setattr(rates._filler, "compute", fail)
    policy = sb.OSSB().start(known, seed=1)
    with pytest.raises(ArithmeticError, match="could not be solved"):
        policy.pull()
    assert isinstance(rates.problem, ValueError)
    assert policy.decided == 0


def test_each_program_is_solved_once() -> None:
    asked: list[int] = []

    def compute(row: int) -> np.ndarray:
        asked.append(row)
        return np.array([float(row)])

    rows = LazyTable(4, 1, compute)
    for row in (2, 2, 0, 2):
        rows.fill(row)
    assert asked == [2, 0]
    assert rows.rows.values[:, 0].tolist() == [0.0, 0.0, 2.0, 0.0]


def test_ossb_runs_long_at_600_parameters() -> None:
    """A program is solved once for each estimate, not once per round."""
    results = sb.simulate("three-arms", ["ossb"], theta=1.5, horizon=50_000, runs=1)
    assert results.pulls.sum() == 50_000
