"""`probabilities()` agrees with how often arms are drawn.

Chi-square tests with error rate 1e-4 each, seeds fixed: against draws from the posterior made here,
and against decisions of the library.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import structuredbandits as sb
from tests.statistical.agreement import as_shares, assert_frequencies
from tests.statistical.independent_policies import Knowledge, Metric

DRAWS = 200_000


def winners(draws: np.ndarray) -> np.ndarray:
    """How often each column is the largest of its row."""
    return np.bincount(draws.argmax(axis=1), minlength=draws.shape[1])


def plain(n_arms: int, sigma: object = 1.0) -> sb.Structure:
    return sb.Structure.from_table(np.zeros((1, n_arms)), sigma=sigma)


def rows(counts: list[int], sums: list[float]) -> list[tuple[int, float]]:
    """A history with these counts and sums."""
    return [
        (arm, total / count)
        for arm, (count, total) in enumerate(zip(counts, sums, strict=True))
        for _ in range(count)
    ]


def decisions(
    policy: str | sb.Algorithm, structure: sb.Structure, run: sb.Policy, draws: int = DRAWS
) -> np.ndarray:
    """How often each arm is chosen by many subjects with the statistics of a run."""
    counts = run.counts.astype(float)
    sums = np.where(counts > 0, counts * np.nan_to_num(run.means), 0.0)
    chosen = sb.pull_many(
        policy, structure, np.tile(counts, (draws, 1)), np.tile(sums, (draws, 1)), seed=51
    )
    return np.bincount(chosen, minlength=structure.n_arms)


GAUSSIAN_CASES = {
    "similar": ([10, 14, 9, 30], [9.0, 14.0, 6.0, 33.0], 1.0, 1.0),
    "one wide": ([1, 400, 300], [-0.5, 400.0, 306.0], 2.0, 1.0),
    "own sigmas": ([20, 20, 20], [20.0, 21.0, 18.0], [0.1, 1.0, 3.0], 1.0),
    "wider posterior": ([5, 8], [5.0, 6.0], 1.0, 4.0),
    "eight equal arms": ([3] * 8, [1.5] * 8, 1.0, 1.0),
    "one far behind": ([50, 50, 50], [50.0, 49.0, -200.0], 1.0, 1.0),
}


@pytest.mark.parametrize("case", GAUSSIAN_CASES)
def test_gaussian_thompson_by_quadrature(case: str) -> None:
    counts, sums, sigma, beta = GAUSSIAN_CASES[case]
    structure = plain(len(counts), sigma)
    algorithm = sb.ThompsonSampling(beta=beta)
    run = algorithm.start(structure, seed=0, history=rows(counts, sums))
    shares = as_shares(run.probabilities())
    n = np.array(counts)
    deviations = math.sqrt(beta) * structure.sigma / np.sqrt(n)
    draws = np.random.default_rng(52).normal(np.array(sums) / n, deviations, (DRAWS, n.size))
    assert_frequencies(winners(draws), shares)
    assert_frequencies(decisions(algorithm, structure, run), shares)


def test_two_gaussian_arms_have_a_closed_form() -> None:
    generator = np.random.default_rng(53)
    for _ in range(40):
        counts = generator.integers(1, 2000, 2)
        means = generator.normal(0, 0.3, 2)
        run = sb.ThompsonSampling().start(
            plain(2), seed=0, history=rows(counts.tolist(), (counts * means).tolist())
        )
        exact = stats.norm.cdf((means[0] - means[1]) / np.sqrt((1 / counts).sum()))
        assert abs(as_shares(run.probabilities())[0] - exact) < 1e-6


BETA_CASES = {
    "similar": ([10, 14, 9], [6.0, 9.0, 5.0]),
    "unseen": ([0, 5, 20], [0.0, 3.0, 15.0]),
    "nothing seen": ([0, 0, 0, 0], [0.0] * 4),
    "narrow": ([2000, 1900, 3], [1000.0, 960.0, 1.0]),
    "at the ends": ([30, 30, 4], [30.0, 0.0, 4.0]),
}


@pytest.mark.parametrize("case", BETA_CASES)
def test_beta_thompson_by_quadrature(case: str) -> None:
    counts, sums = BETA_CASES[case]
    structure = plain(len(counts), 0.5)
    run = sb.ThompsonBeta().start(structure, seed=0, history=rows(counts, sums))
    shares = as_shares(run.probabilities())
    successes, n = np.array(sums), np.array(counts)
    draws = np.random.default_rng(54).beta(
        successes + 1, n - successes + 1, (DRAWS, successes.size)
    )
    assert_frequencies(winners(draws), shares)
    assert_frequencies(decisions("ts-beta", structure, run), shares)


def test_a_posterior_of_the_reward_would_be_noticed() -> None:
    """These tests can fail: standard deviation σ instead of σ/√n is detected."""
    counts, sums, sigma, _ = GAUSSIAN_CASES["similar"]
    run = sb.ThompsonSampling().start(plain(4, sigma), seed=0, history=rows(counts, sums))
    draws = np.random.default_rng(52).normal(np.array(sums) / counts, sigma, (DRAWS, 4))
    with pytest.raises(AssertionError, match="instead of"):
        assert_frequencies(winners(draws), as_shares(run.probabilities()))


def test_epsilon_greedy_is_exact_and_shares_ties() -> None:
    history = rows([4, 4, 2, 8], [4.0, 4.0, 1.0, 6.0])
    run = sb.make_policy("epsilon-greedy(epsilon=0.2)", plain(4), seed=0, history=history)
    # Arms 1 and 2 both have mean 1, the largest: each gets half of 0.8 and its part of 0.2.
    np.testing.assert_allclose(as_shares(run.probabilities()), [0.45, 0.45, 0.05, 0.05])
    np.testing.assert_allclose(
        as_shares(run.probabilities(arms=["2", "3", "4"])), [0, 0.8 + 0.2 / 3, 0.2 / 3, 0.2 / 3]
    )
    assert_frequencies(
        decisions("epsilon-greedy(epsilon=0.2)", plain(4), run), as_shares(run.probabilities())
    )


# -- Algorithm-C -----------------------------------------------------------------------------------


def after_rounds(policy: str, rounds: int, seed: int) -> sb.Policy:
    """A run on the problem of the informative arms."""
    problem = sb.load_problem("informative")
    run = sb.make_policy(policy, problem.structure, seed=seed)
    rewards = problem.environment.rewards(3.1, seed)
    for _ in range(rounds):
        arm = run.pull()
        run.update(arm, rewards.draw(arm))
    return run


def thompson_shares(run: sb.Policy, candidates: np.ndarray) -> np.ndarray:
    """Choices of TS among some arms, by simulation; arms without rewards first, uniformly."""
    unseen = candidates & (run.counts == 0)
    if unseen.any():
        return unseen / unseen.sum()
    deviations = run.structure.sigma / np.sqrt(np.maximum(run.counts, 1))
    draws = np.random.default_rng(55).normal(
        np.where(candidates, np.nan_to_num(run.means), -1e9), deviations, (DRAWS, candidates.size)
    )
    return winners(draws) / DRAWS


@pytest.mark.parametrize("rounds", [1, 5, 40, 300])
@pytest.mark.parametrize("metric", ["", "kl", "entropy", "random"])
def test_informative_thompson_is_a_mixture(metric: str, rounds: int) -> None:
    """The informative arm with probability min(1, 30/t^1.1), else TS among the competitive arms."""
    policy = f"ts-c-{metric}" if metric else "ts-c"
    run = after_rounds(policy, rounds, seed=56)
    inside = run.confidence_set.mask
    assert inside.any()
    structure = run.structure
    shares = thompson_shares(run, structure.optimal[inside].any(axis=0))
    if metric:
        coin = min(1.0, 30 / rounds**1.1)
        if metric == "random":
            informative = np.full(3, 1 / 3)
        else:
            table = np.ascontiguousarray(structure.means.T)
            arm = Metric(metric).arm(Knowledge(table, table), inside, np.random.default_rng(0))
            informative = np.eye(3)[arm]
        shares = (1 - coin) * shares + coin * informative
    told = as_shares(run.probabilities())
    # `shares` are themselves simulated; 5 standard errors of the simulation.
    np.testing.assert_allclose(told, shares, atol=5 * 0.5 / math.sqrt(DRAWS))
    assert_frequencies(decisions(policy, structure, run, draws=40_000), told)


def test_one_competitive_arm_is_certain() -> None:
    structure = sb.Structure.from_table([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]], sigma=0.1)
    run = sb.make_policy("ts-c", structure, seed=0, history=[("1", 1.0), ("1", 1.02)])
    assert run.probabilities() == {"1": 1.0, "2": 0.0, "3": 0.0}


@pytest.mark.parametrize("policy", ["ts", "ts-c", "ucb-c", "ucb-s", "epsilon-greedy", "ts-c-kl"])
def test_a_floor_mixes_in_the_uniform_choice(policy: str) -> None:
    floor = 0.15
    base = after_rounds(policy, 60, seed=57)
    algorithm = sb.ExplorationFloor(sb.make_algorithm(policy), floor=floor)
    run = algorithm.start(base.structure, seed=58)
    # The same decisions and rewards in another order, which leaves the statistics unchanged.
    for arm, count in zip(base.structure.arms, base.counts, strict=True):
        for _ in range(count):
            run.pull()
            run.update(arm, float(base.means[base.structure.arm_index(arm)]))
    inside = as_shares(base.probabilities())
    told = as_shares(run.probabilities())
    np.testing.assert_allclose(told, (1 - floor) * inside + floor / 3, atol=1e-6)
    assert_frequencies(decisions(algorithm, base.structure, run, draws=40_000), told)
    some = as_shares(run.probabilities(arms=["1", "3"]))
    assert some[1] == 0.0
    assert some[[0, 2]].min() >= floor / 2 - 1e-12
