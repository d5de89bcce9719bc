"""A set that may lag names the same competitive arms as one that follows every reward."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from structuredbandits.confidence.memory import (
    ACTIVE,
    ACTIVE_ROW,
    LAZY_LIMIT,
    PLAUSIBLE,
    REGISTERS_ROW,
)
from structuredbandits.policies.classical.ucb import UCB
from structuredbandits.policies.competitive import Competitive
from structuredbandits.policies.policy import Policy
from structuredbandits.problems import load_structure
from structuredbandits.structure import Structure
from tests.plain.random_problems import RandomRewards, World, worlds


def twins(structure: Structure, alpha: float, lazy_limit: int) -> tuple[Policy, Policy]:
    """A run whose set is exact, and one whose set may lag."""
    exact = Competitive(UCB(), alpha=alpha).start(structure, seed=0)
    lagging = Competitive(UCB(), alpha=alpha).start(structure, seed=0)
    lagging.run.memory.integers[REGISTERS_ROW, LAZY_LIMIT] = lazy_limit
    return exact, lagging


def standing(policy: Policy) -> tuple[list[int], bool]:
    """The competitive arms, and whether no θ is plausible."""
    registers = policy.run.memory.integers[REGISTERS_ROW]
    arms = policy.run.memory.integers[ACTIVE_ROW, : registers[ACTIVE]]
    return arms.tolist(), bool(registers[PLAUSIBLE] == 0)


@settings(max_examples=150)
@given(
    worlds(),
    st.sampled_from([0.01, 0.1, 0.5, 3.0]),
    st.sampled_from([1, 2, 4, 50]),
    st.sampled_from([0.9, 0.99]),
)
def test_the_competitive_arms_are_the_same(
    world: World, alpha: float, lazy_limit: int, share: float
) -> None:
    exact, lagging = twins(world.structure, alpha, lazy_limit)
    rng = np.random.default_rng(world.seed)
    source = RandomRewards(world, rng)
    # One arm gets nearly all rewards, for only then do its ends wander within their frame.
    favourite, n_arms = int(rng.integers(world.structure.n_arms)), world.structure.n_arms
    for place in range(250):
        arm = favourite if rng.random() < share else int(rng.integers(n_arms))
        reward = source.draw(arm)
        exact.update(arm, reward)
        lagging.update(arm, reward)
        assert standing(lagging) == standing(exact), f"after reward {place}"


def test_it_does_lag_and_catches_up() -> None:
    exact, lagging = twins(load_structure("three-arms"), alpha=0.5, lazy_limit=4)
    rng = np.random.default_rng(5)
    behind = 0
    for _ in range(2_000):
        reward = float(rng.normal(3.0, 2.0))
        exact.update(1, reward)
        lagging.update(1, reward)
        assert standing(lagging) == standing(exact)
        behind += not np.array_equal(lagging.run.memory.marks, exact.run.memory.marks)
    assert behind > 500  # otherwise the comparison above would show nothing
    exact.update(0, 3.0)
    lagging.update(0, 3.0)  # another arm's reward: the set has to be exact now
    lagging.update(1, 3.0)
    exact.update(1, 3.0)
    assert np.array_equal(lagging.run.memory.marks, exact.run.memory.marks)


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 5),
    st.sampled_from([20, 200]),
    st.sampled_from([0.02, 0.1]),
    st.sampled_from([2, 8]),
)
def test_also_when_an_interval_comes_back_to_where_it_was(
    seed: int, n_arms: int, n_parameters: int, alpha: float, lazy_limit: int
) -> None:
    """One arm's mean goes up and down while the intervals of the others grow slowly.

    So a θ that another arm lets in, where the wandering interval is not now, is reached later.
    """
    rng = np.random.default_rng(seed)
    structure = Structure.from_table(rng.random((n_parameters, n_arms)), sigma=1.0)
    exact, lagging = twins(structure, alpha, lazy_limit)
    for arm in range(n_arms):
        for _ in range(int(rng.integers(1, 6))):
            reward = float(rng.random())
            exact.update(arm, reward)
            lagging.update(arm, reward)
    goal = 0.5
    for place in range(700):
        if place % 50 == 0:
            goal = float(rng.random())
        mean = exact.run.evidence.means[0]
        # Whatever takes the mean a part of the way to its goal.
        reward = float(mean + (goal - mean) * exact.counts[0] * 0.05)
        exact.update(0, reward)
        lagging.update(0, reward)
        assert standing(lagging) == standing(exact), f"after reward {place}"
