"""Differences between policies have intervals of their own, which cover."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import structuredbandits as sb
from benchmarks.statements.synthetic_logs import KINDS, SHARES, draw_logs
from structuredbandits.cli.main import run
from structuredbandits.evaluation._interval_choice import sum_by_unit
from structuredbandits.evaluation._paired_difference import difference_of
from tests.statistical.agreement import share_exceeds


@pytest.fixture(scope="module")
def log() -> pd.DataFrame:
    return sb.simulate_log("movielens", "uniform", subjects=60, rounds=20, seed=2)


def test_estimates_are_those_of_evaluate(log: pd.DataFrame) -> None:
    found = sb.compare_policies(log, ["uniform", "always War"], against="always Drama")
    names = ["always Drama", "uniform", "always War"]
    assert list(found.estimates) == [sb.evaluate(log, name) for name in names]
    for estimate, difference in zip(found.estimates[1:], found.differences, strict=True):
        assert difference.value == pytest.approx(estimate.value - found.estimates[0].value)
        assert (difference.policy, difference.against) == (estimate.policy, "always Drama")


def test_a_paired_interval_equals_the_formula_for_constant_denominators(log: pd.DataFrame) -> None:
    """ips with one weight per decision: the mean of differences, clustered by subject."""
    found = sb.compare_policies(
        log, [{"War": 0.5, "Drama": 0.5}], against="always War", method="ips"
    )
    weights = (0.5 * (log["arm"] == "Drama") - 0.5 * (log["arm"] == "War")) / log["probability"]
    by_subject = (weights * log["reward"]).groupby(log["subject"]).mean()
    one = found.differences[0]
    assert one.value == pytest.approx(by_subject.mean())
    assert one.standard_error == pytest.approx(by_subject.std() / math.sqrt(len(by_subject)))


def test_paired_is_narrower_than_two_intervals(log: pd.DataFrame) -> None:
    shares = dict.fromkeys(sb.load_structure("movielens").arms, 1 / 18)
    near = shares | {"Drama": 1 / 18 + 0.02, "War": 1 / 18 - 0.02}
    found = sb.compare_policies(log, [near], against="uniform", method="snips")
    one, (first, second) = found.differences[0], found.estimates
    assert one.interval == "normal"
    assert one.high - one.low < 0.2 * (first.high - first.low + second.high - second.low)


def test_equal_policies_differ_by_nothing(log: pd.DataFrame) -> None:
    one = sb.compare_policies(log, ["always War"], against="always(arm='War')").differences[0]
    assert (one.value, one.low, one.high) == (0.0, 0.0, 0.0)
    assert not one.clear


def test_few_decisions_get_a_cautious_interval_or_none() -> None:
    small = pd.DataFrame(
        {"arm": ["a", "b"] * 3, "reward": [1.0, 0.0] * 3, "probability": [0.5] * 6}
    )
    one = sb.compare_policies(small, ["always a"], against="always b").differences[0]
    assert one.interval == "betting"
    assert one.low < one.value <= one.high
    unlimited = small.assign(reward=[1.5, 0.2, 1.1, 0.3, 1.9, 0.4])
    none = sb.compare_policies(unlimited, ["always a"], against="always b").differences[0]
    assert none.interval == "none"
    assert "no interval" in str(none)


@pytest.mark.parametrize("gaussian", [False, True], ids=["clicks", "normal"])
def test_intervals_of_differences_cover(gaussian: bool) -> None:
    """300 adaptive logs of 1,000 decisions, seed 8: at least 93 %; error rate 1e-4."""
    logs = draw_logs(np.random.default_rng(8), 300, 1000, 0.2, gaussian, True)
    truth = float((SHARES @ KINDS) @ (np.array([0.0, 1.0, 0.0]) - np.full(3, 1 / 3)))
    missed = answers = 0
    for i in range(300):
        units = [
            sum_by_unit(
                "snips",
                logs.rewards[i],
                shares[logs.arms[i]] / logs.probabilities[i],
                logs.clusters,
                None if gaussian else (0.0, 1.0),
            )
            for shares in (np.array([0.0, 1.0, 0.0]), np.full(3, 1 / 3))
        ]
        found = difference_of(("b", "uniform"), units[0], units[1], 0.95)
        answers += found.interval != "none"
        missed += not found.low <= truth <= found.high
    assert answers > 250
    assert not share_exceeds(missed, answers, 0.07)


def test_the_command_prints_differences(
    log: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    log.to_csv(path, index=False)
    assert run(["evaluate", str(path), "--policy", "uniform,always War"]) == 0
    assert "minus the logged policy" in " ".join(capsys.readouterr().out.split())
    options = ["--policy", "always War", "--against", "uniform", "--json"]
    assert run(["evaluate", str(path), *options]) == 0
    logged, base, war = json.loads(capsys.readouterr().out)
    assert [row["policy"] for row in (logged, base, war)] == ["logged", "uniform", "always War"]
    assert base["difference"] is None
    expected = sb.compare_policies(log, ["always War"], against="uniform").differences[0]
    assert war["difference"]["low"] == pytest.approx(expected.low)
