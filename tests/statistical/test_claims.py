"""The claims of the published figures at full length: 50,000 rounds, σ = 2, α = 3.

Claims "A beats B" are one-sided z tests of the paired differences (all policies of a run face
identical rewards) with error rate 1e-4, seed 1. The figures average 100 runs; more runs are used
where a true difference is too small to be significant in 100.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import structuredbandits as sb
from tests.statistical.agreement import assert_smaller

HORIZON = 50_000


@cache
def regrets(problem: str, policy: str, theta: float, runs: int = 100) -> np.ndarray:
    """Regret after 5,000 and after all rounds: (runs, 2)."""
    results = sb.simulate(
        problem,
        policy,
        theta=theta,
        horizon=HORIZON,
        runs=runs,
        seed=1,
        checkpoints=[5000, HORIZON],
        progress="off",
    )
    return results.regret[0, 0]


def final_regrets(problem: str, policy: str, theta: float, runs: int = 100) -> np.ndarray:
    return regrets(problem, policy, theta, runs)[:, -1]


def assert_beats(problem: str, theta: float, better: str, worse: str, runs: int = 100) -> None:
    assert_smaller(
        final_regrets(problem, better, theta, runs), final_regrets(problem, worse, theta, runs)
    )


def mean_regret(problem: str, policy: str, theta: float) -> float:
    return float(final_regrets(problem, policy, theta).mean())


@pytest.mark.parametrize("theta", [0.5, 1.5, 2.6])
@pytest.mark.parametrize("base", ["ucb", "ts", "kl-ucb"])
def test_on_three_arms_every_competitive_version_beats_its_base(base: str, theta: float) -> None:
    # Where all three arms are competitive, the gain is small compared with the noise of 100 runs.
    runs = 1000 if theta == 2.6 else 100
    assert_beats("three-arms", theta, f"{base}-c", base, runs=runs)


def test_on_three_arms_ucb_s_is_best_of_its_family_at_one_theta_and_worst_at_another() -> None:
    assert_beats("three-arms", 0.5, "ucb-s", "ucb-c")
    assert_beats("three-arms", 0.5, "ucb-s", "ucb")
    assert_beats("three-arms", 2.6, "ucb", "ucb-s")


def test_on_three_arms_regret_stops_growing_where_one_arm_is_competitive() -> None:
    """At θ* = 0.5 UCB-C has regret O(1): only rare errors add regret in the second half."""
    results = sb.simulate(
        "three-arms",
        ["ucb", "ucb-c"],
        theta=0.5,
        horizon=HORIZON,
        runs=100,
        seed=1,
        checkpoints=[HORIZON // 2, HORIZON],
        progress="off",
    )
    growth = np.diff(results.mean()[:, 0], axis=1)[:, 0]
    assert growth[1] < 0.05 * growth[0]


def test_on_two_arms_ucb_s_depends_on_theta() -> None:
    for other in ("ucb", "ucb-c", "ts-c"):
        assert_beats("two-arms", 2.75, "ucb-s", other)
    assert_beats("two-arms", 3.25, "ucb", "ucb-s")


TWO_ARM_THETAS = [0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4.25, 4.75]


@pytest.mark.parametrize("theta", TWO_ARM_THETAS)
def test_on_two_arms_ucb_c_is_never_worse_than_ucb(theta: float) -> None:
    """The paired difference is not above 0 by more than chance (one-sided, 1e-4)."""
    difference = final_regrets("two-arms", "ucb-c", theta) - final_regrets("two-arms", "ucb", theta)
    error = difference.std(ddof=1) / np.sqrt(difference.size)
    assert difference.mean() <= 3.72 * error


def test_on_two_arms_ts_c_is_best_for_most_theta() -> None:
    best = [
        theta
        for theta in TWO_ARM_THETAS
        if mean_regret("two-arms", "ts-c", theta)
        <= min(mean_regret("two-arms", other, theta) for other in ("ucb", "ucb-s", "ucb-c"))
    ]
    assert len(best) > len(TWO_ARM_THETAS) / 2


FAMILY = ["ucb-c", "ucb-c-kl", "ucb-c-entropy", "ucb-c-random"]


def test_on_informative_ucb_s_is_far_behind() -> None:
    assert 2300 < mean_regret("informative", "ucb-s", 3.1) < 2700
    for policy in FAMILY:
        assert 500 < mean_regret("informative", policy, 3.1) < 800


def test_on_informative_kl_ends_below_the_plain_version_after_being_above_it() -> None:
    assert_beats("informative", 3.1, "ucb-c-kl", "ucb-c", runs=600)
    early = {name: regrets("informative", name, 3.1, 600)[:, 0] for name in ("ucb-c", "ucb-c-kl")}
    assert_smaller(early["ucb-c"], early["ucb-c-kl"])


@pytest.mark.parametrize("metric", ["", "-kl", "-entropy", "-random"])
def test_on_informative_thompson_beats_ucb(metric: str) -> None:
    assert_beats("informative", 3.1, f"ts-c{metric}", f"ucb-c{metric}")
