"""Other libraries' policies inside Algorithm-C, and ours inside theirs: with the real libraries."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from mabwiser.mab import LearningPolicy
from river import bandit

import structuredbandits as sb
from structuredbandits.policies.adapters.mabwiser import MABWiserPolicy
from structuredbandits.policies.adapters.river import RiverPolicy
from structuredbandits.policies.adapters.smpybandits import SMPyBanditsPolicy


@pytest.fixture(scope="module")
def problem() -> sb.Problem:
    return sb.load_problem("three-arms")


def play(policy: Any, problem: sb.Problem, rounds: int, theta: float = 0.5) -> list[str]:
    rewards = problem.environment.rewards(theta, seed=0)
    chosen = []
    for _ in range(rounds):
        arm = policy.pull()
        policy.update(arm, rewards.draw(arm))
        chosen.append(arm)
    return chosen


class Watched:
    """Notes which arms an inner policy was offered, and that it kept to them."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.offers: list[tuple[str, ...]] = []
        self.rewards: list[tuple[str, float]] = []

    def pull(self, arms: Any) -> Any:
        self.offers.append(tuple(arms))
        return self.inner.pull(arms)

    def update(self, arm: str, reward: float) -> None:
        self.rewards.append((arm, reward))
        self.inner.update(arm, reward)


class Index:
    """An index policy as SMPyBandits has them: UCB on positions."""

    def __init__(self, n_arms: int) -> None:
        self.nbArms = n_arms

    def startGame(self) -> None:
        self.pulls, self.rewards = np.zeros(self.nbArms), np.zeros(self.nbArms)

    def getReward(self, arm: int, reward: float) -> None:
        self.pulls[arm] += 1
        self.rewards[arm] += reward

    def computeIndex(self, arm: int) -> float:
        if self.pulls[arm] == 0:
            return float("inf")
        bonus = np.sqrt(24 * np.log(self.pulls.sum()) / self.pulls[arm])
        return float(self.rewards[arm] / self.pulls[arm] + bonus)


class SubSet(Index):
    """A policy of SMPyBandits that chooses within a subset."""

    computeIndex = property()  # type: ignore[assignment]  # it has none

    def choiceFromSubSet(self, places: list[int]) -> int:
        return min(places, key=lambda place: float(self.pulls[place]))


INNER = {
    "river UCB": lambda arms: bandit.UCB(delta=4, seed=1),
    "river ε-greedy": lambda arms: bandit.EpsilonGreedy(epsilon=0.2, seed=1),
    "mabwiser UCB1": lambda arms: MABWiserPolicy(arms, LearningPolicy.UCB1(alpha=2), seed=1),
    "mabwiser softmax": lambda arms: MABWiserPolicy(arms, LearningPolicy.Softmax(tau=1), seed=1),
    "smpybandits index": lambda arms: SMPyBanditsPolicy(arms, Index(len(arms))),
    "smpybandits subset": lambda arms: SMPyBanditsPolicy(arms, SubSet(len(arms))),
}


@pytest.mark.parametrize("name", INNER)
def test_inner_policies_choose_among_the_competitive_arms(name: str, problem: sb.Problem) -> None:
    structure = problem.structure
    policy = sb.Competitive(Watched(INNER[name](structure.arms))).start(structure, seed=2)
    chosen = play(policy, problem, 400)
    watched = policy.run.external
    assert len(watched.rewards) == 400  # it keeps its own statistics, of every pull
    assert {len(offer) for offer in watched.offers} & {2, 3}
    assert chosen.count("2") > 170  # the best arm at θ = 0.5; a third would be chance


def test_mabwiser_sees_the_same_rewards_as_mabwiser_alone() -> None:
    arms = ["a", "b", "c"]
    policy = MABWiserPolicy(arms, LearningPolicy.EpsilonGreedy(epsilon=0.0))
    for arm, reward in (("a", 1.0), ("b", 2.0), ("c", 1.5), ("b", 0.0)):
        policy.update(arm, reward)
    assert policy._mab.predict_expectations() == {"a": 1.0, "b": 1.0, "c": 1.5}
    assert policy.pull(["a", "b"]) == "a"
    assert policy.pull(arms) == "c"


def test_contextual_and_foreign_objects_are_refused() -> None:
    with pytest.raises(sb.InvalidPolicy, match="needs a context"):
        MABWiserPolicy(["a", "b"], LearningPolicy.LinUCB())
    with pytest.raises(sb.InvalidPolicy, match="object does not have startGame"):
        SMPyBanditsPolicy(["a", "b"], object())


def test_our_policies_work_in_rivers_evaluate(problem: sb.Problem) -> None:
    game = gymnasium.make(
        "structuredbandits.environments.gym:StructuredBandit-v0",
        source=problem,
        theta=0.5,
        max_episode_steps=300,
    )
    policies = [RiverPolicy(name, problem.structure, seed=7) for name in ("ucb", "ucb-c")]
    policies.append(bandit.UCB(delta=4, seed=1))
    steps = list(bandit.evaluate(policies, game, n_episodes=2, seed=1))
    assert len(steps) == 2 * 300 * 3
    earned = [sum(s["reward"] for s in steps if s["policy_idx"] == i) for i in range(3)]
    assert earned[1] > earned[0]  # 600 rounds, regret about 60 against 300


def test_a_river_policy_is_the_same_run_as_ours(problem: sb.Problem) -> None:
    ours = sb.make_policy("ts-c", problem.structure, seed=5)
    theirs = RiverPolicy("ts-c", problem.structure, seed=5).clone()
    rewards = np.random.default_rng(1).normal(3.0, 2.0, size=200)
    for reward in rewards:
        arm = theirs.pull(range(3))
        assert isinstance(arm, int)
        assert problem.structure.arms[arm] == ours.pull()
        theirs.update(arm, reward)
        ours.update(arm, reward)
    assert len(theirs.ranking) == len({*np.flatnonzero(ours.counts)})
