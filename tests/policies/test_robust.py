"""Robust policies: refutation, fallback, forced pulls and diagnostics."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.environments import Gaussian
from structuredbandits.simulation.seeds import policy_sequence
from tests.plain.refutation import is_refuted as plainly_refuted

KNOWN = sb.Structure.from_table(
    [[1.0, 0.5, 0.0], [0.0, 1.0, 0.3]],
    arms=["a", "b", "c"],
    sigma=1.0,
    standard_errors=np.full((2, 3), 0.1),
)
LIE = sb.Structure.from_table([[1.0, 0.5, 4.0], [0.0, 1.0, 4.0]], arms=["a", "b", "c"], sigma=1.0)
INNER = [sb.Hierarchical(), sb.HierarchicalIndex(), sb.make_algorithm("ts-c"), sb.UCBS()]
EACH = pytest.mark.parametrize("inner", INNER, ids=lambda inner: inner.label)


def play(policy: sb.Policy, rewards: np.ndarray, rounds: int) -> list[str]:
    chosen = []
    for t in range(rounds):
        arm = policy.pull()
        chosen.append(arm)
        policy.update(arm, rewards[t, policy.structure.arm_index(arm)])
    return chosen


@EACH
def test_a_run_follows_its_rules(inner: sb.Algorithm) -> None:
    """Forced arms, then the fallback while refuted: every decision against plain definitions."""
    policy = sb.Robust(inner, pulls=1.5).start(KNOWN, seed=5)
    rewards = np.random.default_rng(7).normal([1.0, 0.5, 2.5], 1.0, (400, 3))
    forced = refuted = 0
    for t in range(400):
        counts = policy.counts
        due = math.floor(1.5 * math.log(1 + t / 3))
        rows = policy.run.evidence
        is_refuted = plainly_refuted(KNOWN, rows.counts, rows.sums, rows.squares, 0.01)
        assert policy.diagnostics().refuted == is_refuted
        shares = policy.probabilities()
        arm = policy.pull()
        assert shares[arm] > 0
        if counts.min() < due:
            forced += 1
            assert arm == KNOWN.arms[int(np.argmin(counts))]
            assert shares[arm] == 1.0
        elif is_refuted:
            refuted += 1
            thompson = sb.ThompsonSampling().start(KNOWN, seed=1)
            thompson.run.block[:] = policy.run.block
            expected = thompson.algorithm.probabilities(thompson.snapshot(), np.arange(3))
            assert expected is not None
            np.testing.assert_allclose(list(shares.values()), expected, atol=1e-12)
        policy.update(arm, rewards[t, KNOWN.arm_index(arm)])
    assert forced >= 1
    assert refuted > 100


def test_a_true_structure_is_left_alone() -> None:
    """Apart from forced pulls the run is the inner one's.

    Probability of any refutation: at most 0.01; seed 3 has none.
    """
    inner = sb.HierarchicalIndex()
    policy = sb.Robust(inner, pulls=1e-9).start(KNOWN, seed=3, horizon=300)
    twin = inner.start(KNOWN, seed=3, horizon=300)
    rewards = np.random.default_rng(3).normal(KNOWN.means[1], 1.0, (300, 3))
    assert play(policy, rewards, 300) == play(twin, rewards, 300)


@EACH
def test_it_finds_an_arm_of_which_the_map_lies(inner: sb.Algorithm) -> None:
    """Arm c is the best by 3 at every θ and said to be poor: linear regret without the option.

    40 runs of 3,000 rounds; the share of runs that miss it would have to be above a tenth.
    """
    options = {"theta": 0, "horizon": 3_000, "runs": 40, "seed": 2, "environment": Gaussian(LIE)}
    robust = sb.simulate(KNOWN, sb.Robust(inner, pulls=2.0), **options)
    late = robust.pulls[0, 0, :, 2] / 3_000
    assert np.quantile(late, 0.1) > 0.5
    blind = sb.simulate(KNOWN, inner, **options)
    assert robust.regret[0, 0, :, -1].mean() < 0.5 * blind.regret[0, 0, :, -1].mean()


def test_forced_pulls_cost_what_is_stated() -> None:
    policy = sb.simulate(
        KNOWN, sb.Robust(sb.PosteriorSampling(), pulls=2.0), 0, horizon=2_000, runs=5, seed=1
    )
    due = math.floor(2.0 * math.log(1 + 2_000 / 3))
    assert (policy.pulls.min(axis=-1) >= due - 1).all()


@EACH
def test_stored_runs_resume_with_the_same_decisions(inner: sb.Algorithm) -> None:
    rewards = np.random.default_rng(4).normal(1.0, 1.0, (200, 3))
    algorithm = sb.Robust(inner, pulls=2.0, alpha=0.5, fallback=sb.UCB())
    policy = algorithm.start(KNOWN, seed=3)
    play(policy, rewards, 60)
    stored = json.loads(json.dumps(policy.state_dict()))
    twins = [sb.Policy.from_state(KNOWN, stored), pickle.loads(pickle.dumps(policy))]
    went_on = play(policy, rewards, 140)
    for twin in twins:
        assert twin.algorithm == algorithm
        assert play(twin, rewards, 140) == went_on


def test_simulation_is_the_interactive_loop() -> None:
    algorithm = sb.make_algorithm("hierarchical-index(robust=2)")
    results = sb.simulate(KNOWN, algorithm, 1, horizon=300, runs=2, seed=9)
    sequence = policy_sequence(9, 1, algorithm.label, 1)
    policy = algorithm.start(KNOWN, seed=sequence, horizon=300)
    rewards = Gaussian(KNOWN).rewards(1, seed=9, run=1)
    for _ in range(300):
        arm = policy.pull()
        policy.update(arm, rewards.draw(arm))
    np.testing.assert_array_equal(results.pulls[0, 0, 1], policy.counts)


def test_names_and_printed_code() -> None:
    algorithm = sb.make_algorithm("ts-c(robust=2)")
    assert algorithm == sb.Robust(sb.Competitive(sb.ThompsonSampling()), pulls=2.0)
    assert sb.make_algorithm(algorithm.label) == algorithm
    assert repr(algorithm) == "Robust(Competitive(ThompsonSampling()), pulls=2.0)"
    both = sb.make_algorithm("hierarchical(robust=1,floor=0.1)")
    assert isinstance(both, sb.ExplorationFloor)
    assert isinstance(both.algorithm, sb.Robust)


def test_what_cannot_be_doubted_is_refused() -> None:
    for wrong in (sb.UCB(), sb.Robust(sb.UCBS()), "ucb-s"):
        with pytest.raises(sb.InvalidPolicy, match="no structure that could be refuted"):
            sb.Robust(wrong)  # type: ignore[arg-type]  # the wrong type on purpose
    with pytest.raises(sb.InvalidPolicy, match="fallback"):
        sb.Robust(sb.UCBS(), fallback=sb.UCBS())
    for bad in (0.0, -1.0, math.nan):
        with pytest.raises(sb.InvalidPolicy, match="pulls"):
            sb.Robust(sb.UCBS(), pulls=bad)
    with pytest.raises(sb.InvalidPolicy, match="refuted"):
        sb.make_algorithm("ts(robust=1)")


# -- diagnostics -----------------------------------------------------------------------------------


def test_before_any_reward_nothing_is_known() -> None:
    found = sb.make_policy("ts-c", KNOWN).diagnostics()
    assert (found.rewards, found.best_fit, found.surprise, found.refuted) == (0, None, 1.0, False)
    assert "untested" in found.verdict


def test_surprise_is_uniform_at_most_when_the_structure_is_true() -> None:
    """At the true θ the statistic is chi-square; the best θ fits better.

    Of 400 runs the share below 0.05 exceeds 0.08 with probability below 0.01 (binomial).
    """
    generator = np.random.default_rng(11)
    low = 0
    for _ in range(400):
        policy = sb.ThompsonSampling().start(KNOWN)
        truth = KNOWN.means[0] + 0.1 * generator.standard_normal(3)
        for arm in range(3):
            for reward in generator.normal(truth[arm], 1.0, 20):
                policy.update(arm, float(reward))
        low += policy.diagnostics().surprise < 0.05
    assert low / 400 <= 0.08


def test_a_wrong_structure_is_surprising() -> None:
    policy = sb.make_policy("ucb-c", KNOWN, seed=1)
    for _ in range(30):
        policy.update("c", 6.0)
        policy.pull()
    found = policy.diagnostics()
    assert found.refuted
    assert found.surprise < 1e-6
    assert found.worst_arm == "c"
    assert found.empty_rounds > 0
    assert "refuted" in found.verdict
