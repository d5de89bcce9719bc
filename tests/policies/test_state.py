"""A run stored and resumed, pickled or copied goes on as if nothing had happened."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structuredbandits.errors import (
    DamagedFile,
    InvalidPolicy,
    StructuredBanditsError,
    WrongVersion,
)
from structuredbandits.policies.policy import Policy
from structuredbandits.policies.registry import make_policy
from structuredbandits.structure import Structure
from tests.plain.pairs import KINDS, needs_unit_rewards, pairs
from tests.plain.random_problems import Script, worlds

TWO = Structure.from_table([[1.0, 0.0, 0.3], [0.0, 2.0, 0.3]], sigma=0.5)


def resumed(policy: Policy) -> Policy:
    return Policy.from_state(policy.structure, json.loads(json.dumps(policy.state_dict())))


def pickled(policy: Policy) -> Policy:
    clone = pickle.loads(pickle.dumps(policy))
    assert isinstance(clone, Policy)
    return clone


WAYS: list[Callable[[Policy], Policy]] = [resumed, pickled, copy.copy, copy.deepcopy]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8)
@given(data=st.data(), before=st.integers(0, 40), horizon=st.sampled_from([None, 100]))
def test_every_way_to_go_on(
    kind: str, data: st.DataObject, before: int, horizon: int | None
) -> None:
    """Θ̂ is rebuilt from the stored numbers; it must be what the run had built up event by event."""
    world = data.draw(worlds(unit=needs_unit_rewards(kind)))
    algorithm, _ = data.draw(pairs(kind, world.structure.sign))
    policy = algorithm.start(world.structure, seed=1, horizon=horizon)
    script = Script(world)

    def go_on(policies: list[Policy], rounds: int) -> None:
        for _ in range(rounds):
            allowed = script.allowed()
            chosen = {one.pull(allowed) for one in policies}
            assert len(chosen) == 1
            script.waiting.append(policies[0].structure.arm_index(chosen.pop()))
            for arm, reward in script.due():
                for one in policies:
                    one.update(arm, reward)

    go_on([policy], before)
    clones = [way(policy) for way in WAYS]
    for clone in clones:
        assert clone.state_dict() == policy.state_dict()
        assert clone.competitive_arms == policy.competitive_arms
        if kind.endswith("-s") or "-c" in kind:
            assert (clone.confidence_set.mask == policy.confidence_set.mask).all()
    go_on([policy, *clones], 15)
    for clone in clones:
        assert clone.state_dict() == policy.state_dict()


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_is_a_run_of_its_own(way: Callable[[Policy], Policy]) -> None:
    policy = make_policy("ts-c", TWO, seed=3)
    policy.update(0, 1.0)
    before = policy.state_dict()
    clone = way(policy)
    clone.update(clone.pull(), 0.5)
    assert policy.state_dict() == before


def test_a_run_longer_than_its_first_tables_resumes() -> None:
    policy = make_policy("ucb-c-kl", TWO, seed=0)
    for _ in range(1500):
        policy.update(policy.pull(), 1.0)
    clone = resumed(policy)
    assert [clone.pull() for _ in range(50)] == [policy.pull() for _ in range(50)]


def test_the_state_is_small_and_plain() -> None:
    structure = Structure.from_table([[float(i % 7), float(i % 5)] for i in range(5000)], sigma=1.0)
    policy = make_policy("ucb-c", structure, seed=0)
    text = json.dumps(policy.state_dict(), allow_nan=False)
    assert len(text) < 1000
    assert json.loads(text)["version"] == 1


def state_with(changes: Any) -> Any:
    """A valid state with changes, or a value that is not a dictionary."""
    policy = make_policy("ucb-c", TWO, seed=0)
    policy.update(policy.pull(), 0.7)
    return policy.state_dict() | changes if isinstance(changes, dict) else changes


DAMAGED: list[tuple[Any, str]] = [
    (None, r"this is not the state of a policy; give what state_dict\(\) returned\."),
    ({"format": "other"}, "this is not the state of a policy"),
    ({"counts": [1.0, 0.0]}, r"damaged \(counts must be 3 finite numbers\)"),
    ({"counts": [1.0, -1.0, 1.0]}, r"damaged \(counts must not be negative\)"),
    ({"counts": [0.5, 0.5, 0.0]}, r"damaged \(counts must be whole numbers\)"),
    ({"sums": [float("nan"), 0.0, 0.0]}, r"damaged \(sums must be 3 finite numbers\)"),
    ({"squares": "many"}, "damaged"),
    ({"clock": [1, 1]}, "damaged .*clock must be three numbers, of which the first is 1"),
    ({"clock": [9, 9, 0]}, "damaged .*clock must be three numbers"),
    ({"clock": [1, -1, 0]}, "damaged .*whole number from 0 on"),
    ({"clock": None}, "damaged"),
    ({"empty_rounds": -1}, r"damaged \(empty_rounds must be a whole number from 0 on\)"),
    ({"generator": {}}, "damaged"),
    ({"generator": None}, "damaged"),
    ({"policy": {}}, "damaged"),
    ({"policy": {"algorithm": "ucb", "settings": {"beta": 1}}}, "damaged"),
]


@pytest.mark.parametrize(("changes", "sentence"), DAMAGED)
def test_damaged_states(changes: Any, sentence: str) -> None:
    with pytest.raises(DamagedFile, match=sentence):
        Policy.from_state(TWO, state_with(changes))


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        (
            {"version": 2},
            WrongVersion,
            "the state has version 2, this library reads 1; use the version that wrote it.",
        ),
        (
            {"structure": "0123"},
            InvalidPolicy,
            "the state belongs to another structure; give the structure on which it was saved.",
        ),
        (
            {"policy": {"algorithm": "gone", "settings": {}}},
            InvalidPolicy,
            "the stored policy is 'gone', which is not known here; import the module that "
            "defines it first.",
        ),
        (
            {"policy": {"algorithm": "ucb", "settings": {"alpha": -1}}},
            InvalidPolicy,
            "UCB needs a positive finite alpha, not -1; give for example alpha=3.0.",
        ),
    ],
)
def test_states_of_something_else(
    changes: dict[str, Any], error: type[StructuredBanditsError], sentence: str
) -> None:
    with pytest.raises(error) as caught:
        Policy.from_state(TWO, state_with(changes))
    assert str(caught.value) == sentence
