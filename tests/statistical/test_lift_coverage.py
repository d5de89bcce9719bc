"""Intervals of `lift` hold after every decision of an experiment.

A small version of the recorded benchmark, with other seeds. Each test is one-sided and exact: a
program whose intervals hold in 95 % of all experiments fails it at new seeds with probability 1e-4.
"""

from __future__ import annotations

import pytest

from benchmarks.statements.lifts import CASES, PROMISED, measure_case
from tests.statistical.agreement import share_exceeds

RUNS = 60


@pytest.mark.parametrize("place", range(len(CASES)), ids=[case[0] for case in CASES])
def test_intervals_hold_at_every_time_and_are_not_too_wide(place: int) -> None:
    runs = 25 if place >= len(CASES) - 2 else RUNS
    row = measure_case(place, runs, seed=23)
    missed = runs - round(row["measured"] * runs)
    assert not share_exceeds(missed, runs, 1.0 - PROMISED), row
    assert row["width"] <= 1.6


def test_looking_often_at_an_interval_for_one_look_is_wrong() -> None:
    row = measure_case(0, 100, seed=23)
    assert row["null"]
    assert row["peeking"] > 0.15
