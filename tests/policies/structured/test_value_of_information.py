"""The default policy against its plain twin, at its limits, and on every structure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import structuredbandits as sb
from structuredbandits.policies.structured.hierarchical_index import gittins_bonus
from structuredbandits.policies.structured.shrunken_model import shrunken_model
from tests.plain.value_of_information import Belief, scores

HORIZON = 40


def random_structure(seed: int, *, minimize: bool, exact: bool) -> sb.Structure:
    generator = np.random.default_rng(seed)
    shape = (int(generator.integers(1, 9)), int(generator.integers(2, 6)))
    return sb.Structure.from_table(
        generator.normal(0.0, 1.0, shape),
        sigma=generator.uniform(0.5, 1.5, shape[1]),
        standard_errors=None if exact else generator.uniform(0.05, 0.5, shape),
        prior=generator.random(shape[0]) + 0.05,
        minimize=minimize,
    )


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), minimize=st.booleans(), exact=st.booleans())
def test_every_decision_is_the_twins(seed: int, minimize: bool, exact: bool) -> None:
    structure = random_structure(seed, minimize=minimize, exact=exact)
    model = shrunken_model(structure, None, True, 1.0)
    n_arms = structure.n_arms
    belief = Belief(
        model.means.T,
        model.errors.T,
        np.exp(model.log_prior),
        model.noise,
        *np.zeros((3, n_arms)),
    )
    policy = sb.make_policy("default", structure, seed=seed, horizon=HORIZON)
    generator = np.random.default_rng(seed + 1)
    waiting: list[str] = []
    for step in range(HORIZON):
        size = int(generator.integers(1, n_arms + 1)) if step % 3 == 2 else n_arms
        allowed = np.sort(generator.permutation(n_arms)[:size])
        values = scores(belief, allowed, HORIZON - step - 1)
        names = [structure.arms[arm] for arm in allowed]
        shares = policy.probabilities(names)
        chosen = policy.pull(names)
        ordered = np.sort(values)
        if size == 1 or ordered[-1] - ordered[-2] > 1e-9 * abs(ordered[-1]):
            assert chosen == structure.arms[allowed[values.argmax()]], step
            assert shares[chosen] == 1.0
        belief.pending[structure.arm_index(chosen)] += 1
        waiting.append(chosen)
        while waiting and generator.random() < 0.6:
            name = waiting.pop(0)
            arm, reward = structure.arm_index(name), float(generator.normal(0.0, 1.0))
            policy.update(name, reward)
            belief.pending[arm] -= 1
            belief.counts[arm] += 1
            belief.sums[arm] += structure.sign * reward


@pytest.mark.parametrize("rounds", [20, 100, 1_000, 10_000, 100_000])
def test_for_one_unknown_arm_it_is_the_gittins_index(rounds: int) -> None:
    """Pulled up to the boundary of Chernoff and Ray: within 3 % of it from 20 rounds on."""
    boundary = gittins_bonus.py_func(float(rounds))

    def chosen(disadvantage: float) -> str:
        known = sb.Structure.from_table(
            [[0.0, -disadvantage]],
            sigma=1.0,
            arms=["known", "unknown"],
            standard_errors=[[0.0, 1.0]],
        )
        policy = sb.ValueOfInformation(doubt=1e-9).start(known, horizon=rounds + 1)
        return str(policy.pull())

    assert chosen(0.97 * boundary) == "unknown"
    assert chosen(1.03 * boundary) == "known"


def test_it_applies_to_every_embedded_structure() -> None:
    for name in sb.problem_names():
        policy = sb.make_policy("default", sb.load_structure(name), seed=1)
        policy.update(policy.pull(), 1.0)
        assert policy.algorithm.label == "value-of-information"


def test_default_is_an_alias_with_parameters_and_wrappers() -> None:
    assert sb.make_algorithm("default(length=30)").label == "value-of-information(length=30)"
    assert sb.make_algorithm("Default(floor=0.02)") == sb.make_algorithm(
        "value-of-information(floor=0.02)"
    )
    pairs = sb.ValueOfInformation(length=((10, 3), (100, 1)))
    assert pairs.length == ((10.0, 0.75), (100.0, 0.25))
    assert sb.make_algorithm(pairs.label) == pairs
