"""kill -9 in the middle of a deletion: nobody sees the rest, and the next start deletes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from sqlalchemy import text

from structuredbandits.client import Client, Retries
from structuredbandits.errors import NotFound, Unavailable
from structuredbandits.service.storage.database import open_database
from structuredbandits.service.storage.tables import decisions, departed
from tests.service_guarantees.check_database import check_state_is_replay, rows_of
from tests.service_guarantees.conftest import EXPERIMENT
from tests.service_guarantees.servers import Launcher, Server, wait_until

#: More than two portions of the deletion; it cannot get beyond the middle of the second.
ROUNDS, HELD = 2_500, 1_500
_SQLITE = (
    f"CREATE TRIGGER held BEFORE DELETE ON decisions WHEN OLD.round = {HELD} "
    "BEGIN SELECT RAISE(ABORT, 'held'); END",
)
_POSTGRESQL = (
    "CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS "
    "'BEGIN RAISE EXCEPTION ''held''; END'",
    f"CREATE TRIGGER held BEFORE DELETE ON decisions FOR EACH ROW WHEN (OLD.round = {HELD}) "
    "EXECUTE FUNCTION held()",
)


@contextmanager
def held(database: str) -> Iterator[None]:
    """One row cannot be deleted meanwhile."""
    opened = open_database(database)
    drop = "DROP TRIGGER held" + ("" if opened.is_sqlite else " ON decisions")
    try:
        for statements in (_SQLITE if opened.is_sqlite else _POSTGRESQL, (drop,)):
            with opened.write() as connection:
                for statement in statements:
                    connection.execute(text(statement))
            if statements != (drop,):
                yield
    finally:
        opened.close()


def live(server: Server, subject: str, rounds: int) -> None:
    path = f"{server.url}/v1/experiments/{EXPERIMENT}/decisions/batch"
    for first in range(0, rounds, 500):
        body = {"decisions": [{"subject": subject}] * min(500, rounds - first)}
        httpx.post(path, json=body, timeout=60).raise_for_status()


def test_a_killed_deletion_is_seen_by_nobody_and_finished_by_the_next_start(
    launch: Launcher, database: str
) -> None:
    arguments = ("--db", database, "--insecure", "--request-seconds", "60")
    server = launch.start(*arguments)
    with Client(server.url, retries=Retries(attempts=1), timeout_seconds=60) as client:
        client.create_experiment("three-arms", "ts", id=EXPERIMENT)
        live(server, "ana", ROUNDS)
        live(server, "bea", 5)
        with held(database):
            with pytest.raises(Unavailable):
                client.delete_subject(EXPERIMENT, "ana")
            server.kill()
            assert len(rows_of(database, departed)) == 1
            assert len(rows_of(database, decisions)) == ROUNDS - 1_000 + 5
            check_state_is_replay(database, 3)
            server = launch.start(*arguments, port=server.port)
            with pytest.raises(NotFound):
                client.subject(EXPERIMENT, "ana")
            assert client.decide(EXPERIMENT, "ana").round == 1
            assert len(rows_of(database, departed)) == 1
    wait_until(lambda: not rows_of(database, departed), 60.0, "the end of the deletion")
    assert len(rows_of(database, decisions)) == 1 + 5
    states = check_state_is_replay(database, 3)
    assert {name: state.decided for name, state in states.items()} == {"ana": 1, "bea": 5}
    server.stop()
