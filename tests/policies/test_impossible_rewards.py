"""Rewards that an arm cannot give are refused, and change nothing."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import structuredbandits as sb
from structuredbandits.errors import InvalidReward

CLICKS = sb.Structure.from_table([[0.1, 0.2]], arms=["a", "b"], rewards="bernoulli")
STARS = sb.Structure.from_table([[2, 4]], arms=["a", "b"], rewards="bounded", limits=(1, 5))
COSTS = STARS.with_(minimize=True)


@pytest.mark.parametrize(
    ("known", "good", "bad"),
    [(CLICKS, 1.0, 1_000_000.0), (CLICKS, 0.0, 0.5), (STARS, 4.5, 7.0), (COSTS, 5.0, -1.0)],
)
def test_a_policy_refuses_them(known: sb.Structure, good: float, bad: float) -> None:
    policy = sb.make_policy("ucb", known)
    policy.update("a", good)
    with pytest.raises(InvalidReward, match=re.escape(f"reward {bad:g} of arm 'a' is impossible")):
        policy.update("a", bad)
    assert policy.received == 1
    assert policy.means[0] == good


def test_batches_refuse_impossible_sums() -> None:
    assert sb.pull_many("ucb", STARS, [[2, 1]], [[10.0, 1.0]], seed=1).shape == (1,)
    for known, sums in ((STARS, [[11.0, 1.0]]), (COSTS, [[1.5, 1.0]]), (CLICKS, [[3.0, 0.0]])):
        with pytest.raises(InvalidReward, match="2 rewards of arm 'a' is impossible"):
            sb.probabilities_many("ucb", known, [[2, 1]], sums)


def test_an_evaluated_policy_does_not_learn_from_them() -> None:
    log = pd.DataFrame(
        {"arm": list("ab") * 5, "reward": [1.0, 7.0] * 5, "probability": np.full(10, 0.5)}
    )
    with pytest.raises(InvalidReward, match="reward 7 of arm 'b' is impossible"):
        sb.evaluate(log, "ucb", structure=STARS, method="ips", progress="off")
