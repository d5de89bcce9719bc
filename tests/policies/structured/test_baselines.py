"""The policies that everybody has without a structure, against plain formulas and in play."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structuredbandits as sb
from structuredbandits.policies.structured.hierarchical_index import gittins_bonus
from structuredbandits.policies.structured.population import population_of
from tests.policies.structured import plain
from tests.policies.structured.plain import Population, Seen
from tests.statistical.agreement import assert_frequencies, assert_same_mean, assert_smaller

SIGMA = 0.8


def learned(seed: int, *, minimize: bool = False, exact: bool = False) -> sb.Structure:
    """A random table with errors of different sizes (or none), and a prior."""
    generator = np.random.default_rng(seed)
    shape = (int(generator.integers(1, 9)), int(generator.integers(2, 7)))
    errors = None if exact else generator.uniform(0.0, 0.5, shape)
    return sb.Structure.from_table(
        generator.normal(0.0, 1.0, shape),
        sigma=SIGMA,
        standard_errors=errors,
        prior=generator.random(shape[0]) + 0.05,
        minimize=minimize,
    )


def population(structure: sb.Structure) -> Population:
    errors = structure.standard_errors
    assert structure.prior is not None
    return Population(
        structure.sign * structure.means,
        np.zeros(structure.means.shape) if errors is None else errors,
        structure.prior,
        np.full(structure.n_arms, SIGMA),
    )


Twin = Callable[[Population, Seen, int], np.ndarray]
HORIZON = 40
CASES: dict[str, Twin] = {
    "always": lambda known, seen, left: plain.always(known, seen),
    "always(arm='2')": lambda known, seen, left: plain.always(known, seen, 1),
    "greedy": lambda known, seen, left: plain.greedy(known, seen),
    "prior-index": lambda known, seen, left: plain.prior_index(
        known, seen, left, gittins_bonus.py_func
    ),
}


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), minimize=st.booleans(), exact=st.booleans())
def test_every_decision_is_the_twins(name: str, seed: int, minimize: bool, exact: bool) -> None:
    structure = learned(seed, minimize=minimize, exact=exact)
    known, n_arms = population(structure), structure.n_arms
    policy = sb.make_policy(name, structure, seed=seed, horizon=HORIZON)
    generator = np.random.default_rng(seed + 1)
    counts, sums = np.zeros(n_arms), np.zeros(n_arms)
    for step in range(HORIZON):
        size = int(generator.integers(1, n_arms + 1)) if step % 3 == 2 else n_arms
        allowed = np.sort(generator.permutation(n_arms)[:size])
        seen = Seen(counts.copy(), structure.sign * sums, allowed)
        values = CASES[name](known, seen, HORIZON - step)[allowed]
        names = [structure.arms[arm] for arm in allowed]
        shares = policy.probabilities(names)
        chosen = policy.pull(names)
        ordered = np.sort(values)
        if size == 1 or ordered[-1] - ordered[-2] > 1e-9:
            assert chosen == structure.arms[allowed[values.argmax()]], step
            assert shares[chosen] == 1.0
        arm = structure.arm_index(chosen)
        reward = float(generator.normal(0.0, 1.0))
        policy.update(chosen, reward)
        counts[arm] += 1
        sums[arm] += reward


def test_with_bounds_the_middle_counts_and_the_width_is_doubt() -> None:
    vague = sb.Structure.from_bounds([[0.0, 1.0]], [[0.0, 2.0]], sigma=1.0)
    found = population_of(vague)
    np.testing.assert_allclose(found.means, [0.0, 1.5])
    np.testing.assert_allclose(found.variances, [0.0, 1 / 12])


def test_a_named_arm_that_is_not_there_is_refused_with_a_remedy() -> None:
    structure = sb.load_structure("three-arms")
    with pytest.raises(sb.InvalidPolicy, match=r"always\(arm='4'\) names an arm .*'1', '2', '3'"):
        sb.make_policy("always(arm=4)", structure)


def test_a_named_arm_that_is_not_allowed_is_replaced_by_the_best_one() -> None:
    structure = sb.Structure.from_table([[1.0, 3.0, 2.0]], arms=["a", "b", "c"], sigma=1.0)
    policy = sb.make_policy("always(arm='a')", structure)
    assert [policy.pull(), policy.pull(["b", "c"]), policy.pull(["c"])] == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["uniform", "always", "greedy", "prior-index"])
def test_stored_runs_resume_with_the_same_decisions(name: str) -> None:
    structure = learned(3)
    rewards = np.random.default_rng(4).normal(0.0, 1.0, 80)
    policy = sb.make_policy(name, structure, seed=3, horizon=100)

    def play(run: sb.Policy, some: np.ndarray) -> list[str]:
        chosen = []
        for reward in some:
            chosen.append(run.pull())
            run.update(chosen[-1], float(reward))
        return chosen

    play(policy, rewards[:30])
    twin = sb.Policy.from_state(structure, json.loads(json.dumps(policy.state_dict())))
    assert play(policy, rewards[30:]) == play(twin, rewards[30:])


def test_uniform_pulls_every_arm_equally_often() -> None:
    """5,000 pulls among 5 arms; error rate 1e-4 (chi-square), seed 3."""
    structure = sb.Structure.from_table([[5.0, 1.0, 2.0, 3.0, 4.0]], sigma=1.0)
    policy = sb.make_policy("uniform", structure, seed=3)
    policy.update("1", 5.0)
    pulled = [policy.pull() for _ in range(5_000)]
    assert_frequencies([pulled.count(arm) for arm in structure.arms], [0.2] * 5)


def test_uniform_and_always_lose_what_arithmetic_says() -> None:
    """300 runs of 200 rounds; uniform has error rate 1e-4 (z test), seed 5, always is exact."""
    structure = sb.Structure.from_table([[1.0, 0.4, 0.0], [0.0, 1.5, 0.2]], sigma=1.0, prior=[2, 1])
    found = sb.simulate(
        structure, ["uniform", "always"], theta=[0, 1], horizon=200, runs=300, seed=5
    )
    regret = found.regret[..., -1]
    gaps = structure.means.max(axis=1, keepdims=True) - structure.means
    exact = np.random.default_rng(0).multinomial(200, [1 / 3] * 3, size=300) @ gaps.T
    for theta in range(2):
        assert_same_mean(regret[0, theta], exact[:, theta])
    # On average arm 1 earns 2/3, arm 2 23/30.
    np.testing.assert_allclose(regret[1, :, 0], 200 * gaps[:, 1])
    assert (regret[1] == regret[1, :, :1]).all()


def test_each_rival_earns_what_it_is_for() -> None:
    """300 worlds drawn from the prior, 400 rounds: paired z tests of error rate 1e-4, seed 7.

    Arms are independent, so a structure has nothing to add: the index over arms alone beats being
    greedy, which beats one arm for everybody, which beats a random choice.
    """
    generator = np.random.default_rng(7)
    means = np.linspace(0.0, 0.4, 5) + generator.normal(0.0, 0.5, (300, 5))
    structure = sb.Structure.from_table(means, sigma=1.0)
    names = ["prior-index", "greedy", "always", "uniform"]
    found = sb.simulate(
        structure, names, theta=list(range(300)), horizon=400, runs=1, seed=7, progress="off"
    )
    regret = found.regret[:, :, 0, -1]
    for better, worse in itertools.pairwise(regret):
        assert_smaller(better, worse)
