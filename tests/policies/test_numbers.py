"""Numbers of any kind as parameters, rewards and horizons: used as they are meant, or refused."""

from __future__ import annotations

import numpy as np
import pytest

import structuredbandits as sb

TWO = sb.Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=0.5)
UNIT = sb.Structure.from_table([[0.9, 0.1], [0.2, 0.8]], sigma=0.5)
HUGE = 10**400


@pytest.mark.parametrize("kind", [int, float, np.int64, np.int8, np.float64, np.float32])
def test_numpy_numbers_are_parameters(kind: type) -> None:
    algorithm = sb.Competitive(sb.UCB(alpha=kind(2)), alpha=kind(2))
    assert algorithm.label == "ucb-c(alpha=2)"
    assert sb.make_algorithm(algorithm.label).label == algorithm.label
    assert (
        algorithm.start(TWO, seed=1).pull() == sb.make_policy("ucb-c(alpha=2)", TWO, seed=1).pull()
    )


@pytest.mark.parametrize("alpha", [True, np.True_, HUGE, np.nan, -1, "2", None])
def test_what_is_no_positive_number_is_refused(alpha: object) -> None:
    with pytest.raises(sb.errors.InvalidPolicy, match="positive finite alpha"):
        sb.UCB(alpha=alpha)  # type: ignore[arg-type]


def test_a_number_in_a_name_that_no_float_holds_is_refused() -> None:
    with pytest.raises(sb.errors.InvalidPolicy, match="the number is too large at character 11"):
        sb.make_algorithm(f"ucb(alpha={HUGE})")


def test_a_reward_that_no_float_holds_is_refused() -> None:
    policy = sb.make_policy("ucb-c", TWO, seed=1)
    with pytest.raises(sb.errors.InvalidReward, match="finite number"):
        policy.update(policy.pull(), HUGE)


@pytest.mark.parametrize("horizon", [10**30, 10**9 + 1, 0])
def test_a_horizon_without_end_is_refused(horizon: int) -> None:
    with pytest.raises(sb.errors.InvalidInput, match="from 1 to 1,000,000,000"):
        sb.make_policy("moss", TWO, horizon=horizon)


def test_probabilities_of_many_need_the_rewards_that_the_policy_needs() -> None:
    with pytest.raises(sb.errors.InvalidReward, match="between 0 and 1"):
        sb.probabilities_many("ts-beta", UNIT, [[1, 1]], [[5.0, 0.0]])


def test_more_arms_than_a_set_can_keep_are_refused() -> None:
    means = np.zeros((2, 16_384))
    means[0, 0], means[1, 1] = 1.0, 1.0
    structure = sb.Structure.from_table(means, sigma=1.0)
    with pytest.raises(sb.errors.InvalidStructure, match="16,384 arms"):
        sb.make_policy("ucb-c", structure)
    assert sb.make_policy("ucb", structure, seed=1).pull() in structure.arms


def test_a_floor_does_not_hide_that_the_grid_is_coarse() -> None:
    coarse = sb.Structure.from_functions(
        {"up": lambda theta: theta, "down": lambda theta: 1 - theta},
        sb.Interval(0, 1, points=3),
        sigma=0.1,
    )
    for policy in ("ucb-c", "ucb-c(floor=0.1)"):
        with pytest.warns(sb.errors.StructureWarning, match="too coarse"):
            sb.simulate(coarse, policy, 0.3, horizon=5_000, runs=1, seed=1)
