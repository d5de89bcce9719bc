"""Which interval an estimate gets, what a bet may lose, and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import structuredbandits as sb
from structuredbandits.cli.main import run
from structuredbandits.evaluation._betting import (
    Bets,
    bets_on_dr,
    bets_on_ips,
    bets_on_snips,
    betting_interval,
    cautious_interval,
)
from structuredbandits.evaluation._interval_choice import influence_of


def log_of(rewards: list[float], arms: str = "", probability: float = 0.5) -> pd.DataFrame:
    shown = list(arms) if arms else ["a"] * len(rewards)
    return pd.DataFrame({"arm": shown, "reward": rewards, "probability": probability})


@pytest.mark.parametrize("method", ["ips", "snips"])
def test_three_equal_rewards_are_not_certain(method: Any) -> None:
    estimate = sb.evaluate(log_of([1.0, 1.0, 1.0]), "always a", method=method)
    assert estimate.interval == "betting"
    assert estimate.low < 0.7
    assert estimate.high >= 1.0
    assert "few units determine the estimate" in estimate.reason
    without = sb.evaluate(log_of([4.0, 4.0, 4.0]), "always a", method=method)
    assert (without.interval, without.low, without.high) == ("none", -math.inf, math.inf)
    assert "too few units" in without.reason
    assert "no interval: too few units" in str(without)


def test_limits_turn_a_refusal_into_an_interval() -> None:
    log = log_of([4.0, 5.0, 4.0, 5.0, 3.0], "aabaa")
    assert sb.evaluate(log, "always a").interval == "none"
    bounded = sb.evaluate(log, "always a", limits=(1, 5))
    assert bounded.interval == "betting"
    assert 1.0 <= bounded.low < bounded.value < bounded.high <= 5.0
    # On the scale of the limits it is the interval of rewards between 0 and 1.
    scaled = sb.evaluate(log.assign(reward=(log["reward"] - 1) / 4), "always a", limits=(0, 1))
    assert bounded.low == pytest.approx(1 + 4 * scaled.low)
    assert bounded.high == pytest.approx(1 + 4 * scaled.high)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"limits": (5, 1)}, r"limits = \(5, 1\) are not a pair"),
        ({"limits": (0, math.inf)}, "are not a pair"),
        ({"limits": 3}, "are not a pair"),
        ({"limits": (0, 4)}, "a reward 5, which is not within the limits 0 to 4"),
        ({"interval": "betting"}, "needs limits of the rewards"),
        ({"interval": "exact"}, "interval = 'exact' is unknown"),
    ],
)
def test_limits_that_cannot_be_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(sb.InvalidInput, match=words):
        sb.evaluate(log_of([4.0, 5.0]), "always a", **options)


def test_many_decisions_get_the_normal_interval_whatever_the_rewards() -> None:
    generator = np.random.default_rng(1)
    arms = "".join(generator.choice(list("ab"), size=3000))
    clicks = (generator.random(3000) < 0.3).astype(float)
    for rewards in (clicks, generator.normal(size=3000)):
        log = log_of(rewards.tolist(), arms)
        auto = sb.evaluate(log, "always a")
        normal = sb.evaluate(log, "always a", interval="normal")
        assert auto.interval == normal.interval == "normal"
        assert auto.high - auto.low == pytest.approx(normal.high - normal.low, rel=0.01)
    bet = sb.evaluate(log_of(clicks.tolist(), arms), "always a", interval="betting")
    assert bet.interval == "betting"
    assert bet.low < auto.value or bet.high > auto.value
    assert sb.evaluate(log_of(clicks.tolist(), arms), "logged").interval == "normal"


def test_choices_that_the_log_hardly_allowed_are_noticed() -> None:
    """An arm that a policy stops showing, with probabilities near 0 that never come true."""
    arms = "ab" * 50 + "b" * 400
    chance = [0.5] * 100 + [0.999] * 400
    generator = np.random.default_rng(2)
    clicks = (generator.random(500) < 0.4).astype(float)
    log = log_of(clicks.tolist(), arms).assign(probability=chance)
    found = sb.evaluate(log, "always a", method="ips")
    assert found.interval == "betting"
    assert "hardly any chance" in found.reason
    assert found.value < 0.15  # far below 0.4, since most of the weight is lost
    assert found.low < 0.4 < found.high
    unbounded = log.assign(reward=generator.normal(5, 1, size=500))
    assert sb.evaluate(unbounded, "always a", method="ips").interval == "none"


def test_degrees_of_freedom_are_those_of_a_sample() -> None:
    """Of n normal values about n; of k of them beside n − k zeros at most k − 1."""
    generator = np.random.default_rng(3)
    values = generator.normal(size=2000)
    whole = influence_of(values, np.ones(2000), np.ones(2000))
    assert 1500 < whole.freedom < 2000
    weights = np.where(np.arange(2000) < 20, 100.0, 0.0)
    rare = influence_of(weights * values, weights, weights)
    assert rare.effective_units == pytest.approx(20)
    assert rare.freedom <= 19
    equal = influence_of(np.ones(50), np.ones(50), np.ones(50))
    assert equal.freedom == 0.0


UNITS = st.lists(
    st.tuples(
        st.integers(0, 4),  # successes, of
        st.integers(0, 4),  # more decisions, each with
        st.sampled_from([0.0, 0.3, 1.0, 7.0]),  # this weight
        st.integers(0, 3),  # and decisions that show nothing
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=100, deadline=None)
@given(UNITS, st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_no_bet_can_lose_more_than_it_says(
    units: list[tuple[int, int, float, int]], v: float, chosen: float, policy: float
) -> None:
    """The score of each unit lies between its limits, whatever its rewards are."""
    rows = np.array(units, dtype=float)
    gains, weights = rows[:, 0] * rows[:, 2], (rows[:, 0] + rows[:, 1]) * rows[:, 2]
    sizes = rows[:, 0] + rows[:, 1] + rows[:, 3]
    values = policy * sizes + gains - chosen * weights
    kinds: list[Bets] = [
        bets_on_ips(gains, weights, sizes),
        bets_on_snips(gains, weights),
        bets_on_dr(values, chosen * weights, policy * sizes, weights, sizes),
    ]
    for bets in kinds:
        score = bets.gain - v * bets.size
        assert (score >= -(bets.loss + v * bets.loss_slope) - 1e-9).all()
        assert (score <= bets.win - v * bets.win_slope + 1e-9).all()
        low, high = betting_interval(bets, 0.95)
        assert 0.0 <= low <= high + 1e-6
        assert high <= 1.0


def test_betting_is_hardly_wider_than_an_exact_interval() -> None:
    """Equal weights are a binomial sample: wider than Clopper and Pearson's by less than 1.5."""
    for n, k in ((10, 5), (30, 3), (100, 2), (100, 50), (1000, 300)):
        rewards = (np.arange(n) < k).astype(float)
        low, high = betting_interval(bets_on_snips(rewards, np.ones(n)), 0.95)
        exact = stats.binomtest(k, n).proportion_ci(0.95)
        assert low < exact.low
        assert high > exact.high
        assert high - low < 1.5 * (exact.high - exact.low)


def test_a_cautious_interval_holds_without_the_largest_weights() -> None:
    weights = np.full(200, 0.5)
    gains = weights * (np.arange(200) % 2)
    low, high = cautious_interval(gains, weights, np.ones(200), 0.95)
    assert low < 0.3
    assert high > 0.7  # half of the weight is unseen, so both 0.25 and 0.75 are possible


def test_the_command_says_which_interval_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    log_of([4.0, 5.0, 4.0, 5.0, 3.0], "aabaa").to_csv(path, index=False)
    base = ["evaluate", str(path), "--policy", "always a"]
    assert run(base) == 0
    assert "No interval for always a: too few units" in " ".join(capsys.readouterr().out.split())
    assert run([*base, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)[1]
    assert (said["interval"], said["low"], said["high"]) == ("none", None, None)
    assert run([*base, "--limits", "1,5"]) == 0
    assert "interval for always a is by betting" in " ".join(capsys.readouterr().out.split())
    assert run([*base, "--limits", "one"]) == 2
    assert "are not two numbers" in capsys.readouterr().err
