"""Whatever a database complains of, no subject, no key and no value gets into the log."""

from __future__ import annotations

import io
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from structuredbandits.service.json_log import JsonFormatter
from tests.service.conftest import Api, new_postgresql_database, running, settings_for

SECRETS = ("private-subject", "private-key", "4711.25")


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Everything that is logged, as a service writes it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logging.getLogger().addHandler(handler)
    yield stream
    logging.getLogger().removeHandler(handler)


def ask(api: Api, decision: str) -> list[int]:
    """Use everything that must stay private; the statuses."""
    path = "/v1/experiments/shop"
    body, headers = {"subject": "private-subject"}, {"Idempotency-Key": "private-key"}
    answers: list[httpx.Response] = [
        api.client.post(f"{path}/decisions", json=body, headers=headers),
        api.client.post(f"{path}/subjects", json=body),
        api.client.put(f"/v1/decisions/{decision}/reward", json={"reward": 4711.25}),
        api.client.get(f"{path}/subjects/private-subject"),
    ]
    return [answer.status_code for answer in answers]


def check(log: io.StringIO, kind: str) -> None:
    written = log.getvalue()
    assert kind in written
    for secret in (*SECRETS, "[parameters"):
        assert secret not in written


def test_a_lock_of_postgresql_tells_nothing(postgresql: str, log: io.StringIO) -> None:
    url = new_postgresql_database(postgresql)
    for api in running(settings_for(url, lock_seconds=0.2, request_seconds=20.0)):
        api.create()
        decision = api.decide("private-subject")["id"]
        engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
        for table in ("subjects", "decisions"):
            with engine.connect() as other:
                other.execute(text(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"))
                assert 503 in ask(api, decision)
        engine.dispose()
    check(log, "LockNotAvailable")


def test_what_a_database_quotes_is_not_logged(database_url: str, log: io.StringIO) -> None:
    for api in running(settings_for(database_url)):
        api.create()
        api.create("other")
        decision = api.decide("private-subject")["id"]
        path, headers = "/v1/experiments/other/decisions", {"Idempotency-Key": "private-key"}
        api.client.post(path, json={"subject": "private-subject"}, headers=headers)
        with api.service.database.write() as connection:
            # It refuses what the service believes to be possible, and PostgreSQL quotes the key.
            connection.execute(text("CREATE UNIQUE INDEX odd ON decisions (key)"))
        assert ask(api, decision)[0] == 503
    check(log, "UniqueViolation" if "://" in database_url else "IntegrityError")


def test_a_mistake_of_ours_is_logged_by_its_place(lite: Api, log: io.StringIO) -> None:
    lite.create()
    decision = lite.decide("private-subject")["id"]
    with closing(sqlite3.connect(lite.service.settings.database)) as other:
        other.execute("UPDATE subjects SET state = '{\"private-subject\": 4711.25}'")
        other.commit()
    assert ask(lite, decision)[-1] == 500
    check(log, "subject_state.py")
    assert "/v1/experiments/{experiment}/subjects/{subject}" in log.getvalue()
