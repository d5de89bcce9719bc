"""Whole runs against the plain twin: every decision, every set, every random number."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.policies.registry import make_algorithm
from tests.plain.names import NAMES, needs_unit_rewards, plain_rule
from tests.plain.run import PlainRun
from tests.plain.worlds import compare, worlds


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_every_named_policy(name: str, data: st.DataObject, seed: int) -> None:
    world = data.draw(worlds(unit=needs_unit_rewards(name)))
    policy = make_algorithm(name).start(world.structure, seed=seed)
    plain = PlainRun(plain_rule(name, world.structure.sign), world.facts, seed)
    compare(policy, plain, world, rounds=60)
