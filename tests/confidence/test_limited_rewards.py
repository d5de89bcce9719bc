"""The sets of Bernoulli and bounded rewards: the divergence of every θ, after every reward."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structuredbandits.confidence import divergence
from structuredbandits.confidence.confidence_set import ConfidenceParameters
from structuredbandits.confidence.many_subjects import PlausibleSets
from structuredbandits.confidence.memory import LAZY_LIMIT, REGISTERS_ROW
from structuredbandits.environments import Bernoulli
from structuredbandits.policies.classical.ucb import UCB
from structuredbandits.policies.competitive import Competitive
from structuredbandits.policies.policy import Policy
from structuredbandits.policies.structured.ucb_s import UCBS
from structuredbandits.simulation.task import Task
from structuredbandits.structure import Interval, Structure
from tests.confidence.test_lazy_update import standing
from tests.from_python import from_python
from tests.plain import classical
from tests.plain.random_problems import (
    RandomRewards,
    World,
    compare,
    compare_sets,
    facts_of,
    limited_worlds,
)
from tests.plain.run import PlainRun, Rule
from tests.plain.structure_arrays import divergence as plain_divergence
from tests.simulation.loops import assert_equal, outcome

# No simple fractions: n kl(0, 1/2) = alpha log t would be an equation between whole numbers.
ALPHAS = st.sampled_from([0.0137, 0.531, 3.0017])


def twins(structure: Structure, alpha: float) -> tuple[Policy, PlainRun]:
    policy = Competitive(UCB(), alpha=alpha).start(structure, seed=0)
    return policy, PlainRun(Rule("c", classical.ucb(), alpha), facts_of(structure), 0)


@settings(max_examples=100)
@given(limited_worlds(), ALPHAS)
def test_rewards_of_any_arms(world: World, alpha: float) -> None:
    policy, plain = twins(world.structure, alpha)
    rng = np.random.default_rng(world.seed)
    source = RandomRewards(world, rng)
    shares = rng.dirichlet(np.full(world.structure.n_arms, 0.3))
    for place, arm in enumerate(rng.choice(world.structure.n_arms, size=80, p=shares).tolist()):
        reward = source.draw(arm)
        policy.update(arm, reward)
        plain.update(arm, reward)
        compare_sets(policy, plain, f"after reward {place}")
    sets = PlausibleSets(ConfidenceParameters(alpha, "box", world.structure))
    assert sets.mask(policy.run.block).tolist() == plain.plausible.tolist()


@settings(max_examples=60)
@given(limited_worlds(), ALPHAS, st.booleans())
def test_whole_runs_are_the_twins(world: World, alpha: float, by_ucb_s: bool) -> None:
    rule = Rule("s" if by_ucb_s else "c", classical.ucb(alpha), alpha)
    algorithm = UCBS(alpha=alpha) if by_ucb_s else Competitive(UCB(alpha=alpha), alpha=alpha)
    policy = algorithm.start(world.structure, seed=3)
    compare(policy, PlainRun(rule, world.facts, 3), world, rounds=60)


@settings(max_examples=100)
@given(limited_worlds(), ALPHAS, st.sampled_from([1, 2, 4, 50]), st.sampled_from([0.9, 0.99]))
def test_a_set_that_lags_names_the_same_competitive_arms(
    world: World, alpha: float, lazy_limit: int, share: float
) -> None:
    exact = Competitive(UCB(), alpha=alpha).start(world.structure, seed=0)
    lagging = Competitive(UCB(), alpha=alpha).start(world.structure, seed=0)
    lagging.run.memory.integers[REGISTERS_ROW, LAZY_LIMIT] = lazy_limit
    rng = np.random.default_rng(world.seed)
    source = RandomRewards(world, rng)
    favourite, n_arms = int(rng.integers(world.structure.n_arms)), world.structure.n_arms
    for place in range(250):
        arm = favourite if rng.random() < share else int(rng.integers(n_arms))
        reward = source.draw(arm)
        exact.update(arm, reward)
        lagging.update(arm, reward)
        assert standing(lagging) == standing(exact), f"after reward {place}"


@st.composite
def smooth_rates(draw: st.DrawFn) -> Structure:
    """Curves with many θ and few arms: soon one arm alone competes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_arms, points = draw(st.integers(2, 6)), draw(st.sampled_from([2, 7, 60, 900]))
    grid = np.linspace(0.0, 6.0, points)[:, None, None]
    waves = np.sin(np.arange(1, 4) * grid / 2 + rng.uniform(0, 6, (n_arms, 3)))
    logits = draw(st.sampled_from([0.0, -4.0, 5.0])) + 3.0 * waves.sum(axis=2)
    rates = 1.0 / (1.0 + np.exp(-logits))
    if draw(st.booleans()):
        rates = np.round(rates, 1)  # steps, also of 0 and 1
    prize = draw(st.sampled_from([0.1, 1.0, 7.0]))
    return Structure.from_table(
        prize * rates,
        Interval(0, 6, points=points),
        rewards="bernoulli",
        prize=prize,
        minimize=draw(st.booleans()),
    )


