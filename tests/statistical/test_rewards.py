"""Policies share random numbers: rewards keep their distributions, and differences vary less.

Error rate 1e-4 per test, seeds fixed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import structuredbandits as sb
from tests.statistical.agreement import (
    RATE,
    assert_frequencies,
    assert_share,
    bound_on_z,
)

RUNS = 10_000
MOMENT = 15


def rewards_at(
    structure: sb.Structure, policy: str, environment: sb.Gaussian | sb.Bernoulli | sb.Ratings
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arm and reward of one round in every run, and the reward of the next round.

    The pulled arm is read from the regret, whose gaps are all different. The arm is chosen before
    the reward is drawn, so given the arm the rewards have exactly its distribution.
    """
    results = sb.simulate(
        structure,
        policy,
        theta=0,
        horizon=MOMENT + 1,
        runs=RUNS,
        seed=41,
        environment=environment,
        checkpoints=[MOMENT - 1, MOMENT, MOMENT + 1],
        progress="off",
    )
    steps = np.diff(results.regret[0, 0], axis=1)
    means = environment.means_at(0)
    gaps = means.max() - means
    arms = np.abs(steps[:, :1] - gaps).argmin(axis=1)
    rewards = np.diff(results.reward[0, 0], axis=1)
    return arms, rewards[:, 0], rewards[:, 1]


@pytest.mark.parametrize("policy", ["ucb", "ts-c", "epsilon-greedy(epsilon=1)"])
def test_normal_rewards_have_their_mean_and_variance(policy: str) -> None:
    sigma = np.array([1.0, 0.5, 2.0])
    # Each arm is the best at some θ, so that ts-c pulls all of them.
    means = [[1.0, 0.6, 0.1], [0.3, 0.5, 0.4], [0.3, 0.4, 0.5]]
    structure = sb.Structure.from_table(means, sigma=sigma)
    arms, rewards, _ = rewards_at(structure, policy, sb.Gaussian(structure))
    z = (rewards - structure.means[0][arms]) / sigma[arms]
    for arm in range(3):
        own = z[arms == arm]
        assert own.size > 300
        assert abs(own.mean()) * np.sqrt(own.size) < bound_on_z()
        spread = (own**2).sum()  # chi-square with as many degrees of freedom
        assert RATE / 2 < stats.chi2.cdf(spread, own.size) < 1 - RATE / 2
    assert stats.kstest(z, "norm").pvalue > RATE


@pytest.mark.parametrize("policy", ["ucb", "ts-beta"])
def test_zeros_and_ones_have_their_frequency(policy: str) -> None:
    structure = sb.Structure.from_table([[0.7, 0.5, 0.2]], sigma=0.5)
    arms, rewards, _ = rewards_at(structure, policy, sb.Bernoulli(structure))
    for arm, share in enumerate((0.7, 0.5, 0.2)):
        own = rewards[arms == arm].round(9)
        assert own.size > 300
        assert set(own.tolist()) <= {0.0, 1.0}
        assert_share(int(own.sum()), own.size, share)


@pytest.mark.parametrize("policy", ["ucb", "ts"])
def test_ratings_have_the_counted_frequencies(policy: str) -> None:
    counts = np.array([[[5, 10, 20, 40, 25], [30, 0, 30, 0, 40], [1, 2, 3, 4, 90]]])
    environment = sb.Ratings(counts, [1, 2, 3, 4, 5], sb.Finite(["a"]), ["x", "y", "z"])
    structure = sb.Structure.from_table(
        environment.means, parameters=environment.parameters, arms=["x", "y", "z"], sigma=2.0
    )
    results = sb.simulate(
        structure,
        policy,
        theta="a",
        horizon=MOMENT,
        runs=RUNS,
        seed=42,
        environment=environment,
        checkpoints=[MOMENT - 1, MOMENT],
        progress="off",
    )
    gaps = environment.means.max() - environment.means[0]
    step = np.diff(results.regret[0, 0], axis=1)
    arms = np.abs(step - gaps).argmin(axis=1)
    stars = np.diff(results.reward[0, 0], axis=1)[:, 0].round().astype(int)
    for arm in range(3):
        own = np.bincount(stars[arms == arm], minlength=6)[1:]
        assert own.sum() > 300
        assert_frequencies(own, counts[0, arm] / 100)


def correlation_bound(n: int) -> float:
    """|r| of n independent pairs exceeds this with probability 1e-4 (Fisher's z)."""
    return float(np.tanh(bound_on_z() / np.sqrt(n - 3)))


