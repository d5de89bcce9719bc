"""Mean regret of every classical policy against the second implementation, on other seeds.

Two-sided z tests with error rate 1e-4 each, seeds fixed. Each states the relative difference that
it can see; the formulas themselves are tested in test_formulas.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import structuredbandits as sb
from tests.statistical import independent
from tests.statistical.agreement import assert_different_mean, assert_same_mean
from tests.statistical.independent import Rule, Runs

NORMAL_MEANS = [1.0, 0.6, 0.2]
UNIT_MEANS = [0.6, 0.5, 0.35]
ON_NORMAL_REWARDS: dict[str, Rule] = {
    "ucb": independent.ucb(),
    "ucb(alpha=1)": independent.ucb(1.0),
    "kl-ucb": independent.kl_ucb(),
    "ts": independent.thompson(),
    "moss": independent.moss,
    "imed": independent.imed,
    "bayes-ucb": independent.bayes_ucb,
    "ucb-tuned": independent.ucb_tuned,
    "epsilon-greedy": independent.epsilon_greedy(),
    "epsilon-greedy(epsilon=1,decay=50)": independent.epsilon_greedy(1.0, 50.0),
}
ON_UNIT_REWARDS: dict[str, Rule] = {
    "kl-ucb-bernoulli": independent.kl_ucb_bernoulli,
    "ts-beta": independent.thompson_beta,
    "ucb-tuned": independent.ucb_tuned,
    "moss": independent.moss,
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
    # A normal sample can show a variance near 0, which leads UCB-tuned astray: a wilder regret.
    runs = 5000 if policy == "ucb-tuned" else 2000
    theirs = independent.regrets(rule, NORMAL_MEANS, sigma=1, horizon=1000, runs=runs, seed=2)
    ours = library_regrets(policy, NORMAL_MEANS, sigma=1, horizon=1000, runs=8000)
    assert_same_mean(ours, theirs, visible=0.1)


@pytest.mark.parametrize("policy", ON_UNIT_REWARDS)
def test_regret_on_zeros_and_ones(policy: str) -> None:
    theirs = independent.regrets(
        ON_UNIT_REWARDS[policy],
        UNIT_MEANS,
        sigma=0.5,
        horizon=400,
        runs=800 if policy == "kl-ucb-bernoulli" else 2000,  # its halvings take their time
        seed=3,
        bernoulli=True,
    )
    ours = library_regrets(policy, UNIT_MEANS, sigma=0.5, horizon=400, runs=8000, unit=True)
    assert_same_mean(ours, theirs, visible=0.1)


def test_a_wrong_constant_shows_in_the_regret() -> None:
    """So that the tests above can fail: alpha 2.8 in place of 3."""
    wrong = independent.ucb(2.8)
    theirs = independent.regrets(wrong, NORMAL_MEANS, sigma=1, horizon=1000, runs=2000, seed=2)
    ours = library_regrets("ucb", NORMAL_MEANS, sigma=1, horizon=1000, runs=8000)
    assert_different_mean(ours, theirs)


def test_thompson_has_the_regret_of_the_textbook() -> None:
    """σ = 2, means 1, 0.8, 0.5, 5,000 rounds: 158, where drawing whole rewards has 1,030."""
    means = [1.0, 0.8, 0.5]
    ours = library_regrets("ts", means, sigma=2, horizon=5000, runs=4000)
    right = independent.regrets(
        independent.thompson(), means, sigma=2, horizon=5000, runs=1000, seed=4
    )
    assert_same_mean(ours, right, visible=0.15)
    assert 145 < ours.mean() < 175

    def of_the_reward(runs: Runs) -> np.ndarray:
        return np.full(runs.counts.shape, runs.sigma)

    wrong = independent.regrets(
        independent.thompson(of_the_reward), means, sigma=2, horizon=5000, runs=100, seed=5
    )
    assert 1000 < wrong.mean() < 1060


def test_ucb_pulls_a_worse_arm_until_the_indices_balance() -> None:
    """The theory of UCB: n of a worse arm solves Δ + q/√T = q/√n with q² = 2 α σ² log T.

    The noise of the two means moves it by little; 8 % is allowed for that and for chance (at most
    2.5 % standard error), far less than what another constant in q would do.
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
