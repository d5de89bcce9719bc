"""Replicas that decide for the same subjects, with the same keys, at the same time.

Elsewhere each client has subjects of its own, so nobody ever waits for a lock. Here all fight for
three subjects, and state and log must still agree, byte for byte.
"""

from __future__ import annotations

import random
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from structuredbandits.problems import load_structure
from structuredbandits.service.decisions.commands import AddReward, Command, Decide
from structuredbandits.service.experiments.experiment_settings import ExperimentSettings
from structuredbandits.service.experiments.stored_experiment import create_experiment, prepare
from structuredbandits.service.runtime import Service
from structuredbandits.service.settings import ServiceSettings
from structuredbandits.service.storage.tables import decisions
from tests.service_guarantees.check_database import check_state_is_replay, rows_of
from tests.service_guarantees.conftest import EXPERIMENT, create
from tests.service_guarantees.load import Load
from tests.service_guarantees.servers import Launcher

REPLICAS, THREADS, STEPS = 3, 9, 25
AT_ONCE = 64


class Client(threading.Thread):
    """Decides for shared subjects, partly with shared keys, and rewards; at one replica."""

    def __init__(self, service: Service, number: int) -> None:
        super().__init__(daemon=True)
        self.by_key: dict[str, set[str]] = defaultdict(set)
        self.rewarded = 0
        self.failures: list[BaseException] = []
        self._service, self._chance = service, random.Random(number)
        self._waiting: list[str] = []

    def run(self) -> None:
        try:
            for _ in range(STEPS):
                self._step()
        except BaseException as failure:
            self.failures.append(failure)

    def _step(self) -> None:
        chance = self._chance
        orders: list[Command] = [
            Decide("shop", f"s{chance.randrange(3)}") for _ in range(chance.randrange(1, 4))
        ]
        key = chance.randrange(60)
        orders.append(Decide("shop", f"s{key % 3}", None, f"key-{key}"))
        orders += [AddReward(decision, 1.5) for decision in self._waiting[:3]]
        self._waiting = self._waiting[3:]
        for order, result in zip(orders, self._service.executor.commit(orders), strict=True):
            if isinstance(result, BaseException):
                self.failures.append(result)
            elif isinstance(order, Decide):
                new, answer = result
                if order.key is not None:
                    self.by_key[order.key].add(answer["id"])
                if new:
                    self._waiting.append(answer["id"])
            else:
                self.rewarded += 1


def test_replicas_that_share_subjects_and_keys_agree(new_database: Callable[[str], str]) -> None:
    database = new_database("postgresql")
    settings = ServiceSettings(
        database=database, writers=2, lock_seconds=60.0, statement_seconds=60.0
    )
    replicas = [Service(settings) for _ in range(REPLICAS)]
    chosen = ExperimentSettings(floor=0.2)
    version = prepare(1, load_structure("three-arms"), "ts-c", chosen)
    with replicas[0].database.write() as connection:
        create_experiment(connection, "shop", version, chosen)
    clients = [Client(replicas[number % REPLICAS], number) for number in range(THREADS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    for replica in replicas:
        replica.close()

    assert [failure for client in clients for failure in client.failures] == []
    by_key: dict[str, set[str]] = defaultdict(set)
    for client in clients:
        for key, ids in client.by_key.items():
            by_key[key] |= ids
    assert len(by_key) > 30
    assert all(len(ids) == 1 for ids in by_key.values())
    stored = Counter(row["key"] for row in rows_of(database, decisions) if row["key"])
    assert stored == dict.fromkeys(by_key, 1)
    states = check_state_is_replay(database, 3)
    assert len(states) == 3
    assert sum(state.received for state in states.values()) == sum(c.rewarded for c in clients)


def test_one_key_64_times_at_once_on_two_replicas_is_one_decision(
    launch: Launcher, new_database: Callable[[str], str]
) -> None:
    database = new_database("postgresql")
    options = ("--db", database, "--insecure", "--writers", "2", "--request-seconds", "60")
    first = launch.start(*options)
    arms = list(create(first).arms)
    servers = [first, launch.start(*options)]
    together = threading.Barrier(AT_ONCE)
    path = f"/v1/experiments/{EXPERIMENT}/decisions"

    def ask(number: int) -> tuple[int, Any]:
        with httpx.Client(base_url=servers[number % 2].url, timeout=120.0) as client:
            client.get("/livez")  # the connection is there before all ask at once
            together.wait(120.0)
            headers = {"Idempotency-Key": "the-same"}
            answer = client.post(path, json={"subject": "somebody"}, headers=headers)
        return answer.status_code, answer.json()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(ask, range(AT_ONCE)))
    assert Counter(status for status, _ in answers) == {201: 1, 200: AT_ONCE - 1}
    assert all(told == answers[0][1] for _, told in answers)
    assert [row["key"] for row in rows_of(database, decisions)] == ["the-same"]

    # The same two replicas, each with two writers, under an ordinary load.
    load = Load([server.url for server in servers], None, EXPERIMENT, 6, 20)
    done = load.finish(stop=False)
    for server in servers:
        server.stop()
    stored = {row["key"] for row in rows_of(database, decisions)} - {"the-same"}
    assert stored == set(done.decisions)
    check_state_is_replay(database, len(arms))
