"""Whole runs against the plain twin: every decision, every set, every random number."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structuredbandits.policies.registry import make_algorithm, policy_names
from tests.plain.pairs import CLASSICAL, KINDS, needs_unit_rewards, pairs
from tests.plain.policies_by_name import NAMES, plain_rule
from tests.plain.random_problems import compare, worlds
from tests.plain.run import PlainRun

HORIZONS = st.sampled_from([None, 60, 1000])


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1), horizon=HORIZONS)
def test_every_decision_is_the_twins(
    kind: str, data: st.DataObject, seed: int, horizon: int | None
) -> None:
    world = data.draw(worlds(unit=needs_unit_rewards(kind)))
    algorithm, rule = data.draw(pairs(kind, world.structure.sign))
    policy = algorithm.start(world.structure, seed=seed, horizon=horizon)
    compare(policy, PlainRun(rule, world.facts, seed, horizon or 0), world, rounds=50)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=3)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_a_name_means_the_paper_s_parameters(name: str, data: st.DataObject, seed: int) -> None:
    world = data.draw(worlds(unit=needs_unit_rewards(name)))
    policy = make_algorithm(name).start(world.structure, seed=seed)
    plain = PlainRun(plain_rule(name, world.structure.sign), world.facts, seed)
    compare(policy, plain, world, rounds=30)


def test_every_classical_algorithm_has_a_twin() -> None:
    room = "structuredbandits.policies.classical."
    mine = {name for name in policy_names() if _module(name).startswith(room)}
    assert mine == set(CLASSICAL)


def _module(name: str) -> str:
    return type(make_algorithm(name)).__module__
