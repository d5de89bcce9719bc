"""A database that answers and reads, but takes no writes: the service is not ready, and says so."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Callable, Iterator

import httpx
import psycopg
import pytest

from tests.service_guarantees.conftest import EXPERIMENT, create
from tests.service_guarantees.servers import Launcher, Server, wait_until


@contextlib.contextmanager
def full_disk(server: Server, _database: str) -> Iterator[None]:
    """No file of the process can grow: for SQLite, what a full disk is."""
    unlimited = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1_000, unlimited[1]))
    yield
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, unlimited)


@contextlib.contextmanager
def read_only(_server: Server, database: str) -> Iterator[None]:
    """As after a failover, when a connection leads to the standby."""

    def turn(state: str) -> None:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            name = connection.info.dbname
            connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {state}")

    turn("on")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    yield
    turn("off")


@pytest.mark.parametrize(("kind", "broken"), [("sqlite", full_disk), ("postgresql", read_only)])
def test_a_database_that_takes_no_writes_is_not_ready(
    launch: Launcher,
    new_database: Callable[[str], str],
    kind: str,
    broken: Callable[[Server, str], contextlib.AbstractContextManager[None]],
) -> None:
    database = new_database(kind)
    server = launch.start("--db", database, "--insecure", "--request-seconds", "2")
    create(server)
    path = f"{server.url}/v1/experiments/{EXPERIMENT}"

    def decide(key: str) -> int:
        headers = {"Idempotency-Key": key}
        body = {"subject": "somebody"}
        return httpx.post(
            f"{path}/decisions", json=body, headers=headers, timeout=120.0
        ).status_code

    def decided() -> int | None:
        """Nothing where a busy machine has not read it in two seconds."""
        told = httpx.get(f"{path}/subjects/somebody", timeout=120.0).json()
        return told.get("decided")

    wait_until(lambda: decide("first") in (200, 201), what="a decision")
    with broken(server, database):
        wait_until(lambda: server.status("/readyz") == 503, what="readiness that fails")
        for _ in range(3):
            assert decide("second") == 503
            assert server.status("/readyz") == 503
        assert server.status("/livez") == 200
        wait_until(lambda: decided() == 1, what="an answer to a reader")
    wait_until(lambda: server.status("/readyz") == 200, 300.0, "readiness after the recovery")
    wait_until(lambda: decide("second") in (200, 201), what="a decision after the recovery")
    wait_until(lambda: decided() == 2, what="a reader that sees it")
    server.stop()
