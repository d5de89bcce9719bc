"""32 clients on SQLite, each with its own connections: no client gets "database is locked"."""

from __future__ import annotations

from pathlib import Path

from tests.service_guarantees.check_database import check_nothing_lost, check_state_is_replay
from tests.service_guarantees.conftest import EXPERIMENT, create
from tests.service_guarantees.load import Load
from tests.service_guarantees.servers import Launcher

CLIENTS = 32
STEPS = 15


def test_32_clients_on_sqlite_are_all_served(launch: Launcher, tmp_path: Path) -> None:
    database = str(tmp_path / "bandits.db")
    server = launch.start("--db", database, "--insecure", "--request-seconds", "60")
    arms = list(create(server).arms)
    load = Load([server.url], None, EXPERIMENT, CLIENTS, STEPS)
    done = load.finish(stop=False)
    server.stop()
    assert sum(worker.rejections for worker in load.workers) == 0
    assert "locked" not in server.text()
    assert len(done.decisions) == CLIENTS * STEPS
    check_nothing_lost(database, done, arms)
    check_state_is_replay(database, len(arms))
