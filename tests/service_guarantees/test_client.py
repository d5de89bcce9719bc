"""Every method of both clients against a real service."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import structuredbandits as sb
from structuredbandits import errors
from structuredbandits.client import AsyncClient, Client, Decision, Reward
from structuredbandits.service.security.api_keys import create_key
from structuredbandits.service.storage.database import open_database
from tests.service_guarantees.servers import Launcher, Server


class Caller:
    """A client of either kind, called without `await`; remembers which methods were used."""

    def __init__(self, client: Client | AsyncClient) -> None:
        self._client = client
        self._runner = asyncio.Runner() if isinstance(client, AsyncClient) else None
        self.used: set[str] = set()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)
        self.used.add(name)

        def call(*args: Any, **options: Any) -> Any:
            made = method(*args, **options)
            return made if self._runner is None else self._runner.run(made)

        return call

    def end(self) -> None:
        self.close()
        if self._runner is not None:
            self._runner.close()


@pytest.fixture(scope="module")
def served(
    launch: Launcher, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, str]]:
    database = str(tmp_path_factory.mktemp("client") / "bandits.db")
    server = launch.start("--db", database)
    opened = open_database(database)
    with opened.write() as connection:
        key = create_key(connection, ["admin"])[0]
    opened.close()
    yield server, key
    server.stop()


@pytest.fixture(params=[Client, AsyncClient])
def client(request: pytest.FixtureRequest, served: tuple[Server, str]) -> Iterator[Caller]:
    server, key = served
    made = Caller(request.param(server.url, key, timeout_seconds=120))
    yield made
    made.end()


def test_a_service_can_be_run_with_the_client_alone(client: Caller, tmp_path: Path) -> None:
    name = f"films-{type(client._client).__name__.lower()}"
    created = client.create_experiment("movielens", id=name, settings={"floor": 0.1})
    assert (created.id, created.state, created.settings["floor"]) == (name, "running", 0.1)
    assert name in [one.id for one in client.experiments()]
    assert client.experiment(name) == created

    decision = client.decide(name, "ana", arms=created.arms[:4], key="first")
    assert decision == client.decide(name, "ana", arms=created.arms[:4], key="first")
    assert decision.arm in created.arms[:4]
    assert decision.probability == decision.probabilities[decision.arm] >= 0.025
    assert client.reward(decision, 4.0) == Reward(decision.id, 4.0, True, "counted", False)
    assert client.reward(decision.id, 4.0).repeated is True
    with pytest.raises(errors.Conflict):
        client.reward(decision, 3.0)
    corrected = client.correct(decision, 3.0, reason="counted twice")
    assert (corrected.before, corrected.reward) == (4.0, 3.0)

    wanted = [f"s{n}" for n in range(500)]
    made = client.decide_many(name, [*wanted, "no\x00name", "ben"])
    assert [one.subject for one in made[:500]] == wanted
    assert [type(one) for one in made[500:]] == [errors.Refused] * 2  # a request of their own
    (unknown,) = client.decide_many(name, ["ana"], arms=["Nothing"])
    assert isinstance(unknown, errors.Refused)
    told = client.reward_many([(one, 2.0) for one in made[:5]] + [("f-1-00000000", 1.0)])
    assert [type(one) for one in told[:5]] == [Reward] * 5
    assert isinstance(told[5], errors.NotFound)
    check_looks(client, name, decision)
    check_changes(client, name, tmp_path)
    every = {n for n, m in vars(Client).items() if inspect.isfunction(m) and n[0] != "_"}
    assert client.used | {"send", "close"} == every


def check_looks(client: Caller, name: str, decision: Decision) -> None:
    page = client.subjects(name, limit=200)
    rest = client.subjects(name, limit=1000, after=page.next)
    assert (len(page.items), len(page.items) + len(rest.items)) == (200, 501)
    assert rest.next is None
    ana = client.subject(name, "ana")
    assert (ana.decided, ana.received, ana.experiment) == (1, 1, name)
    assert ana.competitive_arms
    assert client.steps(name, "ana")["steps"][0]["arm"] == decision.arm
    assert client.structure(name, 1)["arms"] == list(decision.probabilities)
    assert client.summary(name)["experiment"] == name
    events = client.events(name, limit=4)
    later = client.events(name, after=events.next)
    assert len(events.items) == 4
    assert {row["subject"] for row in events.items + later.items} >= {"ana", "s0", "s4"}
    assert client.events(name, after=later.next).items == []


def check_changes(client: Caller, name: str, folder: Path) -> None:
    assert client.pause(name).state == "paused"
    with pytest.raises(errors.Conflict):
        client.decide(name, "ben")
    assert client.resume(name).state == "running"
    arm = client.experiment(name).arms[0]
    assert arm in client.retire_arm(name, arm).retired_arms
    assert client.restore_arm(name, arm).retired_arms == []
    path = folder / "films.structure"
    sb.load_structure("movielens").save(path)
    assert client.add_structure(name, path).structure_version == 2
    assert client.create_subject(name, "carl").structure_version == 2
    assert client.create_subject(name).subject
    client.delete_subject(name, "ana")
    with pytest.raises(errors.NotFound):
        client.subject(name, "ana")


def test_a_wrong_key_and_a_wrong_experiment_are_told_apart(served: tuple[Server, str]) -> None:
    server, key = served
    wrong = key[:-1] + ("A" if key[-1] != "A" else "B")
    with Client(server.url, wrong) as client, pytest.raises(errors.NotAllowed):
        client.experiments()
    with Client(server.url, key) as client:
        with pytest.raises(errors.NotFound):
            client.experiment("nothing")
        with pytest.raises(errors.Refused, match="hierarchica"):
            client.create_experiment("movielens", "hierarchica")


def test_the_python_of_the_page_runs(
    served: tuple[Server, str], capsys: pytest.CaptureFixture[str]
) -> None:
    server, key = served
    with Client(server.url, key, timeout_seconds=120) as client:
        client.create_experiment("movielens", id="movielens")
    page = (Path(__file__).parents[2] / "docs/service.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```py\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    exec(blocks[0].replace("http://127.0.0.1:8000", server.url).replace("sb_...", key), {})
    assert re.match(r".+ (1\.0|0\.\d+) \S+", capsys.readouterr().out)  # arm, probability, why
