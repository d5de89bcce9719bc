"""The summary's remembered sums are those of a plain recount, whatever happens to the log."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select, text

from structuredbandits.service.api import events
from structuredbandits.service.decisions.explanation import STATES
from structuredbandits.service.errors import RequestError
from structuredbandits.service.reporting import aggregates
from structuredbandits.service.reporting.aggregates import AggregateCache
from structuredbandits.service.reporting.summary import summarise
from structuredbandits.service.runtime import Service
from structuredbandits.service.storage import tables
from tests.service.conftest import Api, running, settings_for
from tests.service_guarantees.servers import wait_until

ARMS = ("1", "2", "3")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few rows, so that there are many; none is counted again just in case."""
    monkeypatch.setattr(aggregates, "_DECISIONS_PER_BLOCK", 7)
    monkeypatch.setattr(aggregates, "_SUBJECTS_PER_BLOCK", 3)
    monkeypatch.setattr(aggregates, "_MOST_BINS", 8)
    monkeypatch.setattr(aggregates, "_TRUSTED", 3_600 * 1_000_000)
    monkeypatch.setattr(events, "_COUNTING_SECONDS", 60.0)  # a busy machine must not matter


def recount(api: Api) -> dict[str, Any]:
    """The figures from every row of the log, one by one."""
    with api.service.database.read() as connection:
        rows = [dict(row) for row in connection.execute(select(tables.decisions)).mappings()]
        subjects = connection.execute(text("SELECT count(*) FROM subjects")).scalar_one()
    states = Counter(STATES[row["state"]] for row in rows)
    earned = [row for row in rows if STATES[row["state"]] in ("rewarded", "default")]
    rewards = np.array([row["reward"] for row in earned])
    weights = np.array([1.0 / row["probability"] for row in earned])
    many = len(rewards)
    return {
        "subjects": subjects,
        "decisions": len(rows),
        "rewards": states["rewarded"],
        "defaulted": states["default"],
        "expired": states["expired"],
        "pending": states["pending"],
        "late": sum(row["late_reward"] is not None for row in rows),
        "mean_reward": rewards.mean() if many else None,
        "standard_error": rewards.std(ddof=1) / math.sqrt(many) if many > 1 else None,
        "uniform": (weights * rewards).sum() / weights.sum() if many else None,
        "arms": {
            arm: (
                sum(row["arm"] == k for row in rows),
                [row["reward"] for row in earned if row["arm"] == k],
            )
            for k, arm in enumerate(ARMS)
        },
    }


