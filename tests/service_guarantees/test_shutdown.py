"""SIGTERM under load: what has begun is finished and answered, and the log says so."""

from __future__ import annotations

import json
import os
import signal
import threading

import httpx

from structuredbandits.service.storage.tables import decisions
from tests.service_guarantees.check_database import check_state_is_replay, rows_of
from tests.service_guarantees.conftest import EXPERIMENT, create
from tests.service_guarantees.servers import Launcher, wait_until

CLIENTS = 12


class Asker(threading.Thread):
    """Asks again and again until nobody answers."""

    def __init__(self, url: str, number: int) -> None:
        super().__init__(daemon=True)
        self.answered: dict[str, str] = {}
        self.others: list[int] = []
        self._url, self._number = url, number

    def run(self) -> None:
        path = f"/v1/experiments/{EXPERIMENT}/decisions"
        with httpx.Client(base_url=self._url, timeout=60.0) as client:
            for step in range(1_000_000):
                key = f"{self._number}-{step}"
                body = {"subject": f"somebody-{self._number}"}
                try:
                    answer = client.post(path, json=body, headers={"Idempotency-Key": key})
                except httpx.TransportError:
                    return
                if answer.status_code == 201:
                    self.answered[key] = answer.json()["id"]
                else:
                    self.others.append(answer.status_code)


def test_sigterm_under_load_loses_nothing_and_leaves_nothing_unanswered(
    launch: Launcher, database: str
) -> None:
    server = launch.start("--db", database, "--insecure")
    arms = list(create(server).arms)
    askers = [Asker(server.url, number) for number in range(CLIENTS)]
    for asker in askers:
        asker.start()
    wait_until(lambda: all(len(asker.answered) > 3 for asker in askers), 60.0, "some work")
    server.stop()
    for asker in askers:
        asker.join(60.0)
        assert not asker.is_alive()

    answered = {key for asker in askers for key in asker.answered}
    assert {row["key"] for row in rows_of(database, decisions)} == answered
    assert {status for asker in askers for status in asker.others} <= {503}
    check_state_is_replay(database, len(arms))
    lines = [json.loads(line) for line in server.text().splitlines()]
    assert lines[-1]["message"] == "ended"
    others = [line for line in lines if not line["message"].startswith("insecure")]
    assert {line["level"] for line in others} == {"info"}


def test_after_sigterm_it_is_not_ready_and_still_answers_for_a_while(
    launch: Launcher, database: str
) -> None:
    server = launch.start("--db", database, "--insecure", "--drain-seconds", "3600")
    create(server)
    os.kill(server.pid, signal.SIGTERM)
    wait_until(lambda: server.status("/readyz") == 503, what="readiness that ends")
    path = f"{server.url}/v1/experiments/{EXPERIMENT}/decisions"
    assert httpx.post(path, json={"subject": "late"}, timeout=60.0).status_code == 201
    assert server.status("/livez") == 200
    server.stop()  # the second signal ends it at once
    assert json.loads(server.text().splitlines()[-1])["message"] == "ended"