def test_luck_is_new_in_every_round_and_in_every_run() -> None:
    structure = sb.Structure.from_table([[1.0, 0.5]], sigma=1.0)
    _, now, then = rewards_at(structure, "epsilon-greedy(epsilon=1)", sb.Gaussian(structure))
    for first, second in ((now, then), (now[:-1], now[1:])):
        assert abs(np.corrcoef(first, second)[0, 1]) < correlation_bound(first.size)


@pytest.mark.parametrize("policy", ["epsilon-greedy(epsilon=1)", "ts"])
def test_a_policy_s_own_randomness_knows_nothing_of_the_luck(policy: str) -> None:
    """With equal means the arm says nothing about the reward of its round."""
    # Gaps of 1e-7 only identify the pulled arm.
    structure = sb.Structure.from_table([[1.0, 1.0 - 1e-7]], sigma=1.0)
    arms, rewards, _ = rewards_at(structure, policy, sb.Gaussian(structure))
    assert 0.3 < arms.mean() < 0.7
    assert abs(np.corrcoef(arms, rewards)[0, 1]) < correlation_bound(RUNS)


def finals(problem: str, policies: list[str], theta: float, seed: int) -> tuple[np.ndarray, ...]:
    """Final regret and reward, (policies, runs) each."""
    results = sb.simulate(
        problem,
        policies,
        theta=theta,
        horizon=1000,
        runs=1000,
        seed=seed,
        checkpoints=[1000],
        progress="off",
    )
    return results.regret[:, 0, :, -1], results.reward[:, 0, :, -1]


WITHOUT_OWN_LUCK = ["ucb", "ucb-c", "kl-ucb", "kl-ucb-c", "moss", "bayes-ucb", "imed", "ucb-s"]


def test_shared_luck_makes_differences_of_regret_quieter() -> None:
    """Var(A - B) = Var A + Var B - 2 Cov(A, B): regrets of one run are correlated.

    The correlation is weak if two policies pull different arms in the same round, so the mean of
    all correlations is tested: with separate random numbers its standard deviation is
    1/√(runs · pairs). No pair varies more.
    """
    regret, _ = finals("three-arms", WITHOUT_OWN_LUCK, 1.5, seed=46)
    pairs = np.triu_indices(len(WITHOUT_OWN_LUCK), k=1)
    together = np.corrcoef(regret)[pairs]
    assert together.mean() > stats.norm.isf(RATE) / np.sqrt(regret.shape[1] * together.size)
    assert together.min() > -correlation_bound(regret.shape[1])
    # The same statistic for runs with different random numbers.
    shifted = np.stack([np.roll(row, shift) for shift, row in enumerate(regret)])
    apart = np.corrcoef(shifted)[pairs]
    assert abs(apart.mean()) < bound_on_z() / np.sqrt(regret.shape[1] * apart.size)


def test_shared_luck_helps_most_where_policies_are_alike() -> None:
    """On two arms UCB-C is UCB in most rounds: the variance falls by more than a third."""
    together, _ = finals("two-arms", ["ucb", "ucb-c"], 3.25, seed=46)
    apart, _ = finals("two-arms", ["ucb", "ucb-c"], 3.25, seed=47)
    shared, separate = (together[0] - together[1]).var(), (together[0] - apart[1]).var()
    assert shared < separate / 1.5


@pytest.mark.parametrize("pair", [["ucb", "kl-ucb"], ["ts", "ts-c"], ["ucb-s", "ts"]], ids="-".join)
def test_shared_luck_makes_differences_of_reward_much_quieter(pair: list[str]) -> None:
    """The noise that all policies share, with variance σ² T, cancels."""
    _, together = finals("three-arms", pair, 1.5, seed=46)
    _, apart = finals("three-arms", pair, 1.5, seed=47)
    shared, separate = (together[0] - together[1]).var(), (together[0] - apart[1]).var()
    assert shared < separate / 1.5


def test_in_one_run_two_policies_meet_the_same_luck() -> None:
    """In each round all policies get the same deviation from the mean, whichever arm they pull."""
    structure = sb.load_structure("three-arms")
    results = sb.simulate(
        structure, ["ucb", "ts", "ucb-s"], theta=1.5, horizon=50, runs=20, seed=45, progress="off"
    )
    best = structure.means_at(1.5).max()
    noise = results.reward + results.regret - best * results.rounds
    np.testing.assert_allclose(noise[0], noise[1], atol=1e-9)
    np.testing.assert_allclose(noise[0], noise[2], atol=1e-9)
