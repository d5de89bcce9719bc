"""Logs as a service exports them: corrected decisions count once, versions can be chosen."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import structuredbandits as sb
from structuredbandits.errors import InvalidInput, UnknownArm


def row(number: int, arm: str, reward: float, settled: int, version: int = 1) -> dict[str, Any]:
    return {
        "id": f"{number:x}-1-00000000",
        "subject": f"s{number}",
        "round": 1,
        "arm": arm,
        "probability": 0.5,
        "reward": reward,
        "structure_version": version,
        "settled": settled,
    }


def mean(log: pd.DataFrame, **options: Any) -> tuple[int, float]:
    estimate = sb.evaluate(log, "logged", **options)
    return estimate.n, estimate.value


def test_of_a_corrected_decision_the_last_value_counts_wherever_it_stands() -> None:
    rows = [row(1, "1", 1.0, 1), row(2, "2", 5.0, 2), row(1, "1", 3.0, 4), row(3, "2", 1.0, 3)]
    assert mean(pd.DataFrame(rows)) == (3, 3.0)
    assert mean(pd.DataFrame(rows[::-1])) == (3, 3.0)
    assert mean(pd.DataFrame(rows).astype({"settled": str})) == (3, 3.0)


def test_an_id_that_is_not_of_an_export_means_nothing() -> None:
    rows = [row(1, "1", 1.0, 1), row(1, "1", 3.0, 4)]
    log = pd.DataFrame(rows).drop(columns=["settled", "subject"])
    assert mean(log) == (2, 2.0)
    assert mean(log.rename(columns={"id": "settled"})) == (2, 2.0)


def test_one_version_of_the_structure_can_be_chosen(tmp_path: Path) -> None:
    rows = [row(1, "1", 1.0, 1), row(2, "new", 5.0, 2, version=2), row(3, "2", 2.0, 3)]
    log = pd.DataFrame(rows)
    with pytest.raises(
        UnknownArm, match="structure versions 1, 2; select one by structure_version"
    ):
        sb.evaluate(log, "uniform", structure="three-arms")
    assert mean(log, structure="three-arms", structure_version=1) == (2, 1.5)
    assert mean(log.assign(structure_version=["1", "2", "1"]), structure_version=1) == (2, 1.5)
    with pytest.raises(
        InvalidInput, match=r"no decision of structure version 3; choose one of 1, 2"
    ):
        sb.evaluate(log, "uniform", structure_version=3)
    with pytest.raises(InvalidInput, match="no column 'structure_version'"):
        sb.evaluate(log.drop(columns="structure_version"), "uniform", structure_version=1)


def test_an_export_with_gaps_is_refused() -> None:
    log = pd.DataFrame([row(1, "1", 1.0, 1), row(2, "1", 3.0, 4)])
    for column in ("id", "settled"):
        with pytest.raises(InvalidInput, match="not filled in every row"):
            sb.evaluate(log.assign(**{column: [None, log[column][1]]}), "uniform")
