"""Probabilities of the next pull, against what plain runs do when they are repeated."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from structuredbandits.errors import InvalidInput
from structuredbandits.policies.classical.ucb import UCB
from structuredbandits.policies.competitive import Competitive
from structuredbandits.policies.exploration_floor import ExplorationFloor
from structuredbandits.policies.max_of_betas import largest_of_betas
from structuredbandits.policies.max_of_normals import largest_of_normals
from structuredbandits.policies.registry import make_policy
from structuredbandits.policies.structured.ucb_s import UCBS
from structuredbandits.structure import Structure
from tests.plain.pairs import KINDS, needs_unit_rewards, pairs
from tests.plain.random_problems import Script, worlds
from tests.plain.run import PlainRun

TWO = Structure.from_table([[1.0, 0.0, 0.3], [0.0, 2.0, 0.3]], arms=["a", "b", "c"], sigma=0.5)
REPEATS = 40
# A share of at least this much is met in 40 repeats but for a chance of 1e-9.
CERTAIN = 1.0 - 1e-9 ** (1.0 / REPEATS)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15)
@given(data=st.data(), rounds=st.integers(0, 30))
def test_plain_runs_choose_what_is_probable(kind: str, data: st.DataObject, rounds: int) -> None:
    world = data.draw(worlds(unit=needs_unit_rewards(kind), max_arms=12))
    algorithm, rule = data.draw(pairs(kind, world.structure.sign))
    policy = algorithm.start(world.structure, seed=0)
    plain = PlainRun(rule, world.facts, 0)
    script = Script(world)
    for _ in range(rounds):
        arm = plain.pull()
        policy.pull()
        script.waiting.append(arm)
        for other, reward in script.due():
            policy.update(other, reward)
            plain.update(other, reward)
    before = policy.state_dict()
    allowed = script.allowed() or list(range(world.structure.n_arms))
    shares = policy.probabilities(allowed)
    assert policy.state_dict() == before
    assert list(shares) == list(world.structure.arms)
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-9)
    assert min(shares.values()) >= 0.0
    chosen = set()
    for seed in range(REPEATS):
        fork = copy.deepcopy(plain)
        fork.generator = np.random.Generator(np.random.PCG64(seed))
        chosen.add(world.structure.arms[fork.pull(allowed)])
    possible = {arm for arm, share in shares.items() if share > 0.0}
    assert chosen <= possible
    assert {arm for arm, share in shares.items() if share >= CERTAIN} <= chosen


@pytest.mark.parametrize("first", [False, True])
def test_new_arms_share_by_pending_pulls(first: bool) -> None:
    policy = Competitive(UCB(), pull_each_arm_first=first).start(TWO, seed=0)
    arms = ["a", "b", "c"] if first else ["a", "b"]  # "c" is never the best
    assert policy.probabilities() == {arm: (arm in arms) / len(arms) for arm in "abc"}
    pulled = policy.pull()
    left = [arm for arm in arms if arm != pulled]
    assert policy.probabilities() == {arm: (arm in left) / len(left) for arm in "abc"}


def test_a_floor_gives_every_allowed_arm_its_share() -> None:
    policy = ExplorationFloor(UCBS(), floor=0.3).start(TWO, seed=0)
    assert policy.probabilities(["a", "b"]) == pytest.approx({"a": 0.15, "b": 0.85, "c": 0.0})
    assert policy.probabilities() == pytest.approx({"a": 0.1, "b": 0.8, "c": 0.1})


@pytest.mark.parametrize(("beta", "seen"), [(1.0, 4), (0.25, 9)])
def test_thompson_s_shares_are_normal(beta: float, seen: int) -> None:
    """Of two arms the first is larger with probability Φ(difference / its deviation)."""
    policy = make_policy(f"ts(beta={beta})", TWO, seed=0)
    for _ in range(seen):
        policy.update("a", 0.5)
        policy.update("b", 0.3)
    deviation = np.sqrt(2 * beta) * 0.5 / np.sqrt(seen)
    expected = stats.norm.cdf((0.5 - 0.3) / deviation)
    assert policy.probabilities(["a", "b"])["a"] == pytest.approx(expected, abs=2e-6)


@given(
    st.lists(
        st.tuples(st.floats(-5.0, 5.0), st.sampled_from([1e-4, 0.01, 1.0, 30.0])),
        min_size=2,
        max_size=6,
    )
)
@settings(max_examples=30)
def test_quadrature_of_normals_against_many_draws(draws: list[tuple[float, float]]) -> None:
    # Seed 0; 20,000 draws an example: 5.5 standard errors are exceeded with probability 4e-8 an
    # arm, 7e-6 in all 180.
    means, deviations = np.array(draws).T
    shares = largest_of_normals(means, deviations)
    normals = np.random.default_rng(0).standard_normal((20_000, len(draws)))
    winners = (means + deviations * normals).argmax(axis=1)
    observed = np.bincount(winners, minlength=len(draws)) / 20_000
    error = np.sqrt(np.maximum(shares * (1 - shares), 1e-4) / 20_000)
    assert (np.abs(observed - shares) <= 5.5 * error).all()


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)), min_size=2, max_size=6),
)
@settings(max_examples=30)
def test_quadrature_of_betas_against_many_draws(outcomes: list[tuple[int, int]]) -> None:
    # As above.
    successes, failures = np.array(outcomes, dtype=float).T + 1.0
    shares = largest_of_betas(successes, failures)
    draws = np.random.default_rng(0).beta(successes, failures, (20_000, len(outcomes)))
    observed = np.bincount(draws.argmax(axis=1), minlength=len(outcomes)) / 20_000
    error = np.sqrt(np.maximum(shares * (1 - shares), 1e-4) / 20_000)
    assert (np.abs(observed - shares) <= 5.5 * error).all()


def test_equal_betas_share_equally_and_two_uniforms_by_symmetry() -> None:
    assert largest_of_betas(np.full(4, 3.0), np.full(4, 7.0)) == pytest.approx([0.25] * 4)
    assert largest_of_betas(np.array([1.0, 2.0]), np.array([1.0, 1.0])) == pytest.approx(
        [1 / 3, 2 / 3], abs=1e-6
    )


def test_no_arm_allowed() -> None:
    with pytest.raises(InvalidInput, match="no arm is allowed"):
        make_policy("ucb", TWO).probabilities([])
