"""Long simulated runs are the loop in Python, for policies that set Θ̂ to different uses.

The simulator lets the set lag, skips looks at it and keeps tables of rounds; over thousands of
rounds and in worlds of every kind the decisions have to be those of a policy that gets every
reward. The worlds are drawn with fixed seeds.
"""

from __future__ import annotations

import numpy as np
import pytest

from structuredbandits.environments import Gaussian
from structuredbandits.policies.registry import make_algorithm
from structuredbandits.simulation.task import Task
from structuredbandits.structure import Structure
from tests.simulation.loops import assert_equal, outcome

POLICIES = [
    "ucb-c",
    "ucb-c(alpha=0.3)",
    "ucb-c(alpha=0.05)",
    "ts-c",
    "imed-c",
    "moss-c",
    "ucb-s",
    "ucb-s(alpha=0.3)",
    "ucb-c-kl",
    "ts-c-entropy",
    "ucb-c-differential",
    "ucb-c-random",
]
WORLDS = 60


def world(rng: np.random.Generator) -> tuple[Structure, Structure]:
    """What the policy knows, and the truth: mostly the same, sometimes a little beside it."""
    n_arms, n_parameters = int(rng.integers(2, 12)), int(rng.integers(1, 120))
    levels = int(rng.choice([0, 2, 4, 10]))
    table = rng.random((n_parameters, n_arms))
    if levels:  # equal values: many θ enter and leave together, and arms tie
        table = np.floor(table * levels) / levels
    sigma, costs = float(rng.choice([0.02, 0.1, 0.5, 2.0])), bool(rng.integers(2))
    above = rng.choice([0.0, 0.1, 0.3], table.shape) * (rng.random() < 0.3)
    known = Structure.from_bounds(table, table + above, sigma=sigma, minimize=costs)
    wrong = rng.normal(0.0, 0.05, table.shape) * (rng.random() < 0.4)
    return known, Structure.from_table(known.means + wrong, sigma=sigma, minimize=costs)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_long_run_is_the_loop(policy: str) -> None:
    algorithm = make_algorithm(policy)
    seen = {"bounds": 0, "costs": 0, "empty": 0, "several arms": 0}
    for number in range(WORLDS):
        rng = np.random.default_rng([POLICIES.index(policy), number])
        known, truth = world(rng)
        theta = truth.parameters[int(rng.integers(truth.n_parameters))]
        horizon = int(rng.choice([300, 2_000, 5_000]))
        checkpoints = tuple(range(horizon // 10, horizon + 1, horizon // 10))
        task = Task(algorithm, known, Gaussian(truth), theta, checkpoints, number, 0, 1)
        found, expected = outcome(task)
        assert_equal(found, expected)
        seen["bounds"] += not known.exact
        seen["costs"] += known.minimize
        seen["empty"] += int(found.empty_rounds[0] > 0)
        seen["several arms"] += int((found.pulls[0] > 0).sum() > 1)
    assert min(seen.values()) > 0, seen  # otherwise the worlds would show less than they should
