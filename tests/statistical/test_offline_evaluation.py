"""Intervals of offline estimates cover the true value at their level.

Each test simulates several hundred logs at fixed seeds. A correct program fails such a test at new
seeds with the stated probability.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import structuredbandits as sb
from tests.statistical.agreement import RATE, assert_smaller, bound_on_z

LEVEL = 0.9
# How far the coverage of an approximate interval may be from its level.
SLACK = 0.02
LOGS = 250
SUBJECTS, ROUNDS = 60, 4

# The true means of the subjects, and those of the structure.
TRUE = np.array([[0.2, 0.8, 0.5], [0.9, 0.3, 0.5]])
SHARES_OF_THETA = np.array([0.3, 0.7])
SIGMA = 0.6
ARMS = ("a", "b", "c")
RIGHT = sb.Structure.from_table(TRUE, arms=ARMS, sigma=SIGMA, prior=SHARES_OF_THETA)
WRONG = sb.Structure.from_table(
    TRUE[::-1] + np.array([0.5, -0.3, 0.4]), arms=ARMS, sigma=SIGMA, prior=[0.5, 0.5]
)
BEHAVIOUR = np.array([0.2, 0.5, 0.3])
POLICY = {"a": 0.7, "b": 0.1, "c": 0.2}


def draw_log(generator: np.random.Generator, adaptive: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """A log of SUBJECTS × ROUNDS decisions, and the hidden θ of its rows.

    An adaptive log prefers the last arm if its reward was high: its probabilities depend on the
    history, as those of a running policy do.
    """
    theta = generator.choice(2, size=SUBJECTS, p=SHARES_OF_THETA)
    columns: dict[str, list[Any]] = {"arm": [], "reward": [], "probability": []}
    shares = np.tile(BEHAVIOUR, (SUBJECTS, 1))
    for _ in range(ROUNDS):
        uniform = generator.random((SUBJECTS, 1))
        arm = (uniform > shares.cumsum(axis=1)).sum(axis=1).clip(max=2)
        reward = TRUE[theta, arm] + SIGMA * generator.standard_normal(SUBJECTS)
        columns["arm"].append(np.array(ARMS, dtype=object)[arm])
        columns["reward"].append(reward)
        columns["probability"].append(shares[np.arange(SUBJECTS), arm])
        if adaptive:
            preferred = np.where((reward > 0.6)[:, np.newaxis], np.eye(3)[arm], BEHAVIOUR)
            shares = 0.4 * BEHAVIOUR + 0.6 * preferred
    log = pd.DataFrame({name: np.concatenate(parts) for name, parts in columns.items()})
    log["subject"] = np.tile(np.arange(SUBJECTS), ROUNDS)
    log["decision"] = np.repeat(np.arange(ROUNDS), SUBJECTS)
    return log, np.tile(theta, ROUNDS)


def assert_covers(hits: int, logs: int, level: float = LEVEL) -> None:
    """The coverage is within SLACK of the level; error rate 1e-4 per side."""
    low = stats.binom.ppf(RATE, logs, level - SLACK)
    high = stats.binom.isf(RATE, logs, level + SLACK)
    assert low <= hits <= high, f"{hits} of {logs} intervals cover the value, at level {level}"


def count_hits(policy: Any, truth: float, adaptive: bool, **options: Any) -> int:
    generator = np.random.default_rng(20_240)
    hits = 0
    for _ in range(LOGS):
        estimate = sb.evaluate(draw_log(generator, adaptive)[0], policy, level=LEVEL, **options)
        hits += estimate.low <= truth <= estimate.high
    return hits


@pytest.mark.parametrize(
    ("adaptive", "options"),
    [
        (True, {"method": "ips"}),
        (True, {"method": "snips"}),
        (False, {"method": "dr", "structure": RIGHT}),
        (True, {"method": "dr", "structure": WRONG}),
        (True, {"method": "dr", "structure": WRONG, "model": "prior"}),
        (False, {"method": "snips", "interval": "bootstrap", "resamples": 400}),
    ],
    ids=["ips", "snips", "dr", "dr, wrong structure", "dr, wrong prior", "bootstrap"],
)
def test_intervals_of_a_fixed_policy_cover_what_it_earns(
    options: dict[str, Any], adaptive: bool
) -> None:
    """Also if the structure is wrong, and if the log's probabilities depend on its history."""
    truth = float(SHARES_OF_THETA @ TRUE @ list(POLICY.values()))
    assert_covers(count_hits(POLICY, truth, adaptive, **options), LOGS)


def follow_the_better(decision: sb.DecisionInput) -> dict[str, float]:
    """Mostly the arm whose mean is the largest so far; a policy that learns."""
    sums: dict[str, list[float]] = {}
    for arm, reward in decision.history:
        sums.setdefault(arm, []).append(reward)
    if not sums:
        return {"a": 0.4, "b": 0.3, "c": 0.3}
    best = max(sums, key=lambda arm: float(np.mean(sums[arm])))
    return {arm: 0.8 if arm == best else 0.1 for arm in ARMS}


