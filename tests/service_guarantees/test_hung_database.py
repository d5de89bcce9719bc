"""A frozen database and what is not in memory: answers come in time, and rightly afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service_guarantees.conftest import EXPERIMENT, create
from tests.service_guarantees.postgres import Postgres
from tests.service_guarantees.servers import Launcher, wait_until
from tests.service_guarantees.test_database_failure import BOUND, PATIENCE, ask, frozen


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """Not the shared one, which others may be using."""
    made = Postgres()
    yield made
    made.close()


def test_what_is_not_in_memory_is_answered_in_time(
    launch: Launcher, own_postgres: Postgres
) -> None:
    server = launch.start("--db", own_postgres.new_database(), "--insecure", *PATIENCE)
    create(server)
    here = f"/v1/experiments/{EXPERIMENT}"
    with frozen(own_postgres):
        for _ in range(2):  # the second finds the first one's question still open
            assert ask(server, "unknown", "somebody").status_code == 503
            for path in ("/structures/2", "/summary", "/subjects/somebody", ""):
                assert server.status(here + path, BOUND) == 503, path
    wait_until(lambda: server.status("/readyz") == 200, 300.0, "readiness after the recovery")
    # On a busy machine the second that a request may take is little also for a sound database.
    wait_until(lambda: server.status(here) == 200, what="an answer after the recovery")
    wait_until(lambda: server.status(f"{here}/structures/2") == 404, what="a right refusal")
    wait_until(lambda: ask(server, "unknown", "x").status_code == 404, what="a right refusal")
    server.stop()
