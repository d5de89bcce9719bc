"""One call for many subjects decides as a policy of each would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structuredbandits.errors import (
    InvalidInput,
    InvalidPolicy,
    InvalidReward,
    StructuredBanditsError,
    UnknownArm,
)
from structuredbandits.policies.batch import pull_many
from structuredbandits.policies.competitive import Competitive
from structuredbandits.policies.policy import Policy
from structuredbandits.structure import Structure
from tests.plain.pairs import needs_unit_rewards, pairs
from tests.plain.random_problems import RandomRewards, worlds

TWO = Structure.from_table([[1.0, 0.0, 0.3], [0.0, 2.0, 0.3]], sigma=0.5)


# One of each way to choose: by index, by posterior, by Θ̂, with coins and with a floor.
KINDS = ("ucb-tuned", "ts-beta", "bayes-ucb", "ucb-c", "ts-c", "ucb-c-kl", "ucb-s", "floor ts-c")


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(data=st.data(), n_subjects=st.integers(0, 6), horizon=st.sampled_from([None, 300]))
def test_the_same_decisions_from_the_same_evidence(
    kind: str, data: st.DataObject, n_subjects: int, horizon: int | None
) -> None:
    """Subject by subject, with random numbers from one generator."""
    world = data.draw(worlds(unit=needs_unit_rewards(kind)))
    algorithm, _ = data.draw(pairs(kind, world.structure.sign))
    structure = world.structure
    rng = np.random.default_rng(world.seed)
    source = RandomRewards(world, rng)
    counts = rng.integers(0, 4, (n_subjects, structure.n_arms))
    pending = rng.integers(0, 2, counts.shape)
    sums, squares = np.zeros(counts.shape), np.zeros(counts.shape)
    for subject, arm in np.argwhere(counts > 0):
        rewards = [source.draw(int(arm)) for _ in range(counts[subject, arm])]
        sums[subject, arm] = sum(rewards)
        squares[subject, arm] = sum(reward * reward for reward in rewards)
    arms = None
    if world.masked:
        arms = rng.permutation(structure.n_arms)[: rng.integers(1, structure.n_arms + 1)].tolist()
    generator = np.random.Generator(np.random.PCG64(5))
    state = generator.bit_generator.state
    chosen = pull_many(
        algorithm,
        structure,
        counts,
        sums,
        squares=squares,
        pending=pending,
        arms=arms,
        horizon=horizon,
        seed=generator,
    )
    assert chosen.shape == (n_subjects,)
    empty = algorithm.start(structure).state_dict()
    for subject in range(n_subjects):
        received = int(counts[subject].sum())
        single = Policy.from_state(
            structure,
            empty
            | {
                "counts": counts[subject].tolist(),
                "sums": (structure.sign * sums[subject]).tolist(),
                "squares": squares[subject].tolist(),
                "pending": pending[subject].tolist(),
                "clock": [received, received + int(pending[subject].sum()), horizon or 0],
                "generator": state,
            },
        )
        assert single.pull(arms) == structure.arms[chosen[subject]]
        state = single.generator.bit_generator.state
    assert generator.bit_generator.state == state


def test_a_seed_fixes_the_choices() -> None:
    def choices(seed: int) -> list[int]:
        chosen = pull_many("ts", TWO, np.ones((50, 3)), np.ones((50, 3)), seed=seed)
        return [int(arm) for arm in chosen]

    assert choices(1) == choices(1)
    assert choices(1) != choices(2)


def test_nothing_of_the_callers_is_changed() -> None:
    counts, sums = np.ones((4, 3)), np.full((4, 3), 2.0)
    pull_many("ucb-c", TWO.with_(minimize=True), counts, sums, seed=0)
    assert (counts == 1.0).all()
    assert (sums == 2.0).all()


class Stubborn:
    """An object with River's verbs."""

    def pull(self, arms: list[str]) -> str:
        return arms[0]

    def update(self, arm: str, reward: float) -> None:
        pass

    def __repr__(self) -> str:
        return "Stubborn()"


ONE = [[1, 1, 1]]
SUMS = [[0.5, 0.5, 0.5]]


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (
            {"counts": [[1, 1]]},
            InvalidInput,
            "counts has shape (1, 2); give (subjects, 3) numbers.",
        ),
        ({"counts": [1, 1, 1]}, InvalidInput, "counts has shape (3,); give (subjects, 3) numbers."),
        (
            {"counts": [["a", "b", "c"]]},
            InvalidInput,
            "counts are not numbers; give one row per subject and one number per arm.",
        ),
        (
            {"counts": [[1, 1, -1]]},
            InvalidInput,
            "counts has a negative number; all must be at least 0.",
        ),
        (
            {"sums": [[0.5, 0.5, float("inf")]]},
            InvalidInput,
            "sums must be (1, 3) finite numbers, as counts are.",
        ),
        (
            {"pending": [[1.0]]},
            InvalidInput,
            "pending must be (1, 3) finite numbers, as counts are.",
        ),
        (
            {"arms": []},
            InvalidInput,
            "no arm is allowed; name at least one, or leave arms out for all.",
        ),
        ({"arms": ["4"]}, UnknownArm, "there is no arm '4'; choose one of '1', '2', '3'"),
        (
            {"horizon": 0},
            InvalidInput,
            "the horizon is 0; give a whole number of rounds, from 1 to 1,000,000,000, or None.",
        ),
        (
            {"seed": -1},
            InvalidInput,
            "the seed is -1; give a whole number of at least 0, or None for a random one.",
        ),
        (
            {"policy": "ts-beta", "sums": [[0.5, 1.5, 0.0]]},
            InvalidReward,
            "a sum is 1.5 for 1 rewards, but ts-beta needs rewards between 0 and 1; scale them, "
            "or use an algorithm such as ts or kl-ucb.",
        ),
        (
            {"policy": Competitive(Stubborn())},
            InvalidPolicy,
            "Competitive(Stubborn()) chooses with a Python object, whose memory no statistics "
            "hold; give an algorithm such as Competitive(UCB()).",
        ),
    ],
)
def test_refusals(
    arguments: dict[str, Any], error: type[StructuredBanditsError], sentence: str
) -> None:
    usual: dict[str, Any] = {"policy": "ucb", "counts": ONE, "sums": SUMS}
    with pytest.raises(error) as caught:
        pull_many(structure=TWO, **(usual | arguments))
    assert str(caught.value) == sentence