def told(api: Api, buckets: int = 5) -> dict[str, Any]:
    answer = api.client.get(f"/v1/experiments/shop/summary?buckets={buckets}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def agree(api: Api) -> None:
    """The summary says what a recount says."""
    found, expected = told(api), recount(api)
    assert found["complete"]
    for name, value in expected.items():
        if name != "arms":
            assert found[name] == (value if value is None else pytest.approx(value)), name
    arms = {row["arm"]: row for row in found["arms"]}
    for arm, (shown, rewards) in expected["arms"].items():
        row = arms.get(arm, {"decisions": 0, "rewards": 0, "mean_reward": None})
        assert (row["decisions"], row["rewards"]) == (shown, len(rewards))
        if rewards:
            assert row["mean_reward"] == pytest.approx(np.mean(rewards))
    assert len(found["buckets"]) <= 5
    then: Counter[str] = Counter()
    for row in found["buckets"]:
        then.update(row["decisions"])
    assert then == {arm: shown for arm, (shown, _) in expected["arms"].items() if shown}
    assert sum(row["rewards"] for row in found["buckets"]) == found["rewards"] + found["defaulted"]
    starts = [row["start"] for row in found["buckets"]]
    assert starts == sorted(set(starts))


def correct(api: Api, decision: str, value: float) -> None:
    body = {"reward": value, "reason": "typed wrongly"}
    answer = api.client.post(f"/v1/decisions/{decision}/corrections", json=body)
    assert answer.status_code == 200, answer.text


def test_the_sums_are_those_of_a_recount_after_every_kind_of_change(api: Api) -> None:
    api.create(floor=0.3)
    agree(api)
    rng = np.random.default_rng(11)
    made: list[dict[str, Any]] = []
    given: list[dict[str, Any]] = []
    for turn in range(60):
        made.append(api.decide(f"visitor {rng.integers(9)}"))
        chance = rng.random()
        if chance < 0.6:
            decision = made.pop(int(rng.integers(len(made))))
            if api.reward(decision, float(rng.normal(3.0, 1.0))).status_code == 200:
                given.append(decision)
        elif chance < 0.75 and given:
            correct(api, given[int(rng.integers(len(given)))]["id"], float(rng.normal(3.0, 1.0)))
        elif chance < 0.85:
            gone = f"visitor {rng.integers(9)}"
            api.client.delete(f"/v1/experiments/shop/subjects/{gone}")
            made = [one for one in made if one["subject"] != gone]
            given = [one for one in given if one["subject"] != gone]
        if turn % 3 == 0:
            agree(api)
    agree(api)
    assert (
        len(api.service.aggregates.of(api.service.experiment_cache.known("shop"))._decisions.blocks)
        > 3
    )
    # A process that remembers nothing says the same.
    before = told(api)
    api.service.aggregates = AggregateCache()
    after = told(api)
    for name in ("decisions", "rewards", "pending", "subjects", "mean_reward"):
        assert after[name] == pytest.approx(before[name])
    agree(api)


def test_deadlines_and_retention_are_noticed(api: Api) -> None:
    api.create(floor=0.3, reward_deadline_seconds=0.05, retention_days=1.0)
    decisions = [api.decide(f"visitor {number % 12}") for number in range(40)]
    agree(api)
    time.sleep(0.1)
    for decision in decisions[:5]:
        assert api.reward(decision, 1.0).json()["status"] == "late"
    asyncio.run(api.service.scheduler.round())
    agree(api)
    assert told(api)["expired"] == 40
    with api.service.database.write() as connection:
        connection.execute(text("UPDATE subjects SET created = created - 90000000000 * 2"))
        connection.execute(text("UPDATE subjects SET created = 1 WHERE name LIKE '%1'"))
    assert asyncio.run(api.service.scheduler.round()) == 12
    agree(api)
    assert told(api)["decisions"] == 0
    assert (
        len(api.service.aggregates.of(api.service.experiment_cache.known("shop"))._decisions.blocks)
        == 1
    )


def test_what_nothing_tells_of_is_found_by_counting_again(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.create(floor=0.3)
    for number in range(30):
        api.decide(f"visitor {number % 4}")
    agree(api)
    with api.service.database.write() as connection:  # as a clock that is an hour behind would
        connection.execute(text("UPDATE decisions SET state = 3 WHERE round = 1"))
    assert told(api)["expired"] < 4
    monkeypatch.setattr(aggregates, "_TRUSTED", 0)
    for _ in range(10):  # a busy machine may not count all of it in one look
        told(api)
    agree(api)
    assert told(api)["expired"] == 4


def test_counting_ends_in_time_and_goes_on_at_the_next_look(api: Api) -> None:
    api.create(floor=0.3)
    for number in range(40):
        api.decide(f"visitor {number % 9}")
    counted = []
    with api.service.database.read() as connection:
        remembered = AggregateCache()
        for _ in range(20):
            found = summarise(
                connection, api.service.experiment_cache, remembered, "shop", 5, seconds=0.0
            )
            counted.append(found["decisions"])
            if found["complete"]:
                break
            assert found["as_of"] is None
    assert counted[0] < 40
    assert counted == sorted(counted)
    assert counted[-1] == 40
    assert len(counted) > 3


def test_a_read_that_takes_too_long_gives_its_reader_back(sqlite_url: str) -> None:
    endless = text(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    )

    async def ask(service: Service) -> None:
        with pytest.raises(RequestError, match="the database did not complete the request"):
            await service.read(lambda connection: connection.execute(endless).all())

    for api in running(settings_for(sqlite_url, request_seconds=0.2, readers=2)):
        for _ in range(4):
            asyncio.run(ask(api.service))
        reading = api.service._reading
        wait_until(lambda reading=reading: not reading, what="the end of the reads")
        object.__setattr__(api.service.settings, "request_seconds", 30.0)
        assert api.client.get("/v1/experiments").json() == {"experiments": []}


def test_more_than_a_block_at_the_first_moment_is_counted_once(api: Api) -> None:
    api.create()
    batch = [{"subject": f"visitor {number}"} for number in range(20)]
    answer = api.client.post("/v1/experiments/shop/decisions/batch", json={"decisions": batch})
    assert answer.status_code == 200
    with api.service.database.write() as connection:  # as an import of an old log would store them
        for table in ("decisions", "subjects"):
            connection.execute(text(f"UPDATE {table} SET created = 1000000"))
    summary = api.client.get("/v1/experiments/shop/summary").json()
    assert (summary["complete"], summary["decisions"], summary["subjects"]) == (True, 20, 20)
