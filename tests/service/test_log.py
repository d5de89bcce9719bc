"""The export, the summary, backup and restore, the doctor, and the documentation page."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import structuredbandits as sb
from structuredbandits.errors import DamagedFile, InvalidInput
from structuredbandits.service.backup import back_up, restore
from structuredbandits.service.doctor import run_checks
from structuredbandits.service.storage import open_database
from tests.service.conftest import Api, new_postgresql_database, running, settings_for


def play(api: Api, subjects: int, rounds: int, rewarded: int | None = None) -> list[Any]:
    """Let some subjects have decisions, of which the first ones are rewarded."""
    rng = np.random.default_rng(5)
    decisions = []
    for _ in range(rounds):
        batch = [{"subject": f"visitor {number}"} for number in range(subjects)]
        answer = api.client.post("/v1/experiments/shop/decisions/batch", json={"decisions": batch})
        assert answer.status_code == 200, answer.text
        decisions += answer.json()["decisions"]
    rewards = [
        {"decision": one["id"], "reward": float(rng.normal(3.0, 1.0))}
        for one in decisions[:rewarded]
    ]
    answer = api.client.post("/v1/rewards", json={"rewards": rewards})
    assert answer.status_code == 200, answer.text
    assert all(one["counted"] for one in answer.json()["rewards"])
    return decisions


def lines(api: Api, **query: Any) -> tuple[list[dict[str, Any]], str]:
    answer = api.client.get("/v1/experiments/shop/events", params=query)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()], answer.headers["next-cursor"]


def test_the_export_gives_every_settled_decision_once_with_a_cursor(api: Api) -> None:
    api.create(floor=0.2)
    decisions = play(api, subjects=5, rounds=3, rewarded=12)
    seen: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        rows, after = lines(api, limit=5, **cursor)
        if not rows:
            break
        seen += rows
        cursor = {"after": after}
    assert [row["id"] for row in seen] != []
    assert sorted(row["id"] for row in seen) == sorted(one["id"] for one in decisions[:12])
    api.reward(decisions[12], 1.0)
    rows, after = lines(api, **cursor)
    assert [row["id"] for row in rows] == [decisions[12]["id"]]
    assert lines(api, after=after) == ([], after)
    assert api.client.get("/v1/experiments/shop/events?after=x").status_code == 422


def test_a_corrected_decision_is_exported_again(api: Api) -> None:
    api.create()
    decision = api.decide()
    api.reward(decision, 1.0)
    _, cursor = lines(api)
    path = f"/v1/decisions/{decision['id']}/corrections"
    answer = api.client.post(path, json={"reward": 2.0, "reason": "typed wrongly"})
    assert answer.json() == {
        "decision": decision["id"],
        "before": 1.0,
        "reward": 2.0,
        "reason": "typed wrongly",
    }
    rows, _ = lines(api, after=cursor)
    assert [(row["id"], row["reward"]) for row in rows] == [(decision["id"], 2.0)]


def test_evaluate_reads_the_export(lite: Api, tmp_path: Path) -> None:
    lite.create(floor=0.5)
    play(lite, subjects=20, rounds=5)
    answer = lite.client.get("/v1/experiments/shop/events?format=parquet")
    path = tmp_path / "log.parquet"
    path.write_bytes(answer.content)
    rows, _ = lines(lite)
    frame = pd.read_parquet(io.BytesIO(answer.content))
    assert len(frame) == len(rows) == 100
    assert frame["reward"].tolist() == [row["reward"] for row in rows]
    estimate = sb.evaluate(str(path), "uniform", structure="three-arms", method="snips")
    assert estimate.n == 100
    assert estimate.subjects == 20
    assert estimate.logged_value == pytest.approx(frame["reward"].mean())


def test_the_summary_adds_up(api: Api) -> None:
    api.create(floor=0.2)
    empty = api.client.get("/v1/experiments/shop/summary").json()
    assert empty["decisions"] == 0
    assert empty["baseline"] is None
    api.service.comparisons.clear()
    play(api, subjects=10, rounds=4, rewarded=30)
    summary = api.client.get("/v1/experiments/shop/summary?buckets=7").json()
    assert summary["decisions"] == sum(arm["decisions"] for arm in summary["arms"]) == 40
    assert summary["rewards"] == 30
    assert summary["pending"] == 10
    assert summary["subjects"] == 10
    assert sum(sum(row["decisions"].values()) for row in summary["buckets"]) == 40
    assert len(summary["buckets"]) <= 7
    assert summary["baseline"]["policy"] == "ts"
    assert summary["health"]["subjects_checked"] == 10
    rows, _ = lines(api)
    weights = np.array([1.0 / row["probability"] for row in rows])
    rewards = np.array([row["reward"] for row in rows])
    assert summary["mean_reward"] == pytest.approx(rewards.mean())
    assert summary["standard_error"] == pytest.approx(rewards.std(ddof=1) / np.sqrt(30))
    assert summary["uniform"] == pytest.approx((weights * rewards).sum() / weights.sum())


def test_a_backup_restores_into_either_kind_of_database(
    api: Api, tmp_path: Path, postgresql: str
) -> None:
    api.create(floor=0.2)
    decisions = play(api, subjects=4, rounds=3, rewarded=7)
    target = tmp_path / "all.backup"
    counts = back_up(api.service.database, target)
    assert (counts["subjects"], counts["decisions"]) == (4, 12)
    before, cursor = lines(api)
    for url in (str(tmp_path / "new.db"), new_postgresql_database(postgresql)):
        database = open_database(url)
        restore(database, target)
        for other in running(settings_for(url)):
            assert lines(other) == (before, cursor)
            assert other.state("visitor 1") == api.state("visitor 1")
            assert other.reward(decisions[7], 1.5).json()["counted"]
            rows, _ = lines(other, after=cursor)
            assert [row["id"] for row in rows] == [decisions[7]["id"]]
            fresh = other.decide("somebody new")
            assert fresh["id"] not in {one["id"] for one in decisions}
        with pytest.raises(InvalidInput, match="is not empty"):
            restore(database, target)
        database.close()


def test_a_damaged_backup_restores_nothing(lite: Api, tmp_path: Path) -> None:
    lite.create()
    play(lite, subjects=2, rounds=1)
    target = tmp_path / "all.backup"
    back_up(lite.service.database, target)
    target.write_bytes(target.read_bytes()[:-40])
    database = open_database(str(tmp_path / "new.db"))
    with pytest.raises(DamagedFile, match="not a complete backup"):
        restore(database, target)
    database.close()
    assert not (tmp_path / "new.db").exists()


def test_the_doctor_finds_a_healthy_service_healthy_and_a_changed_state_wrong(api: Api) -> None:
    from sqlalchemy import text

    api.create()
    play(api, subjects=3, rounds=2, rewarded=4)
    findings = {one.what: one for one in run_checks(api.service.database)}
    assert [one.what for one in findings.values() if not one.good] == ["keys"]
    assert findings["replay"].told == "3 states equal the replay of their log"
    with api.service.database.write() as connection:
        connection.execute(text("UPDATE subjects SET state = replace(state, '0.0', '0.5')"))
    findings = {one.what: one for one in run_checks(api.service.database)}
    assert not findings["replay"].good


def test_the_documentation_page_needs_no_network(lite: Api) -> None:
    page = lite.client.get("/docs")
    assert page.status_code == 200
    document = lite.client.get("/openapi.json").json()
    for path in document["paths"]:
        assert path in page.text
    # Examples name origins; what a browser would load or link to does not leave the service.
    assert re.findall(r"""(?:src|href|action|url|import)\W{1,4}(?:https?:)?//""", page.text) == []
    assert set(re.findall(r"https?://[\w.-]+", page.text)) <= {"https://shop.example"}
    assert lite.client.get("/docs/reference.css").status_code == 200
