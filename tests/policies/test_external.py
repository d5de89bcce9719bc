"""Any object with River's pull and update as the inner policy of Algorithm-C."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import bandit, proba

from structuredbandits.environments import Gaussian
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.competitive import Competitive
from structuredbandits.policies.policy import Policy
from structuredbandits.simulation import simulate
from structuredbandits.simulation.seeds import policy_sequence
from structuredbandits.structure import Structure
from tests.plain.classical import Seen
from tests.plain.random_problems import World, compare, worlds
from tests.plain.run import PlainRun, Rule

TWO = Structure.from_table([[1.0, 0.0, 0.3], [0.0, 2.0, 0.3]], arms=["a", "b", "c"], sigma=0.5)


class LastSeen:
    """Pulls the arm whose latest reward was the largest; arms that are new come first."""

    def __init__(self) -> None:
        self.latest: dict[str, float] = {}
        self.offered: list[list[str]] = []

    def pull(self, arms: list[str]) -> str:
        self.offered.append(arms)
        return max(arms, key=lambda arm: self.latest.get(arm, float("inf")))

    def update(self, arm: str, reward: float) -> None:
        self.latest[arm] = reward


class FewestRewards:
    """Pulls the arm with the fewest rewards so far."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def pull(self, arms: list[str]) -> str:
        return min(arms, key=lambda arm: self.counts.get(arm, 0))

    def update(self, arm: str, reward: float) -> None:
        self.counts[arm] = self.counts.get(arm, 0) + 1


def fewest_rewards(seen: Seen, candidates: list[int], generator: np.random.Generator) -> int:
    return min(candidates, key=lambda arm: seen.counts[arm])


@settings(max_examples=25)
@given(worlds(), st.sampled_from([0.3, 3.0]))
def test_it_chooses_among_the_competitive_arms(world: World, alpha: float) -> None:
    policy = Competitive(FewestRewards(), alpha=alpha).start(world.structure, seed=0)
    plain = PlainRun(Rule("c", fewest_rewards, alpha), world.facts, 0)
    compare(policy, plain, world, rounds=30)


def test_it_is_offered_names_and_only_where_there_is_a_choice() -> None:
    policy = Competitive(LastSeen()).start(TWO, seed=0)
    policy.pull()
    policy.pull(["c"])
    policy.pull(["b", "c"])
    inner = policy.run.external
    assert inner.offered == [["a", "b"], ["b", "c"]]


def test_every_run_has_an_object_of_its_own() -> None:
    inner = LastSeen()
    algorithm = Competitive(inner)
    first, second = algorithm.start(TWO, seed=0), algorithm.start(TWO, seed=0)
    first.update("a", 7.0)
    assert inner.latest == {}
    assert second.run.external.latest == {}


@pytest.mark.parametrize("way", [copy.deepcopy, lambda policy: pickle.loads(pickle.dumps(policy))])
def test_copies_go_on_alike(way: Any) -> None:
    policy = Competitive(LastSeen()).start(TWO, seed=0)
    for reward in (0.3, 0.1):
        policy.update(policy.pull(), reward)
    clone = way(policy)
    for _ in range(5):
        arm = policy.pull()
        assert clone.pull() == arm
        policy.update(arm, 0.2)
        clone.update(arm, 0.2)


def test_it_cannot_be_stored_as_json_nor_tell_probabilities() -> None:
    policy = Competitive(LastSeen()).start(TWO, seed=0)
    with pytest.raises(InvalidPolicy, match="LastSeen objects cannot be stored as JSON"):
        json.dumps(policy.state_dict())
    with pytest.raises(
        InvalidPolicy, match="the probabilities of lastseen-c are not known; use an"
    ):
        policy.probabilities()


class Wrong(LastSeen):
    def pull(self, arms: list[str]) -> str:
        return "nowhere"


class Picky(LastSeen):
    def update(self, arm: str, reward: float) -> None:
        raise RuntimeError("no")


def numbers(policy: Policy) -> tuple[Any, ...]:
    state = policy.generator.bit_generator.state
    return policy.counts.tolist(), policy.decided, policy.received, policy.empty_rounds, str(state)


def test_an_arm_that_was_not_offered() -> None:
    policy = Competitive(Wrong()).start(TWO, seed=0)
    policy.update("a", 100.0)  # no θ is plausible: the next decision would count as an empty round
    before = numbers(policy)
    with pytest.raises(InvalidPolicy) as caught:
        policy.pull()
    assert str(caught.value) == (
        "Wrong.pull chose 'nowhere', which is not among the arms it was given, ['a', 'b', 'c']; "
        "it must return one of them."
    )
    assert numbers(policy) == before


def test_an_object_that_refuses_a_reward() -> None:
    policy = Competitive(Picky()).start(TWO, seed=0)
    before = numbers(policy)
    with pytest.raises(RuntimeError):
        policy.update("a", 1.0)
    assert numbers(policy) == before


def river_policies() -> list[Any]:
    return [
        bandit.UCB(delta=0.1, seed=3),
        bandit.EpsilonGreedy(epsilon=0.2, seed=3),
        bandit.ThompsonSampling(reward_obj=proba.Gaussian(), seed=3),
    ]


@pytest.mark.parametrize("inner", river_policies(), ids=lambda inner: type(inner).__name__)
def test_river_inside_algorithm_c(inner: Any) -> None:
    """Interactive and simulated runs agree, and only competitive arms are pulled."""
    algorithm = Competitive(inner)
    label = algorithm.label
    assert label == f"{type(inner).__name__.lower()}-c"
    results = simulate(TWO, algorithm, theta=1, horizon=60, runs=2, seed=5, checkpoints=60)
    for run in range(2):
        policy = algorithm.start(TWO, seed=policy_sequence(5, run, label, 1), horizon=60)
        stream = Gaussian(TWO).rewards(1, 5, run)
        total = []
        for _ in range(60):
            competitive = policy.competitive_arms
            arm = policy.pull()
            assert arm in competitive
            policy.update(arm, stream.draw(arm))
            total.append(float(policy.run.evidence.sums.sum()))
        assert total == results.reward[0, 0, run].tolist()
        assert policy.counts.tolist() == results.pulls[0, 0, run].tolist()
    assert inner.ranking == []  # the object that was given has seen nothing


def test_river_learns_the_structure() -> None:
    """Seed 5: at θ = 1 arm b is best; with the structure it gets nearly every pull."""
    algorithm = Competitive(bandit.UCB(delta=0.1, seed=3))
    results = simulate(TWO, algorithm, theta=1, horizon=200, runs=3, seed=5)
    assert results.pulls[0, 0, :, 1].min() > 150
