"""Deadlines and retention: by the service's own thread, in portions, and whatever is slow."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import OperationalError

from structuredbandits.service import subjects, upkeep
from structuredbandits.service.runtime import Service
from structuredbandits.service.storage import tables
from tests.service.conftest import Api, new_postgresql_database, running, settings_for
from tests.service.test_guarantees import age
from tests.service_guarantees.servers import wait_until


def one_round(api: Api) -> int:
    return asyncio.run(api.service.upkeep.round())


def portions(api: Api) -> list[int]:
    """How many subjects each transaction of the retention has deleted."""
    with api.service.database.read() as connection:
        lines = connection.execute(
            select(tables.audit.c.detail)
            .where(tables.audit.c.action == "retention")
            .order_by(tables.audit.c.number)
        )
        return [json.loads(line)["subjects"] for line in lines.scalars()]


@pytest.fixture
def busy(database_url: str) -> Iterator[Api]:
    """A service that looks after everything all the time."""
    yield from running(settings_for(database_url, sweep_seconds=0.02))


def test_a_running_service_looks_after_deadlines_and_retention_by_itself(busy: Api) -> None:
    busy.create("waits", reward_deadline_seconds=0.01, default_reward=0.25)
    busy.create("forgets", retention_days=1e-7)
    busy.decide("ana", "waits")
    busy.decide("bea", "forgets")
    path = "/v1/experiments/waits/subjects/ana"
    wait_until(lambda: busy.client.get(path).json()["received"] == 1, what="the default")
    gone = "/v1/experiments/forgets/subjects/bea"
    wait_until(lambda: busy.client.get(gone).status_code == 404, what="the deletion")
    assert busy.count("decisions") == 1


def test_retention_is_done_in_portions_of_few_decisions(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "_DECISIONS_AT_ONCE", 5)
    api.create(retention_days=30.0)
    for subject, rounds in (("ana", 2), ("bea", 3), ("cleo", 9), ("dora", 1)):
        for _ in range(rounds):
            api.decide(subject)
    age(api.service, 31 * 86_400.0)
    api.decide("new")
    assert one_round(api) == 4
    assert portions(api) == [2, 1, 1]
    assert api.count("decisions") == 1


def test_upkeep_that_takes_longer_than_a_request_may_gets_on(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.create(retention_days=30.0)
    for name in ("ana", "bea"):
        api.decide(name)
    age(api.service, 31 * 86_400.0)
    honest = upkeep.delete_subjects

    def slow(*given: Any) -> None:
        time.sleep(0.5)
        honest(*given)

    monkeypatch.setattr(upkeep, "delete_subjects", slow)
    object.__setattr__(api.service.settings, "request_seconds", 0.2)
    wait_until(lambda: one_round(api) > 0, what="a portion")
    object.__setattr__(api.service.settings, "request_seconds", 30.0)
    assert api.count("subjects") == 0


def test_a_deletion_that_takes_longer_than_a_request_may_is_done(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.create()
    api.decide("ana")
    honest = subjects.delete_subjects

    def slow(*given: Any) -> None:
        time.sleep(0.5)
        honest(*given)

    monkeypatch.setattr(subjects, "delete_subjects", slow)
    path = "/v1/experiments/shop/subjects/ana"
    object.__setattr__(api.service.settings, "request_seconds", 0.1)
    assert api.client.delete(path).status_code == 503
    object.__setattr__(api.service.settings, "request_seconds", 30.0)
    wait_until(lambda: api.client.get(path).status_code == 404, what="the deletion")
    assert api.count("decisions") == 0
    assert api.decide("ana")["round"] == 1


def test_statements_of_upkeep_may_take_long(postgresql: str) -> None:
    url = new_postgresql_database(postgresql)
    service = Service(settings_for(url, statement_seconds=0.2))
    wait = text("SELECT pg_sleep(0.4)")
    try:
        with service.database.write() as connection:
            service.database.be_patient(connection)
            connection.execute(wait)
        with (
            pytest.raises(OperationalError, match="timeout"),
            service.database.write() as connection,
        ):
            connection.execute(wait)
    finally:
        service.close()


def test_deadlines_that_cannot_be_looked_after_do_not_keep_others_waiting(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "_AT_ONCE", 2)
    api.create("bad", reward_deadline_seconds=60.0)
    for _ in range(5):
        api.decide("ana", "bad")
    api.create("good", reward_deadline_seconds=60.0, default_reward=1.0)
    api.create("forgets", retention_days=30.0)
    for _ in range(3):
        api.decide("bea", "good")
    api.decide("cleo", "forgets")
    age(api.service, 31 * 86_400.0)
    with api.service.database.write() as connection:
        broken = "UPDATE experiments SET settings = '[]', revision = 9 WHERE id = 'bad'"
        connection.execute(text(broken))
    assert one_round(api) == 3 + 1
    assert api.client.get("/v1/experiments/good/subjects/bea").json()["received"] == 3
    assert api.client.get("/v1/experiments/forgets/subjects/cleo").status_code == 404
