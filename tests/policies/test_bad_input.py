"""Rubbish is refused with one sentence and changes nothing; nothing that is accepted can crash."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structuredbandits as sb
from structuredbandits.policies.run_arguments import LARGEST_REWARD

TWO = sb.Structure.from_table([[1.0, 0.2], [0.1, 0.9]], sigma=0.5, arms=["a", "b"])
NAMES = ["ucb", "ts", "ucb-c", "ts-c", "ucb-s", "ucb-tuned", "ucb-tuned-c", "posterior"]


def running(name: str = "ucb-c") -> sb.Policy:
    return sb.make_policy(name, TWO, seed=1, history=[("a", 0.5), ("b", 0.7)])


def refuses(action: Callable[[], Any], says: str) -> None:
    with pytest.raises(sb.StructuredBanditsError) as caught:
        action()
    sentence = str(caught.value)
    assert says in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("reward", "says"),
    [
        (math.nan, "the reward is nan; give a finite number."),
        (-math.inf, "the reward is -inf; give a finite number."),
        (None, "the reward is None; give a finite number."),
        ("1.5x", "the reward is '1.5x'; give a finite number."),
        (np.array([1.0, 2.0]), "give a finite number."),
        (1e101, "the reward is 1e+101, which is too large; use another unit."),
        (-1e308, "the reward is -1e+308, which is too large; use another unit."),
    ],
)
def test_a_reward_that_cannot_be_used_changes_nothing(reward: Any, says: str) -> None:
    policy = running()
    before = json.dumps(policy.state_dict())
    refuses(lambda: policy.update("a", reward), says)
    assert json.dumps(policy.state_dict()) == before


@pytest.mark.parametrize("name", NAMES)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]),
            st.sampled_from([LARGEST_REWARD, -LARGEST_REWARD, 1e50, 0.0, 5e-324, 1.0]),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_the_largest_rewards_leave_a_policy_that_chooses(
    name: str, rows: list[tuple[str, float]]
) -> None:
    """Sums that overflow would send a search in a sorted table past its end."""
    policy = running(name)
    for arm, reward in rows:
        policy.update(arm, reward)
        assert policy.pull() in TWO.arms
    again = sb.Policy.from_state(TWO, policy.state_dict())
    assert again.pull() == policy.pull()
    assert sum(policy.probabilities().values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"sums": [1e308, 0.0]}, "sums are larger than rewards can be"),
        ({"squares": [1e300, 0.0]}, "sums are larger than rewards can be"),
        ({"sums": [math.nan, 0.0]}, "sums must be 2 finite numbers"),
        ({"counts": [0.5, 1.5]}, "counts must be whole numbers"),
        ({"counts": [10**15, 1], "clock": [10**15 + 1, 10**15 + 1, 0]}, "more rounds than a run"),
        ({"clock": [2, 10**12, 0]}, "more rounds than a run"),
        ({"clock": [2, 10**30, 0]}, "more rounds than a run"),
        ({"clock": []}, "clock must be three numbers"),
        ({"generator": {"bit_generator": "PCG64", "state": {"state": -1, "inc": 1}}}, "damaged"),
        ({"generator": "dice"}, "damaged"),
        ({"policy": {"algorithm": "ucb"}}, "damaged"),
        ({"arms": ["b", "a"]}, "damaged (its arms are ['b', 'a'], not ['a', 'b'])"),
        ({"arms": None}, "damaged (its arms are None, not ['a', 'b'])"),
        (
            {"counts": [0, 2], "sums": [5.0, 0.7], "squares": [0.0, 0.5]},
            "damaged (arm 'a' has a sum, but no reward)",
        ),
        (
            {"counts": [0, 2], "sums": [0.0, 0.7], "squares": [25.0, 0.5]},
            "damaged (arm 'a' has a sum, but no reward)",
        ),
    ],
)
def test_a_damaged_state_is_refused(changed: dict[str, Any], says: str) -> None:
    state = copy.deepcopy(running().state_dict()) | changed
    refuses(lambda: sb.Policy.from_state(TWO, state), says)


@pytest.mark.parametrize(
    ("counts", "sums", "says"),
    [
        ([[1, 1]], [[1e308, 0.0]], "the sums are too large; use another unit"),
        ([[1e-320, 1]], [[1.0, 0.0]], "counts has a number that is not whole"),
        ([[1e15, 1]], [[1.0, 0.0]], "counts add up to more than 1,000,000,000 rounds"),
        ([[math.nan, 1]], [[1.0, 0.0]], "counts must be (1, 2) finite numbers"),
        ([[-1, 1]], [[1.0, 0.0]], "counts has a negative number"),
        ([[1, 1], [1, 0]], [[1.0, 0.0], [1.0, 5.0]], "a sum for arm 'b', but a count of 0 rewards"),
        (None, None, "counts has shape ()"),
    ],
)
def test_statistics_of_many_that_cannot_be(counts: Any, sums: Any, says: str) -> None:
    refuses(lambda: sb.pull_many("ucb-c", TWO, counts, sums), says)
    refuses(lambda: sb.probabilities_many("ucb-c", TWO, counts, sums), says)


def test_a_sum_of_squares_without_rewards() -> None:
    refuses(
        lambda: sb.pull_many("ucb-tuned", TWO, [[0, 1]], [[0.0, 1.0]], squares=[[1.0, 1.0]]),
        "a subject has a sum for arm 'a', but a count of 0 rewards; give 0 as the sum, or the",
    )


@pytest.mark.parametrize("structure", [None, "three-arms", 3, [[1.0, 0.2]]])
@pytest.mark.parametrize(
    "action",
    [
        lambda structure: sb.make_policy("ucb-c", structure),
        lambda structure: sb.Competitive(sb.UCB()).start(structure),
        lambda structure: sb.Policy.from_state(structure, running().state_dict()),
        lambda structure: sb.pull_many("ucb-c", structure, [[1, 1]], [[0.5, 0.5]]),
        lambda structure: sb.probabilities_many("ucb-c", structure, [[1, 1]], [[0.5, 0.5]]),
    ],
    ids=["make_policy", "start", "from_state", "pull_many", "probabilities_many"],
)
def test_what_is_no_structure(action: Callable[[Any], Any], structure: Any) -> None:
    refuses(
        lambda: action(structure), f"{structure!r} is not a structure; make one, for example with"
    )


@pytest.mark.parametrize(
    ("action", "says"),
    [
        (lambda: sb.make_policy("ucb", TWO, history=3), "the history is 3; give rows of an arm"),
        (lambda: sb.make_policy("ucb", TWO, history="ab"), "the history is 'ab'; give rows"),
        (lambda: sb.make_policy("ucb", TWO, history=[("a",)]), "the history holds ('a',); give"),
        (lambda: sb.make_policy("ucb", TWO, history=[("a", math.nan)]), "the reward is nan"),
        (lambda: sb.make_algorithm("ucb-c(alpha=1,alpha=2)"), "gives alpha twice; give it once."),
        (lambda: sb.make_algorithm("ucb(alpha=1,alpha=2)-c"), "gives alpha twice; give it once."),
        (lambda: sb.make_algorithm("ucb-c(alpha=1e400)"), "UCB needs a positive finite alpha"),
        (lambda: sb.index_policy(3), "3 is not a function; give one, for example def cautious("),
        (lambda: sb.load_structure(3), "3 is not a structure; give an embedded name or a file."),
        (lambda: sb.load_structure(None), "None is not a structure; give an embedded"),
        (
            lambda: sb.load_results(3),
            "3 is not the path of a file; give one that Results.save wrote.",
        ),
        (lambda: sb.sweep(None, "x"), "None is not a grid; give the path of a TOML file, or a"),
        (lambda: sb.recommend(TWO, horizon=10**20), "horizon is 1e+20, which is too large"),
        (lambda: sb.recommend(TWO, horizon=10**14), "GB of memory, more than this machine has"),
        (
            lambda: sb.Structure.from_table([[1e101, 0.0]], sigma=1),
            "the means run from 0 to 1e+101, beyond ±1e+100, the largest supported",
        ),
        (
            lambda: sb.Structure.from_table([[1.0, 0.0]], sigma=1e200),
            "sigma = 1e+200 for arm '1' is above 1e+100, the largest supported",
        ),
    ],
)
def test_one_sentence(action: Callable[[], Any], says: str) -> None:
    refuses(action, says)


def test_a_log_of_rewards_that_overflow_is_refused() -> None:
    log = pd.DataFrame({"who": "x", "arm": list("abab"), "paid": [1e300, 2e300, 0.0, 1.0]})
    refuses(
        lambda: sb.learn_structure(log, arm="arm", segment="who", reward="paid"),
        "a reward is 2e+300 in size, above 1e+100, the largest supported number; use another",
    )


def test_a_simulation_refuses_rewards_that_overflow() -> None:
    steep = sb.Structure.from_functions(
        # Small at the three grid points, and beyond all bounds between them.
        {"a": lambda x: 1.0 + 1e200 * np.sin(2 * np.pi * x) ** 8, "b": lambda x: x},
        sb.Interval(0, 1, points=3),
        sigma=1.0,
    )
    refuses(
        lambda: sb.simulate(steep, "ucb-c", 0.25, horizon=10, runs=1),
        "rewards at θ = 0.25 are as large as 1e+200, too large to add up; use another unit.",
    )
