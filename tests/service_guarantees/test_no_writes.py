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

    def decide() -> int:
        answer = httpx.post(f"{path}/decisions", json={"subject": "somebody"}, timeout=30.0)
        return answer.status_code

    assert decide() == 201
    with broken(server, database):
        wait_until(lambda: server.status("/readyz") == 503, 30.0, "readiness that fails")
        for _ in range(3):
            assert decide() == 503
            assert server.status("/readyz") == 503
        assert server.status("/livez") == 200
        assert httpx.get(f"{path}/subjects/somebody", timeout=30.0).json()["decided"] == 1
    wait_until(lambda: server.status("/readyz") == 200, 60.0, "readiness after the recovery")
    assert decide() == 201
    assert httpx.get(f"{path}/subjects/somebody", timeout=30.0).json()["decided"] == 2
    server.stop()
