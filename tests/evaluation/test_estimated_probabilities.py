"""Logs without probabilities: estimated by cross-fitting, with a warning and bounds."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import structuredbandits as sb
from structuredbandits.cli.main import run
from structuredbandits.evaluation._estimated_probabilities import (
    FACTORS,
    estimated_probabilities,
    sensitivity_bounds,
)


def confounded(rows: int, seed: int) -> pd.DataFrame:
    """The country decides which arm is shown, and how much it earns."""
    generator = np.random.default_rng(seed)
    country = generator.integers(2, size=rows)
    share = np.where(country == 0, 0.8, 0.3)
    b = generator.random(rows) >= share
    rate = np.where(country == 0, 0.2, 0.6) + 0.1 * b
    return pd.DataFrame(
        {
            "arm": np.where(b, "b", "a"),
            "reward": (generator.random(rows) < rate).astype(float),
            "country": np.array(["DE", "FR"])[country],
            "probability": np.where(b, 1.0 - share, share),
        }
    )


def test_the_columns_that_explain_the_choice_remove_the_bias() -> None:
    """20,000 rows, seed 1: "always b" earns 0.5; 4 standard errors are 0.025 (error rate 1e-4)."""
    log = confounded(20_000, seed=1).drop(columns="probability")
    with pytest.warns(sb.StructureWarning, match="explained by the columns country"):
        right = sb.evaluate(log, "always b", probability="estimate", context=["country"])
    with pytest.warns(sb.StructureWarning, match="explained by no column"):
        wrong = sb.evaluate(log, "always b", probability="estimate")
    assert abs(right.value - 0.5) < 0.025
    assert right.low < 0.5 < right.high
    assert wrong.value > 0.55
    two = {bounds.factor: bounds for bounds in wrong.sensitivity}[2.0]
    assert two.low < 0.5 < two.high


def test_estimated_probabilities_are_close_to_the_logged_ones() -> None:
    log = confounded(20_000, seed=2)
    chosen = (log["arm"] == "b").to_numpy(dtype=int)
    columns = [log["country"].to_numpy()]
    found = estimated_probabilities(chosen, 2, np.arange(len(log)), None, columns)
    assert np.abs(found - log["probability"]).max() < 0.03


def test_a_subject_does_not_tell_about_itself() -> None:
    """A subject that alone sees an arm: its own decisions do not raise the probability."""
    chosen = np.repeat([0, 0, 0, 1], 25)
    found = estimated_probabilities(chosen, 2, np.repeat(np.arange(4), 25), None, [])
    assert found[-1] < 0.02


def test_only_allowed_arms_count() -> None:
    allowed = np.tile([True, True, False], (100, 1))
    allowed[50:] = True
    chosen = np.tile([0, 1], 50)
    chosen[50:] = np.arange(50) % 3
    found = estimated_probabilities(chosen, 3, np.arange(100), allowed, [])
    both = np.abs(found[:50] - 0.5)
    assert both.max() < 0.1
    assert found[50:].max() < 0.5


def test_bounds_equal_an_exhaustive_search() -> None:
    generator = np.random.default_rng(3)
    for _ in range(20):
        n = 7
        rewards, shares = generator.normal(size=n), generator.random(n)
        probabilities = generator.uniform(0.1, 0.9, n)
        shares[0] = 0.0
        for bounds, factor in zip(
            sensitivity_bounds(rewards, shares, probabilities), FACTORS, strict=True
        ):
            odds = 1.0 / probabilities - 1.0
            values = []
            for signs in itertools.product((factor, 1.0 / factor), repeat=n):
                weights = shares * (1.0 + odds * np.array(signs))
                values.append(weights @ rewards / weights.sum())
            assert bounds.low == pytest.approx(min(values))
            assert bounds.high == pytest.approx(max(values))


def test_logged_probabilities_have_no_bounds_and_no_warning() -> None:
    assert sb.evaluate(confounded(200, seed=4), "always b").sensitivity == ()


def test_replay_is_refused() -> None:
    with pytest.raises(sb.InvalidInput, match="replay needs the logged probabilities"):
        sb.evaluate(confounded(50, 5), "uniform", method="replay", probability="estimate")


def test_the_command_warns_and_shows_bounds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    confounded(400, seed=6).drop(columns="probability").to_csv(path, index=False)
    options = ["--probability", "estimate", "--context", "country"]
    assert run(["evaluate", str(path), "--policy", "uniform", *options]) == 0
    out, err = capsys.readouterr()
    assert "odds wrong by 2" in " ".join(out.split())
    assert "warning: the probabilities are estimated" in err
