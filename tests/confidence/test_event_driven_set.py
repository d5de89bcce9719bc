"""The event-driven set against its definition, recomputed after every reward."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from structuredbandits.policies.classical.ucb import UCB
from structuredbandits.policies.competitive import Competitive
from structuredbandits.policies.policy import Policy
from structuredbandits.policies.structured.ucb_s import UCBS
from structuredbandits.structure import Structure
from tests.plain import classical
from tests.plain.random_problems import (
    RandomRewards,
    World,
    compare,
    compare_sets,
    facts_of,
    worlds,
)
from tests.plain.run import PlainRun, Rule

ALPHAS = st.sampled_from([0.01, 0.5, 3.0, 10.0])


def twins(structure: Structure, alpha: float) -> tuple[Policy, PlainRun]:
    policy = Competitive(UCB(), alpha=alpha).start(structure, seed=0)
    return policy, PlainRun(Rule("c", classical.ucb(), alpha), facts_of(structure), 0)


def follow(policy: Policy, plain: PlainRun, rewards: Iterable[tuple[int, float]]) -> None:
    for place, (arm, reward) in enumerate(rewards):
        policy.update(arm, reward)
        plain.update(arm, reward)
        compare_sets(policy, plain, f"after reward {place}")


@settings(max_examples=100)
@given(worlds(), ALPHAS)
def test_rewards_of_any_arms(world: World, alpha: float) -> None:
    policy, plain = twins(world.structure, alpha)
    compare_sets(policy, plain, "at first")
    rng = np.random.default_rng(world.seed)
    source = RandomRewards(world, rng)
    # Some arms get most of the rewards, so that the others' intervals grow for long.
    shares = rng.dirichlet(np.full(world.structure.n_arms, 0.3))
    arms = rng.choice(world.structure.n_arms, size=100, p=shares).tolist()
    follow(policy, plain, ((arm, source.draw(arm)) for arm in arms))


def ends(mean: float, count: int, sigma: float, alpha: float, t: int) -> tuple[float, float]:
    """The interval of an arm after t rewards, in the order of operations that is specified."""
    radius = math.sqrt(alpha) * math.sqrt(2.0 * math.log(max(t, 2))) * (sigma / math.sqrt(count))
    return mean - radius, mean + radius


def around(value: float) -> list[float]:
    """A value and its two neighbours."""
    return [math.nextafter(value, -math.inf), value, math.nextafter(value, math.inf)]


def on_the_ends(
    reward: float, count: int, waits: int, sigma: float, alpha: float
) -> NDArray[np.float64]:
    """Means exactly on an end of the first arm's interval at some t, or one step beside."""
    total = 0.0
    for _ in range(count):
        total += reward
    values = []
    for t in range(count, count + waits + 1):
        for end in ends(total / count, count, sigma, alpha, t):
            values += around(end)
    return np.array(values)


@settings(max_examples=60)
@given(
    reward=st.floats(-1.0, 1.0),
    size=st.integers(-9, 9),
    offset=st.sampled_from([0.0, 1.0, 1e6, -1e9]),
    count=st.integers(1, 30),
    waits=st.integers(0, 40),
    spread=st.sampled_from([1e-3, 0.3, 2.0, 1e3]),
    alpha=ALPHAS,
    minimize=st.booleans(),
)
@example(0.5, 0, 0.0, 1, 40, 2.0, 3.0, False)
@example(0.1, 0, -1e9, 3, 40, 1e-3, 3.0, True)
def test_means_exactly_on_the_ends(
    reward: float,
    size: int,
    offset: float,
    count: int,
    waits: int,
    spread: float,
    alpha: float,
    minimize: bool,
) -> None:
    """While the second arm gets rewards the first one's interval grows; no θ is a round late."""
    value, sigma = 10.0**size * (reward + offset), 10.0**size * spread
    means = on_the_ends(value, count, waits, sigma, alpha)
    table = np.stack([means, np.zeros_like(means)], axis=1)
    structure = Structure.from_table(table, sigma=[sigma, 1e12 * sigma], minimize=minimize)
    policy, plain = twins(structure, alpha)
    follow(policy, plain, [(0, value)] * count + [(1, 0.0)] * waits)


def test_both_ends_are_strict() -> None:
    low, high = ends(1.0, 4, 0.5, 3.0, 4)
    inside = [math.nextafter(low, math.inf), 1.0, math.nextafter(high, -math.inf)]
    structure = Structure.from_table([[value, 0.0] for value in [low, *inside, high]], sigma=0.5)
    policy = Competitive(UCB()).start(structure, seed=0)
    for _ in range(4):
        policy.update(0, 1.0)
    assert policy.confidence_set.mask.tolist() == [False, True, True, True, False]


def test_bounds_are_strict_too() -> None:
    """θ stays if its lower mean is below the upper end and its upper mean above the lower end."""
    low, high = ends(1.0, 4, 0.5, 3.0, 4)
    below, above = low - 1.0, high + 1.0
    bounds = [
        (below, low),
        (below, math.nextafter(low, math.inf)),
        (below, above),
        (math.nextafter(high, -math.inf), above),
        (high, above),
    ]
    structure = Structure.from_bounds(
        [[lower, 0.0] for lower, _ in bounds], [[upper, 0.0] for _, upper in bounds], sigma=0.5
    )
    policy = Competitive(UCB()).start(structure, seed=0)
    for _ in range(4):
        policy.update(0, 1.0)
    assert policy.confidence_set.mask.tolist() == [False, True, True, True, False]


@settings(max_examples=4)
@given(worlds(max_arms=8, max_parameters=200), st.booleans())
def test_long_runs_let_arms_back_in(world: World, by_ucb_s: bool) -> None:
    rule = Rule("s" if by_ucb_s else "c", classical.ucb())
    algorithm = UCBS() if by_ucb_s else Competitive(UCB())
    policy = algorithm.start(world.structure, seed=3)
    compare(policy, PlainRun(rule, world.facts, 3), world, rounds=1000)


def test_more_rounds_than_the_first_tables_hold() -> None:
    """Tables of the coming rounds are renewed in the middle of a run."""
    structure = Structure.from_table([[0.0, 1.0], [1.0, 0.0]], sigma=5.0)
    world = World(structure, "noisy", 1, delayed=True, masked=False)
    policy, plain = twins(structure, 3.0)
    policy.update(0, 0.0)
    plain.update(0, 0.0)
    compare(policy, plain, world, rounds=2500)
