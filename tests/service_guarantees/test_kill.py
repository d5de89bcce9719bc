"""kill -9 at random moments under load: no acknowledged write is missing or doubled.

50 kills over SQLite and 50 over PostgreSQL, at moments drawn from a seeded generator. The server is
started again on the same port each time, and the clients go on with the keys that were not
answered. The responses are then compared with the database, row by row.
"""

from __future__ import annotations

import random
import time

from tests.service_guarantees.check_database import check_nothing_lost, check_state_is_replay
from tests.service_guarantees.conftest import EXPERIMENT, create
from tests.service_guarantees.load import Load
from tests.service_guarantees.servers import Launcher, free_port, wait_until

KILLS = 50
WORKERS = 6


def test_kill_at_random_moments_loses_and_doubles_nothing(launch: Launcher, database: str) -> None:
    chance = random.Random(database.startswith("postgresql"))
    port = free_port()
    arguments = ("--db", database, "--insecure")
    server = launch.start(*arguments, port=port)
    arms = list(create(server).arms)
    load = Load([server.url], None, EXPERIMENT, WORKERS)
    for _ in range(KILLS):
        # From before the first answer of this server to well within its work.
        if chance.random() < 0.8:
            load.wait_for_more()
        time.sleep(chance.uniform(0.0, 0.3))
        server.kill()
        server = launch.start(*arguments, port=port, wait=False)
    server.wait_until_ready()
    load.wait_for_more()
    wait_until(lambda: load.decided() >= 3 * KILLS, 300.0, "enough work")
    done = load.finish()

    # It was under load: each kill interrupted somebody.
    assert sum(worker.rejections for worker in load.workers) >= KILLS
    check_nothing_lost(database, done, arms)
    states = check_state_is_replay(database, len(arms))
    assert sum(state.decided for state in states.values()) == len(done.decisions)
    assert sum(state.received for state in states.values()) == len(done.rewards)
    server.stop()
