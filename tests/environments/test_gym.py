"""The Gymnasium environment: Gymnasium's own check, and the rewards that it promises."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import structuredbandits as sb
from structuredbandits.environments.gym import StructuredBandit

ADDRESS = "structuredbandits.environments.gym:StructuredBandit-v0"


@pytest.mark.parametrize("name", ["three-arms", "movielens"])
def test_gymnasium_accepts_it(name: str) -> None:
    game = gymnasium.make(ADDRESS, source=sb.load_problem(name))
    check_env(game.unwrapped, skip_render_check=True)


def test_rewards_are_those_of_the_environment() -> None:
    """2,000 pulls; the mean is within 5 standard errors (error rate below 1e-6), seed 3."""
    problem = sb.load_problem("three-arms")
    game = StructuredBandit(problem, theta=0.5)
    game.reset(seed=3)
    rewards = [game.step(1)[1] for _ in range(2000)]
    assert abs(np.mean(rewards) - 5.25) < 5 * 2 / np.sqrt(2000)
    assert game.step(0)[4] == {"regret": 2.25}


def test_equal_seeds_give_equal_episodes_and_others_do_not() -> None:
    structure = sb.load_structure("three-arms")
    games = [StructuredBandit(structure) for _ in range(3)]
    seen = []
    for game, seed in zip(games, (1, 1, 2), strict=True):
        game.reset(seed=seed)
        seen.append([game.step(arm % 3)[1] for arm in range(20)])
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]


def test_theta_is_drawn_by_the_prior() -> None:
    """300 resets, prior 0.9: the share is within 5 standard errors (error rate below 1e-6)."""
    structure = sb.Structure.from_table([[1.0, 0.0], [0.0, 1.0]], sigma=0.1, prior=[9, 1])
    game = StructuredBandit(structure)
    game.reset(seed=1)
    firsts = 0
    for _ in range(300):
        game.reset()
        firsts += game.step(0)[4]["regret"] == 0.0
    assert abs(firsts / 300 - 0.9) < 5 * np.sqrt(0.09 / 300)


def test_costs_are_negated_and_horizons_end() -> None:
    costs = sb.Structure.from_table([[1.0, 2.0]], sigma=1e-9, minimize=True)
    game = StructuredBandit(costs, theta=0, horizon=2)
    game.reset(seed=1)
    _, reward, terminated, truncated, info = game.step(1)
    assert reward == pytest.approx(-2.0)
    assert (terminated, truncated, info["regret"]) == (False, False, 1.0)
    assert game.step(0)[3]


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"source": 3}, "3 gives no rewards"), ({"horizon": 0}, "horizon is 0"), ({"theta": 9}, "9")],
)
def test_bad_input_is_refused(settings: dict[str, object], said: str) -> None:
    structure = sb.Structure.from_table([[1.0, 2.0]], sigma=1.0)
    with pytest.raises(sb.InvalidInput, match=said):
        StructuredBandit(**{"source": structure, **settings})  # type: ignore[arg-type]


def test_step_needs_a_reset() -> None:
    game = StructuredBandit(sb.Structure.from_table([[1.0, 2.0]], sigma=1.0))
    with pytest.raises(sb.InvalidInput, match="call reset"):
        game.step(0)