@cache
def value_after_logged_histories(adaptive: bool) -> tuple[float, float]:
    """The value that `evaluate` estimates, from logs whose θ is known, and its error."""
    generator = np.random.default_rng(7)
    means = []
    for _ in range(100):
        log, theta = draw_log(generator, adaptive)
        arms, rewards = log["arm"].to_numpy(), log["reward"].to_numpy()
        worth = 0.0
        for i in range(SUBJECTS):
            history: list[tuple[str, float]] = []
            for row in range(i, len(log), SUBJECTS):
                shares = follow_the_better(sb.DecisionInput(ARMS, tuple(history), {}, i))
                worth += float(np.array(list(shares.values())) @ TRUE[theta[row]])
                history.append((str(arms[row]), float(rewards[row])))
        means.append(worth / len(log))
    return float(np.mean(means)), float(np.std(means, ddof=1) / np.sqrt(len(means)))


@pytest.mark.parametrize("method", ["ips", "snips", "dr"])
def test_intervals_of_a_learning_policy_cover_its_worth_after_the_logged_histories(
    method: str,
) -> None:
    truth, error = value_after_logged_histories(adaptive=True)
    assert error < 0.005  # a twentieth of an interval's length, which hardly moves the coverage
    structure = WRONG if method == "dr" else None
    hits = count_hits(follow_the_better, truth, True, method=method, structure=structure)
    assert_covers(hits, LOGS)


def test_a_good_structure_makes_the_interval_shorter() -> None:
    """Compared with ips on the same logs (one-sided z test of pairs, error rate 1e-4).

    With these settings it has three quarters of the length.
    """
    generator = np.random.default_rng(5)
    robust, weighted = [], []
    for _ in range(50):
        log, _ = draw_log(generator, adaptive=False)
        for lengths, options in ((robust, {"structure": RIGHT}), (weighted, {"method": "ips"})):
            estimate = sb.evaluate(log, POLICY, **options)  # type: ignore[arg-type]
            lengths.append(estimate.high - estimate.low)
    assert_smaller(robust, weighted)


def test_the_variance_counts_subjects_and_not_rows() -> None:
    """Without the column of subjects the interval would be too short: it covers too rarely."""
    generator = np.random.default_rng(3)
    truth = float(SHARES_OF_THETA @ TRUE[:, 0])
    together = apart = 0
    for _ in range(LOGS):
        log, theta = draw_log(generator, adaptive=False)
        log = log.assign(arm="a", probability=1.0)
        log["reward"] = TRUE[theta, 0] + 0.1 * generator.standard_normal(len(log))
        one = sb.evaluate(log, "logged", level=LEVEL)
        other = sb.evaluate(log.drop(columns="subject"), "logged", level=LEVEL)
        together += one.low <= truth <= one.high
        apart += other.low <= truth <= other.high
    assert_covers(together, LOGS)
    assert apart < 0.75 * LOGS


@pytest.mark.parametrize("name", ["ucb", "ts-c"])
def test_replay_is_a_run_of_the_policy(name: str) -> None:
    """A log of n uniform choices among K arms replays Binomial(n, 1/K) rounds of the policy.

    The mean reward of these rounds is compared with that of real runs: two-sided z tests, each with
    error rate 1e-4.
    """
    length, subjects = 45, 300
    problem = sb.Problem("two", RIGHT, sb.Gaussian(RIGHT), (0,), 10, "d", "t")
    log = sb.simulate_log(problem, "uniform", subjects=subjects, rounds=length, seed=11)
    estimate = sb.evaluate(log, name, structure=RIGHT, method="replay")
    assert estimate.effective_sample_size == pytest.approx(subjects * length / 3, rel=0.05)
    # Round t is played if at least t choices agree.
    played = stats.binom.sf(np.arange(length), length, 1 / 3)
    generator = np.random.default_rng(12)
    sums = []
    for run in range(300):
        policy = sb.make_policy(name, RIGHT, seed=run)
        theta = generator.choice(2, p=SHARES_OF_THETA)
        rewards = np.empty(length)
        for t in range(length):
            arm = ARMS.index(policy.pull())
            rewards[t] = TRUE[theta, arm] + SIGMA * generator.standard_normal()
            policy.update(arm, rewards[t])
        sums.append(float(played @ rewards) / played.sum())
    error = np.hypot(np.std(sums, ddof=1) / np.sqrt(len(sums)), estimate.standard_error)
    assert abs(estimate.value - np.mean(sums)) < bound_on_z() * error
    assert bound_on_z() * error < 0.15  # uniform choices earn 0.17 less


def test_an_algorithm_is_judged_after_the_logged_histories() -> None:
    """ts-c on one long log, against its probabilities times the true means (z test, 1e-4)."""
    problem = sb.Problem("two", RIGHT, sb.Gaussian(RIGHT), (0,), 10, "d", "t")
    log = sb.simulate_log(problem, "ucb(floor=0.5)", subjects=100, rounds=8, seed=3, reveal=True)
    truth = []
    for _, rows in log.groupby("subject"):
        policy = sb.make_policy("ts-c", RIGHT)
        for arm, reward, theta in rows[["arm", "reward", "theta"]].itertuples(index=False):
            truth.append(np.array(list(policy.probabilities().values())) @ TRUE[theta])
            policy.update(arm, reward)
    for method in ("ips", "snips", "dr"):
        estimate = sb.evaluate(log, "ts-c", structure=RIGHT, method=method)  # type: ignore[arg-type]
        assert abs(estimate.value - np.mean(truth)) < bound_on_z() * estimate.standard_error
