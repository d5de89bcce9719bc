"""Deadlines and retention: by the service's own thread, in portions, and whatever is slow."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, func, select, text
from sqlalchemy.exc import OperationalError

from structuredbandits.service.api import subjects as routes
from structuredbandits.service.jobs import deadlines, retention
from structuredbandits.service.runtime import Service
from structuredbandits.service.storage import tables
from structuredbandits.service.subjects import deletion
from tests.service.conftest import Api, new_postgresql_database, running, settings_for
from tests.service.test_guarantees import age
from tests.service_guarantees.servers import wait_until


def one_round(api: Api) -> int:
    return asyncio.run(api.service.scheduler.round())


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
    wait_until(lambda: busy.count("decisions") == 1, what="the end of the deletion")


def test_retention_is_done_in_portions_of_few_rows(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "_ROWS_AT_ONCE", 5)
    honest, deleted = retention.delete_some_rows, []

    def count(connection: Connection) -> int:
        rows = select(func.count()).select_from(tables.decisions)
        return int(connection.execute(rows).scalar_one())

    def watched(connection: Connection) -> bool:
        before = count(connection)
        more = honest(connection)
        deleted.append(before - count(connection))
        return more

    monkeypatch.setattr(retention, "delete_some_rows", watched)
    api.create(retention_days=30.0)
    for subject, rounds in (("ana", 2), ("bea", 2), ("cleo", 9), ("dora", 1)):
        for _ in range(rounds):
            api.decide(subject)
    age(api.service, 31 * 86_400.0)
    api.decide("new")
    assert one_round(api) == 4
    assert deleted == [5, 5, 4]
    assert (api.count("decisions"), api.count("subjects"), api.count("departed")) == (1, 1, 0)
    with api.service.database.read() as connection:
        actions = connection.execute(select(tables.audit.c.action, tables.audit.c.detail)).all()
    assert [json.loads(detail) for action, detail in actions if action == "retention"] == [
        {"subjects": 4}
    ]


def slowed(honest: Callable[..., bool]) -> Callable[..., bool]:
    def slow(*given: Any) -> bool:
        time.sleep(0.5)
        return honest(*given)

    return slow


def test_upkeep_that_takes_longer_than_a_request_may_gets_on(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.create(retention_days=30.0)
    for name in ("ana", "bea"):
        api.decide(name)
    age(api.service, 31 * 86_400.0)
    monkeypatch.setattr(retention, "delete_some_rows", slowed(retention.delete_some_rows))
    object.__setattr__(api.service.settings, "request_seconds", 0.2)
    wait_until(lambda: one_round(api) > 0, what="a portion")
    object.__setattr__(api.service.settings, "request_seconds", 30.0)
    assert (api.count("subjects"), api.count("decisions")) == (0, 0)


def test_a_deletion_that_takes_longer_than_a_request_may_is_done(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.create()
    api.decide("ana")
    monkeypatch.setattr(routes, "delete_some_rows", slowed(routes.delete_some_rows))
    path = "/v1/experiments/shop/subjects/ana"
    object.__setattr__(api.service.settings, "request_seconds", 0.1)
    assert api.client.delete(path).status_code == 503
    object.__setattr__(api.service.settings, "request_seconds", 30.0)
    assert api.client.get(path).status_code == 404
    wait_until(lambda: api.count("decisions") == 0, what="the deletion")
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
    monkeypatch.setattr(deadlines, "_AT_ONCE", 2)
    monkeypatch.setattr(retention, "_AT_ONCE", 2)
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
