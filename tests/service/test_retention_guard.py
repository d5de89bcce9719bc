"""Retention deletes by the database's clock, and nothing if it would be too much at once."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select, text

from structuredbandits.service.jobs import retention
from structuredbandits.service.storage import database, tables
from tests.service.conftest import Api, running, settings_for

DAY = 86_400 * 1_000_000


@pytest.fixture
def guarded(database_url: str) -> Iterator[Api]:
    """A service that deletes at most half of an experiment's subjects in one round."""
    yield from running(settings_for(database_url, retention_share=0.5))


def one_round(api: Api) -> int:
    api.service.refused_retention.clear()
    return asyncio.run(api.service.scheduler.round())


def age_subjects(api: Api, days: float, *names: str) -> None:
    with api.service.database.write() as connection:
        for name in names:
            given = {"days": round(days * DAY), "name": name}
            statement = "UPDATE subjects SET created = created - :days WHERE name = :name"
            connection.execute(text(statement), given)


def actions(api: Api) -> list[tuple[str, Any]]:
    with api.service.database.read() as connection:
        lines = tables.audit.c
        found = connection.execute(select(lines.action, lines.detail).order_by(lines.number))
        return [(row.action, json.loads(row.detail)) for row in found]


def test_a_wrong_clock_deletes_nothing(
    guarded: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    guarded.create(retention_days=30.0)
    for name in ("ana", "bea", "cleo"):
        guarded.decide(name)
    honest = database.Database.clock
    ahead = 40 * DAY
    monkeypatch.setattr(database.Database, "clock", lambda *given: honest(*given) + ahead)
    assert one_round(guarded) == 0
    assert guarded.count("subjects") == 3
    (record,) = [one for one in caplog.records if "confirmation" in one.message]
    assert record.__dict__["subjects"] == 3
    assert "retention/confirm" in record.__dict__["remedy"]
    assert guarded.client.post("/v1/experiments/shop/retention/confirm").status_code == 204
    assert one_round(guarded) == 3
    assert guarded.count("subjects") == 0
    assert actions(guarded)[-2:][0][0] == "confirm retention"
    assert actions(guarded)[-1] == ("retention", {"subjects": 3})


def test_the_clock_of_this_machine_does_not_matter_with_postgresql(
    guarded: Api, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    guarded.create(retention_days=30.0)
    for name in ("ana", "bea", "cleo"):
        guarded.decide(name)
    real = database.time.time_ns
    monkeypatch.setattr(database.time, "time_ns", lambda: real() + 40 * DAY * 1000)
    with guarded.service.database.read() as connection:
        moment = guarded.service.database.clock(connection)
    assert abs(moment - real() // 1000) < 3_600 * 1_000_000
    assert one_round(guarded) == 0
    assert guarded.count("subjects") == 3


def test_an_ordinary_share_is_deleted_with_a_line_in_both_logs(
    guarded: Api, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "structuredbandits")
    guarded.create(retention_days=30.0)
    for name in ("ana", "bea", "cleo", "dora"):
        guarded.decide(name)
    age_subjects(guarded, 31, "ana", "bea")
    assert one_round(guarded) == 2
    assert actions(guarded)[-1] == ("retention", {"subjects": 2})
    (record,) = [one for one in caplog.records if "retention time" in one.message]
    assert (record.__dict__["experiment"], record.__dict__["subjects"]) == ("shop", 2)
    metrics = guarded.client.get("/metrics").text
    assert 'structuredbandits_deletions_total{kind="retention"} 2.0' in metrics
    age_subjects(guarded, 31, "cleo")
    assert one_round(guarded) == 1
    age_subjects(guarded, 31, "dora")
    assert one_round(guarded) == 1  # the last one may go by itself
    assert guarded.count("subjects") == 0


def test_a_deletion_by_request_or_continued_is_logged_and_audited(
    guarded: Api, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "structuredbandits")
    guarded.create()
    guarded.decide("private-subject")
    assert guarded.client.delete("/v1/experiments/shop/subjects/private-subject").is_success
    guarded.decide("interrupted")
    with guarded.service.database.write() as connection:
        numbers = connection.execute(select(tables.subjects.c.number)).scalars().all()
        retention.mark_deleted(connection, numbers)
    assert one_round(guarded) == 1
    messages = [one.message for one in caplog.records]
    assert "deleted a subject" in messages
    assert "continued an interrupted deletion" in messages
    assert "private-subject" not in caplog.text
    assert [action for action, _ in actions(guarded)][-2:] == [
        "delete subject",
        "continue deletion",
    ]
