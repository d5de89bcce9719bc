"""Intervals of `evaluate` on adaptive logs with rare arms cover at least 93 % at level 0.95.

A small version of the recorded benchmark, with other seeds. Each test is one-sided and exact: a
program that covers 93 % fails it at new seeds with probability 1e-4.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import structuredbandits as sb
from benchmarks.statements.off_policy import METHODS, TARGETS, measure_setting
from benchmarks.statements.synthetic_logs import draw_logs
from structuredbandits.evaluation._interval_choice import choose_interval, sum_by_unit
from tests.statistical.agreement import share_exceeds

LOGS, PROMISED = 200, 0.93


@pytest.mark.parametrize("subjects", [False, True], ids=["stream", "subjects"])
@pytest.mark.parametrize("gaussian", [False, True], ids=["clicks", "normal"])
@pytest.mark.parametrize("floor", [0.02, 0.1])
def test_answers_cover_as_often_as_promised(floor: float, gaussian: bool, subjects: bool) -> None:
    rows = measure_setting(500, floor, gaussian, subjects, LOGS, seed=77)
    assert len(rows) == len(TARGETS) * len(METHODS)
    for row in rows:
        answers = round(row["logs"] * (1.0 - row["refused"]))
        missed = answers - round(row["coverage"] * answers)
        assert not share_exceeds(missed, answers, 1.0 - PROMISED), row


def test_the_normal_interval_does_not() -> None:
    """What was given before covers the value of a rare arm in less than 80 % of the logs."""
    rows = measure_setting(500, 0.02, False, True, LOGS, seed=77)
    rare = [row for row in rows if row["target"] == "rare arm" and row["method"] == "snips"]
    assert rare[0]["coverage_before"] < 0.8


def test_the_measured_intervals_are_those_of_evaluate() -> None:
    """The benchmark leaves out reading logs; its intervals are the ones that a user gets."""
    logs = draw_logs(np.random.default_rng(4), 3, 300, 0.1, False, True)
    for i in range(3):
        frame = pd.DataFrame(
            {
                "subject": logs.clusters,
                "arm": np.array(["a", "b", "c"], dtype=object)[logs.arms[i]],
                "reward": logs.rewards[i],
                "probability": logs.probabilities[i],
            }
        )
        weights = (logs.arms[i] == 2) / logs.probabilities[i]
        for method in ("ips", "snips"):
            found = sb.evaluate(frame, {"a": 0, "b": 0, "c": 1}, method=method)  # type: ignore[arg-type]
            units = sum_by_unit(method, logs.rewards[i], weights, logs.clusters, (0.0, 1.0))
            low, high, kind, _ = choose_interval(units, 0.95)
            assert (found.low, found.high, found.interval) == (low, high, kind)
