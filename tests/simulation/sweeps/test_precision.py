"""Runs are added until the regret is known well enough, by a rule that every machine agrees on."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structuredbandits as sb
from structuredbandits.simulation.sweeps._precision import next_total, relative_error

regret_lists = st.lists(st.floats(0, 1e6), min_size=2, max_size=60)


@given(regret_lists)
def test_the_error_is_that_of_numpy(regrets: list[float]) -> None:
    mean, deviation = np.mean(regrets), np.std(regrets, ddof=1)
    if deviation > 1e-6 * mean > 1e-300:
        expected = deviation / math.sqrt(len(regrets)) / mean
        assert relative_error(regrets) == pytest.approx(expected, rel=1e-6)


@given(regret_lists, st.floats(0.001, 0.5), st.integers(1, 50), st.integers(2, 500))
def test_totals_grow_to_the_cap_and_stop_when_precise(
    regrets: list[float], share: float, batch: int, cap: int
) -> None:
    total = next_total(regrets, share, batch, cap)
    if relative_error(regrets) <= share or len(regrets) >= cap:
        assert total == len(regrets)
    else:
        assert len(regrets) < total <= cap
        assert total <= max(len(regrets) + batch, 2 * len(regrets) + batch)


def test_regrets_that_are_all_zero_are_precise() -> None:
    assert next_total([0.0, 0.0], 0.01, 2, 100) == 2


GRID = {
    "problem": "three-arms",
    "theta": [0.5, 2.6],
    "policies": ["ucb", "ts"],
    "horizon": 300,
    "runs": 10,
    "checkpoints": 3,
    "runs_per_task": 4,
}


def test_every_configuration_is_precise_or_at_the_cap(tmp_path: Path) -> None:
    results = sb.sweep(GRID, tmp_path, until="4%", max_runs=150, n_jobs=1)
    table = results.summary()
    precise = table["standard_error"] <= 0.04 * table["regret"]
    assert (precise | (table["runs"] == 150)).all()
    assert precise.any()
    assert (table["runs"] == 150).any()
    assert table["runs"].nunique() > 2


def test_the_runs_are_those_of_a_sweep_with_as_many(tmp_path: Path) -> None:
    adaptive = sb.sweep(GRID, tmp_path / "a", until="10%", max_runs=40, n_jobs=1).to_frame()
    fixed = sb.sweep({**GRID, "runs": 40}, tmp_path / "b", n_jobs=1).to_frame()
    columns = ["cell", "run", "round"]
    both = adaptive.merge(fixed, on=columns, suffixes=("", "_fixed"), validate="1:1")
    assert len(both) == len(adaptive)
    assert (both["regret"] == both["regret_fixed"]).all()
