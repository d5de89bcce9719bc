"""A log of decisions that cannot be used is refused in one sentence, and so is a bad policy."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import structuredbandits as sb
from structuredbandits.errors import InvalidInput, InvalidPolicy, InvalidReward, UnknownArm

STRUCTURE = sb.Structure.from_table([[1.0, 3.0], [4.0, 0.0]], arms=["a", "b"], sigma=1.0)


def log(**changes: Any) -> pd.DataFrame:
    plain = {
        "subject": [1, 1, 2, 2],
        "decision": [0, 1, 0, 1],
        "arm": ["a", "b", "a", "b"],
        "reward": [1.0, 0.0, 0.5, 1.0],
        "probability": [0.5, 0.5, 0.5, 0.5],
    }
    return pd.DataFrame(plain | changes)


@pytest.mark.parametrize(
    ("column", "values", "error", "words"),
    [
        (
            "probability",
            [0.5, 0.0, 0.5, 0.5],
            InvalidInput,
            r"not above 0 and at most 1, such as 0",
        ),
        ("probability", [0.5, 1.2, 0.5, 0.5], InvalidInput, r"such as 1\.2"),
        ("probability", [0.5, -0.1, 0.5, 0.5], InvalidInput, r"1 probabilities"),
        ("probability", [0.5, np.nan, 0.5, np.nan], InvalidInput, r"2 probabilities .* nan"),
        ("probability", ["0.5", "half", "0.5", "1"], InvalidInput, r"'half'"),
        ("reward", [1.0, np.nan, 1.0, 1.0], InvalidReward, r"1 rewards that are missing"),
        ("reward", [1.0, np.inf, 1.0, 1.0], InvalidReward, r"such as inf"),
        ("reward", ["1", "2", "good", "3"], InvalidReward, r"'good'"),
        ("arm", ["a", None, "a", "b"], InvalidInput, r"'arm' is empty in 1 rows"),
        ("arm", ["a", "z", "a", "b"], UnknownArm, r"an arm 'z' that the structure does not have"),
        ("subject", [1, None, 2, 2], InvalidInput, r"'subject' is empty in row 2"),
        ("subject", [1, 1, 1, 1], InvalidInput, r"only one subject"),
        ("decision", [0, np.nan, 0, 1], InvalidInput, r"'decision' is empty in row 2"),
        ("allowed", ["b", "b", "a|b", "a|b"], InvalidInput, r"not among its allowed"),
        ("allowed", ["[a", "b", "a|b", "a|b"], InvalidInput, r"are not a list; write them as"),
    ],
)
def test_values(column: str, values: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        sb.evaluate(log(**{column: values}), "uniform", structure=STRUCTURE)


@pytest.mark.parametrize("name", ["arm", "reward", "probability"])
def test_a_missing_column(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"the log has no column '{name}'"):
        sb.evaluate(log().drop(columns=name), "uniform")


def test_an_empty_log() -> None:
    with pytest.raises(InvalidInput, match="the log has no rows"):
        sb.evaluate(log().iloc[:0], "uniform")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "magic"}, "method = 'magic' is unknown"),
        ({"method": "dr"}, "needs a structure as its model"),
        ({"level": 1.0}, "level = 1.0 is not a confidence level"),
        ({"interval": "exact"}, "interval = 'exact' is unknown"),
        ({"model": "oracle"}, "model = 'oracle' is unknown"),
        ({"resamples": 3}, "resamples = 3 is too few"),
        ({"subject": "arm"}, "a column is given twice"),
        ({"context": ["page"]}, "the log has no column 'page'"),
    ],
)
def test_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        sb.evaluate(log(), "uniform", **options)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"a": 0.5, "b": 0.6}, r"sum to 1\.1"),
        ({"a": 1.5, "b": -0.5}, r"sum to 1; give numbers from 0"),
        ({"a": np.nan, "b": 1.0}, r"sum to nan"),
        ("always zebra", "names an arm 'zebra' that is not there"),
        (lambda decision: "zebra", "names an arm 'zebra'"),
        (lambda decision: [1.0], "give an arm's name, a mapping"),
        ("no-such-policy", "there is no policy"),
        (3, "3 is not a policy"),
    ],
)
def test_policies(policy: Any, words: str) -> None:
    with pytest.raises(InvalidPolicy, match=words):
        sb.evaluate(log(), policy, structure=STRUCTURE)


def test_an_algorithm_needs_a_structure() -> None:
    with pytest.raises(InvalidInput, match="policy 'ucb' needs a structure"):
        sb.evaluate(log(), "ucb")


def test_an_object_of_somebody_elses_has_no_probabilities() -> None:
    class Own:
        def pull(self, arms: list[str]) -> str:
            return arms[0]

        def update(self, arm: str, reward: float) -> None:
            pass

    with pytest.raises(InvalidPolicy, match="has a Python object inside"):
        sb.evaluate(log(), sb.Competitive(Own()), structure=STRUCTURE)


def test_rewards_that_an_algorithm_cannot_use() -> None:
    with pytest.raises(InvalidReward, match="ts-beta needs rewards between 0 and 1"):
        sb.evaluate(log(reward=[1.0, 2.0, 0.5, 1.0]), "ts-beta", structure=STRUCTURE)


def test_allowed_arms_bind_policies() -> None:
    limited = log(allowed=["a", "a|b", "a", "b"])
    with pytest.raises(InvalidPolicy, match="gives no probability to any of the allowed arms"):
        sb.evaluate(limited, "always b")
    with pytest.raises(InvalidPolicy, match="chose an arm that was not allowed"):
        sb.evaluate(limited, lambda decision: "b")


def test_replay_needs_uniformly_random_choices() -> None:
    with pytest.raises(InvalidInput, match="uniformly random choices, but a decision has prob"):
        sb.evaluate(log(probability=[0.5, 0.5, 0.4, 0.5]), "uniform", method="replay")


def test_a_policy_that_never_agrees_cannot_be_judged() -> None:
    only_a = log(arm=["a"] * 4)
    with pytest.raises(InvalidInput, match="never chooses an arm that the log shows"):
        sb.evaluate(only_a, {"b": 1.0}, method="snips")
