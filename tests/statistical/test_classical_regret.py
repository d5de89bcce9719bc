"""Mean regret of every classical policy against the independent implementation, on other seeds.

Two-sided z tests with error rate 1e-4 each, seeds fixed. Each states the relative difference that
it can detect; the formulas themselves are tested in test_classical_formulas.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import structuredbandits as sb
from tests.statistical import independent_policies
from tests.statistical.agreement import assert_different_mean, assert_same_mean
from tests.statistical.independent_policies import Rule, Runs

NORMAL_MEANS = [1.0, 0.6, 0.2]
UNIT_MEANS = [0.6, 0.5, 0.35]
ON_NORMAL_REWARDS: dict[str, Rule] = {
    "ucb": independent_policies.ucb(),
    "ucb(alpha=1)": independent_policies.ucb(1.0),
    "kl-ucb": independent_policies.kl_ucb(),
    "ts": independent_policies.thompson(),
    "moss": independent_policies.moss,
    "imed": independent_policies.imed,
    "bayes-ucb": independent_policies.bayes_ucb,
    "ucb-tuned": independent_policies.ucb_tuned,
    "epsilon-greedy": independent_policies.epsilon_greedy(),
    "epsilon-greedy(epsilon=1,decay=50)": independent_policies.epsilon_greedy(1.0, 50.0),
}
ON_UNIT_REWARDS: dict[str, Rule] = {
    "kl-ucb-bernoulli": independent_policies.kl_ucb_bernoulli,
    "ts-beta": independent_policies.thompson_beta,
    "ucb-tuned": independent_policies.ucb_tuned,
    "moss": independent_policies.moss,
}


def library_regrets(
    policy: str, means: list[float], *, sigma: float, horizon: int, runs: int, unit: bool = False
) -> np.ndarray:
    structure = sb.Structure.from_table([means], sigma=sigma)
    results = sb.simulate(
        structure,
        policy,
        theta=0,
        horizon=horizon,
        runs=runs,
        seed=1,
        environment=sb.Bernoulli(structure) if unit else None,
        checkpoints=[horizon],
        progress="off",
    )
    return results.regret[0, 0, :, -1]


@pytest.mark.parametrize("policy", ON_NORMAL_REWARDS)
def test_regret_on_normal_rewards(policy: str) -> None:
    rule = ON_NORMAL_REWARDS[policy]
    # A normal sample can have a variance near 0, which misleads UCB-tuned: its regret varies more.
    runs = 5000 if policy == "ucb-tuned" else 2000
    theirs = independent_policies.regrets(
        rule, NORMAL_MEANS, sigma=1, horizon=1000, runs=runs, seed=2
    )
    ours = library_regrets(policy, NORMAL_MEANS, sigma=1, horizon=1000, runs=8000)
    assert_same_mean(ours, theirs, visible=0.1)


@pytest.mark.parametrize("policy", ON_UNIT_REWARDS)
def test_regret_on_zeros_and_ones(policy: str) -> None:
    theirs = independent_policies.regrets(
        ON_UNIT_REWARDS[policy],
        UNIT_MEANS,
        sigma=0.5,
        horizon=400,
        runs=800 if policy == "kl-ucb-bernoulli" else 2000,  # its bisection is slow
        seed=3,
        bernoulli=True,
    )
    ours = library_regrets(policy, UNIT_MEANS, sigma=0.5, horizon=400, runs=8000, unit=True)
    assert_same_mean(ours, theirs, visible=0.1)


def test_a_wrong_constant_shows_in_the_regret() -> None:
    """The tests above can fail: alpha 2.8 instead of 3 is detected."""
    wrong = independent_policies.ucb(2.8)
    theirs = independent_policies.regrets(
        wrong, NORMAL_MEANS, sigma=1, horizon=1000, runs=2000, seed=2
    )
    ours = library_regrets("ucb", NORMAL_MEANS, sigma=1, horizon=1000, runs=8000)
    assert_different_mean(ours, theirs)


def test_thompson_has_the_regret_of_the_textbook() -> None:
    """σ = 2, means 1, 0.8, 0.5, 5,000 rounds: 158, not 1,030 as with sampled rewards."""
    means = [1.0, 0.8, 0.5]
    ours = library_regrets("ts", means, sigma=2, horizon=5000, runs=4000)
    right = independent_policies.regrets(
        independent_policies.thompson(), means, sigma=2, horizon=5000, runs=1000, seed=4
    )
    assert_same_mean(ours, right, visible=0.15)
    assert 145 < ours.mean() < 175

    def of_the_reward(runs: Runs) -> np.ndarray:
        return np.full(runs.counts.shape, runs.sigma)

    wrong = independent_policies.regrets(
        independent_policies.thompson(of_the_reward), means, sigma=2, horizon=5000, runs=100, seed=5
    )
    assert 1000 < wrong.mean() < 1060


def test_ucb_pulls_a_worse_arm_until_the_indices_balance() -> None:
    """The theory of UCB: n of a worse arm solves Δ + q/√T = q/√n with q² = 2 α σ² log T.

    The noise of the two means changes n only slightly; 8 % is allowed for this and for chance (at
    most 2.5 % standard error), much less than the effect of another constant in q.
    """
    horizon = 200_000
    structure = sb.Structure.from_table([[1.0, 0.0]], sigma=1.0)
    for alpha in (1.5, 3.0, 6.0):
        results = sb.simulate(
            structure,
            sb.UCB(alpha=alpha),
            theta=0,
            horizon=horizon,
            runs=400,
            seed=6,
            progress="off",
        )
        pulls = results.pulls[0, 0, :, 1]
        q = np.sqrt(2 * alpha * np.log(horizon))
        balance = (q / (1 + q / np.sqrt(horizon))) ** 2
        assert pulls.std() / np.sqrt(pulls.size) < 0.025 * balance
        assert abs(pulls.mean() / balance - 1) < 0.08
