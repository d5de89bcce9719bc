"""Every policy of the library keeps the contract, and a policy that breaks it is caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.classical.ucb import UCBAgent
from structuredbandits.testing import check_policy

# Algorithm-C with an informative step and the joint set are the same code around every base.
NAMES = [name for name in sb.policy_names() if "-c-" not in name and not name.endswith("-cj")] + [
    "ucb-c-kl",
    "ts-c-entropy",
    "ucb-c-random",
    "ucb-c-differential",
    "ts-cj",
]


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_keeps_the_contract(name: str) -> None:
    check_policy(name)


@pytest.mark.parametrize("name", ["ucb-c(floor=0.1)", "ts-c(pull_each_arm_first=True)"])
def test_options_keep_the_contract(name: str) -> None:
    check_policy(name)


@dataclass(frozen=True, repr=False)
class Boastful(Algorithm):
    """UCB that tells wrong probabilities."""

    name: ClassVar[str] = "boastful"

    def agent(self, structure: Any, rounds: int, horizon: int) -> UCBAgent:
        return UCBAgent(1.0)

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        return np.full(snapshot.block.shape[1], 1.0 / snapshot.block.shape[1])


def test_wrong_probabilities_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    from structuredbandits.policies import registry

    monkeypatch.setitem(registry._BY_NAME, "boastful", Boastful)
    with pytest.raises(AssertionError, match="times"):
        check_policy(Boastful())


@dataclass(frozen=True, repr=False)
class Nameless(Algorithm):
    """An algorithm that cannot be made again from its name."""

    name: ClassVar[str] = "ucb"

    def agent(self, structure: Any, rounds: int, horizon: int) -> UCBAgent:
        return UCBAgent(1.0)


def test_a_label_of_another_policy_is_caught() -> None:
    with pytest.raises(AssertionError, match="label"):
        check_policy(Nameless())