@settings(max_examples=60)
@given(
    smooth_rates(),
    st.sampled_from([0.0517, 0.531, 3.0017]),
    st.sampled_from([(1_500,), (1, 70, 71, 800, 1_500)]),
    st.data(),
)
def test_a_simulated_run_is_the_run_of_the_policy(
    structure: Structure, alpha: float, checkpoints: tuple[int, ...], data: st.DataObject
) -> None:
    theta = data.draw(st.sampled_from(list(structure.parameters)))
    seed = data.draw(st.integers(0, 1_000))
    world = Bernoulli(structure, prize=structure.rewards.high)
    algorithm = Competitive(UCB(alpha=alpha), alpha=alpha)
    assert_equal(*outcome(Task(algorithm, structure, world, theta, checkpoints, seed, 0, 1)))


@settings(max_examples=200)
@given(
    st.integers(1, 10**7),
    st.floats(0.0, 1.0),
    st.sampled_from([1e-3, 0.1, 3.0, 50.0]),
)
def test_ends_of_an_interval_are_where_the_divergence_is_c(
    count: int, share: float, c: float
) -> None:
    successes = float(round(share * count))
    low, high = ends_of_rate(successes, float(count), c)
    p = successes / count
    for x, none in ((low, p == 0.0), (high, p == 1.0)):
        if none:
            assert math.isinf(x)
        else:
            rate = 1.0 / (1.0 + math.exp(-x)) if x > 0 else math.exp(x) / (1.0 + math.exp(x))
            if 1e-9 < rate < 1 - 1e-6:  # nearer to 1 a rate has too few digits for this check
                assert count * plain_divergence(p, rate) == pytest.approx(c, rel=1e-5)


@settings(max_examples=300)
@given(
    st.floats(50.0, 1e6),
    st.integers(2, 256),
    st.floats(-8.0, 8.0),
    st.floats(-8.0, 8.0),
    st.sampled_from([0.05, 1.0, 20.0]),
    st.floats(1.0, 1.01),
)
def test_sums_below_the_line_pass_no_value(
    first: float, rounds: int, outside: float, inside: float, c: float, growth: float
) -> None:
    """On the line itself, and at the worst c, by the ends that the exact check computes."""
    last = first + rounds
    ends = most_successes(first, last, outside, inside, c, c * growth)
    if not all(map(math.isfinite, ends)):
        return
    for i in (0, 1, rounds // 2, rounds):
        count = first + i
        successes = min(ends[0] + i / rounds * (ends[1] - ends[0]), count)
        if successes > 0.0:
            assert upper_end(successes, count, c * growth) <= outside
            assert -upper_end(count - successes, count, c) < inside


ends_of_rate = from_python(divergence.ends_of_rate)
most_successes = from_python(divergence.most_successes)
upper_end = from_python(divergence.upper_end)


def test_a_rate_of_0_is_excluded_by_one_click_only_if_the_map_is_exact() -> None:
    rates = [[0.0, 0.5], [0.5, 0.0]]
    exact = Structure.from_table(rates, rewards="bernoulli")
    learned = Structure.from_table(
        rates, rewards="bernoulli", standard_errors=np.full((2, 2), 0.2), counts=np.full((2, 2), 4)
    )
    found = []
    for structure in (exact, learned):
        policy = Competitive(UCB()).start(structure, seed=0)
        for _ in range(3):
            policy.update(0, 0.0)
        policy.update(0, 1.0)
        found.append(policy.confidence_set.mask.tolist())
    assert found == [[False, True], [True, True]]


def test_clicks_need_a_tenth_of_the_rewards_that_sigma_one_half_needs() -> None:
    """At rates of 2 and 4 per cent, and exactly these shares of clicks."""
    rates = [[0.02, 0.5], [0.04, 0.5]]
    needed = []
    for options in ({"rewards": "bernoulli"}, {"sigma": 0.5}):
        policy = Competitive(UCB()).start(Structure.from_table(rates, **options), seed=0)
        count = 0
        while policy.confidence_set.mask.tolist() != [True, False]:
            policy.update(0, float(count % 50 == 49))
            count += 1
        needed.append(count)
    assert needed[0] < needed[1] / 8
