"""The database is locked, frozen or gone: bounded answers, honest probes, and recovery.

Every answer must come within `BOUND` seconds: far more than the service allows itself here, so that
a busy machine does not matter, and far less than a frozen database, which never answers.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.service_guarantees.conftest import EXPERIMENT, create
from tests.service_guarantees.postgres import Postgres
from tests.service_guarantees.servers import Launcher, Server, wait_until

#: The setting of the service; the default is longer so that a busy database is not abandoned.
PATIENCE = ("--request-seconds", "1")
BOUND = 60.0
#: PostgreSQL takes a while to start on a busy machine.
WAIT = ("--start-seconds", "300")

Breaking = Callable[[], contextlib.AbstractContextManager[None]]


@contextlib.contextmanager
def locked(path: str) -> Iterator[None]:
    """Another process writes into the SQLite file and does not end."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
    finally:
        connection.close()


@contextlib.contextmanager
def frozen(postgres: Postgres) -> Iterator[None]:
    """Connections stay open and nobody answers."""
    postgres.freeze()
    try:
        yield
    finally:
        postgres.thaw()


@contextlib.contextmanager
def gone(postgres: Postgres) -> Iterator[None]:
    """Crashed, and started again later."""
    postgres.stop()
    try:
        yield
    finally:
        postgres.start()


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[Postgres]:
    """Not the shared one, which others may be using."""
    made = Postgres()
    yield made
    made.close()


@pytest.fixture(params=["locked", "frozen", "gone"])
def failing(
    request: pytest.FixtureRequest, new_database: Callable[[str], str]
) -> tuple[str, Breaking]:
    """A database, and how it fails."""
    if request.param == "locked":
        path = new_database("sqlite")
        return path, lambda: locked(path)
    server: Postgres = request.getfixturevalue("own_postgres")
    way = frozen if request.param == "frozen" else gone
    return server.new_database(), lambda: way(server)


def ask(server: Server, experiment: str, subject: str, key: str | None = None) -> httpx.Response:
    """One decision, without retries; a timeout fails the test."""
    return httpx.post(
        f"{server.url}/v1/experiments/{experiment}/decisions",
        json={"subject": subject},
        headers={"Idempotency-Key": key} if key else {},
        timeout=BOUND,
    )


def ask_until(server: Server, right: Callable[[httpx.Response], bool], key: str) -> httpx.Response:
    """Ask a sound database for a decision with a key, until the answer is what it can give.

    A second is little: on a busy machine one is refused, or answered from the prior.
    """
    end = time.monotonic() + 300
    while not right(answer := ask(server, EXPERIMENT, key.removeprefix("k-"), key)):
        assert time.monotonic() < end, answer.text
    return answer


def is_done(answer: httpx.Response) -> bool:
    return answer.status_code in (200, 201)


def is_stored(answer: httpx.Response) -> bool:
    return answer.json().get("stored") is True


def test_a_failing_database_gives_bounded_answers_and_recovers(
    launch: Launcher, failing: tuple[str, Breaking]
) -> None:
    database, broken = failing
    server = launch.start("--db", database, "--insecure", *PATIENCE)
    create(server)
    decision = ask_until(server, is_done, "k-before").json()["id"]

    with broken():
        for attempt in range(2):  # the second meets connections that are known to be bad
            refused = ask(server, EXPERIMENT, "during", "k-during")
            assert refused.status_code == 503, attempt
            assert refused.json()["error"]["code"]
            assert int(refused.headers["Retry-After"]) >= 1
        reward = httpx.put(
            f"{server.url}/v1/decisions/{decision}/reward", json={"reward": 1.0}, timeout=BOUND
        )
        assert reward.status_code == 503
        wait_until(lambda: server.status("/readyz", BOUND) == 503, what="readiness that fails")
        assert server.status("/livez", BOUND) == 200

    wait_until(lambda: server.status("/readyz") == 200, 300.0, "readiness after the recovery")
    again = ask_until(server, is_done, "k-before")
    assert again.status_code == 200
    assert again.json()["id"] == decision
    # The refused one may have been stored or not; with its key it is one decision either way.
    first, second = (ask_until(server, is_done, "k-during") for _ in range(2))
    assert first.json() == second.json()
    assert first.json()["round"] == 1
    server.stop()


def test_by_setting_a_decision_of_the_prior_is_answered_and_flagged(
    launch: Launcher, failing: tuple[str, Breaking]
) -> None:
    database, broken = failing
    server = launch.start("--db", database, "--insecure", *PATIENCE)
    create(server, on_database_failure="prior")
    assert ask_until(server, is_stored, "k-before").json()["round"] == 1
    with broken():
        answer = ask(server, EXPERIMENT, "during")
        assert answer.status_code in (200, 201, 203)
        told = answer.json()
        assert told["stored"] is False
        assert told["arm"] in told["probabilities"]
        assert told["probability"] == told["probabilities"][told["arm"]]
    wait_until(lambda: server.status("/readyz") == 200, 300.0, "readiness after the recovery")
    # It was never stored: the next one is the subject's first, or its reward has no place.
    assert ask_until(server, is_stored, "k-during").json()["round"] == 1
    server.stop()


def test_a_server_that_starts_before_its_database_waits_for_it(
    launch: Launcher, own_postgres: Postgres
) -> None:
    database = own_postgres.new_database()
    first = launch.start("--db", database, "--insecure", *PATIENCE)
    create(first)
    first.stop()
    with gone(own_postgres):
        server = launch.start("--db", database, "--insecure", *PATIENCE, *WAIT, wait=False)
        wait_until(lambda: "trying again" in server.text(), 300.0, "a word that it waits")
        assert server.lives()
    server.wait_until_ready()
    assert "Traceback" not in server.text()
    assert ask_until(server, is_done, "k-after").json()["round"] == 1
    server.stop()
