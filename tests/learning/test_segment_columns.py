"""IDs and timestamps get a warning before the log is read; the report counts what was used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import structuredbandits as sb
from structuredbandits.cli.main import run
from structuredbandits.learning._segment_columns import doubtful_segments
from structuredbandits.policies.structured.hierarchical_model import reward_variance


def log_of(rows: int, seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "arm": generator.choice(["a", "b"], rows),
            "reward": generator.integers(0, 2, rows),
            "age": generator.choice([18, 25, 35, 50], rows),
            "visitor": generator.integers(0, rows // 10, rows),
            "sorted_visitor": np.arange(rows) // 10,
            "second": 1_700_000_000 + generator.integers(0, 10**7, rows),
            "time": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(rows), unit="min"),
            "city": generator.choice([f"city {i}" for i in range(150)], rows),
        }
    )


def test_ids_and_timestamps_are_noticed_and_segments_are_not(tmp_path: Path) -> None:
    log = log_of(20_000)
    log.to_csv(tmp_path / "log.csv", index=False)
    for source in (log, str(tmp_path / "log.csv")):
        found = doubtful_segments(source, [*log.columns])
        named = {line.split("'")[1]: line for line in found}
        assert set(named) == {"visitor", "sorted_visitor", "second", "time"}
        assert "looks like an ID" in named["visitor"]
        assert "looks like an ID" in named["sorted_visitor"]
        assert "looks like a timestamp" in named["second"]
        assert "looks like a timestamp" in named["time"]


def test_a_log_that_is_sorted_by_segment_is_no_id() -> None:
    log = log_of(20_000).sort_values("city")
    assert doubtful_segments(log, ["city", "age"]) == []


def test_a_missing_column_is_left_to_the_reader() -> None:
    assert doubtful_segments(log_of(500), ["nothing"]) == []


def test_the_warning_comes_before_the_report() -> None:
    log = log_of(4_000)
    with pytest.warns(sb.StructureWarning, match="'visitor' looks like an ID"):
        sb.learn_structure(log, arm="arm", segment="visitor", reward="reward")


def test_the_command_warns_and_ends_with_recommend(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log_of(4_000).to_csv(tmp_path / "log.csv", index=False)
    columns = ("--arm", "arm", "--segment", "visitor", "--reward", "reward")
    assert (
        run(["learn", str(tmp_path / "log.csv"), *columns, "-o", str(tmp_path / "x.structure")])
        == 0
    )
    out, err = capsys.readouterr()
    assert "warning: Column 'visitor' looks like an ID" in err
    assert "structuredbandits recommend" in out


def test_rewards_of_dropped_segments_are_not_used() -> None:
    log = pd.DataFrame(
        {
            "arm": ["a", "b", "a", "b", "a", "a", "a"],
            "age": ["old", "old", "old", "old", "young", "young", "new"],
            "reward": [1.0, 2.5, 1.5, 2.0, 3.0, 4.0, 7.5],
        }
    )
    _, report = sb.learn_structure_with_report(log, arm="arm", segment="age", reward="reward")
    assert report.rows is not None
    assert (report.rows.used, report.rows.total) == (4, 7)
    text = str(report)
    assert "4 rewards used of 7 rows." in text
    assert "2 segments with 3 rewards left out" in text


def test_shrunken_means_carry_the_noise_of_the_rewards() -> None:
    """With sigma=range the policies would otherwise take half the range for the noise."""
    generator = np.random.default_rng(3)
    log = pd.DataFrame(
        {
            "arm": generator.choice(["a", "b", "c"], 3_000),
            "age": generator.choice(range(10), 3_000),
            "reward": generator.normal(0.0, 0.7, 3_000),
        }
    )
    options = {"arm": "arm", "segment": "age", "reward": "reward", "sigma": "range"}
    for estimate in ("raw", "shrink"):
        learned = sb.learn_structure(log, estimate=estimate, **options)  # type: ignore[arg-type]
        assert learned.sigma[0] > 1.5
        np.testing.assert_allclose(np.sqrt(reward_variance(learned)), 0.7, rtol=0.05)
