"""Tenants take turns, large batches are divided, and costly decisions delay only themselves."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.service.decisions import chooser as module
from structuredbandits.service.decisions.chooser import Chooser
from structuredbandits.service.decisions.commands import Decide
from structuredbandits.service.decisions.group_commit import GroupCommit
from structuredbandits.service.errors import RequestError
from structuredbandits.service.subjects.subject_state import SubjectState
from tests.service.conftest import Api, running, settings_for
from tests.service.test_experiments import code

BATCH = "/v1/experiments/shop/decisions/batch"


class HeldWriter:
    """A group commit whose first transaction takes as long as a test wants."""

    def __init__(self, **options: Any) -> None:
        self.begun, self.end = threading.Event(), threading.Event()
        self.groups: list[list[str]] = []
        self.commits = GroupCommit(self._commit, writers=1, **options)

    def _commit(self, commands: Any, seal: Any) -> list[Any]:
        self.begun.set()
        assert self.end.wait(120.0)
        self.groups.append([command.experiment for command in commands])
        seal(range(len(commands)))
        return ["done" for _ in commands]

    async def submitted(self, tenant: str, size: int = 1) -> asyncio.Task[list[Any]]:
        commands = [Decide(tenant, f"visitor {n}") for n in range(size)]
        task = asyncio.ensure_future(self.commits.do(commands, 120.0, tenant))
        await asyncio.sleep(0)
        return task


def test_a_calm_tenant_is_served_next_however_many_requests_another_has() -> None:
    held = HeldWriter(queue_length=1_000, group_size=9)

    async def ask() -> None:
        tasks = [await held.submitted("first")]
        await asyncio.to_thread(held.begun.wait, 120.0)
        tasks += [await held.submitted("noisy", 3) for _ in range(20)]
        tasks += [await held.submitted("calm") for _ in range(3)]
        held.end.set()
        await asyncio.gather(*tasks)

    asyncio.run(ask())
    held.commits.close()
    assert held.groups[1] == ["noisy"] * 3 + ["calm"] * 3
    assert held.groups[2] == ["noisy"] * 9  # which is alone now
    assert sum(len(group) for group in held.groups) == 64


def test_a_full_queue_has_room_for_a_tenant_with_less_than_its_share() -> None:
    held = HeldWriter(queue_length=9, group_size=4)

    async def ask() -> None:
        tasks = [await held.submitted("first")]
        await asyncio.to_thread(held.begun.wait, 120.0)
        tasks += [await held.submitted("noisy") for _ in range(9)]
        refused = await held.submitted("noisy")
        with pytest.raises(RequestError) as error:
            await refused
        assert error.value.status == 429
        tasks += [await held.submitted("calm") for _ in range(4)]
        held.end.set()
        await asyncio.gather(*tasks)
        assert held.commits.waiting == 0

    asyncio.run(ask())
    held.commits.close()


@pytest.mark.parametrize("subjects", [400, 200])
def test_a_large_batch_is_divided(
    lite: Api, monkeypatch: pytest.MonkeyPatch, subjects: int
) -> None:
    """In parts that take turns with other tenants, one after another if a subject is repeated."""
    lite.create()
    sizes: list[int] = []
    submit = GroupCommit._submit

    def noting(self: GroupCommit, parts: Any, *given: Any) -> Any:
        sizes.extend(len(part) for part in parts)
        return submit(self, parts, *given)

    monkeypatch.setattr(GroupCommit, "_submit", noting)
    body = {"decisions": [{"subject": f"visitor {n % subjects}"} for n in range(400)]}
    answers = lite.client.post(BATCH, json=body).json()["decisions"]
    assert [one["round"] for one in answers] == [1 + n // subjects for n in range(400)]
    assert [one["subject"] for one in answers] == [one["subject"] for one in body["decisions"]]
    decided = [{"decision": one["id"], "reward": 0.5} for one in answers]
    rewarded = lite.client.post("/v1/rewards", json={"rewards": decided}).json()["rewards"]
    assert all(one["counted"] for one in rewarded)
    assert (sum(sizes), max(sizes)) == (800, 16)


def test_what_fails_in_a_part_of_a_batch_is_said_of_each_item(
    lite: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    lite.create()
    body = {"decisions": [{"subject": f"visitor {n}"} for n in range(40)]}
    commit = lite.service.commits._commit
    failing = {"visitor 20"}

    def fail(commands: Any, seal: Any) -> list[Any]:
        if failing & {command.subject for command in commands}:
            raise RequestError(503, "unavailable", "the database did not complete the request.")
        return commit(commands, seal)

    monkeypatch.setattr(lite.service.commits, "_commit", fail)
    monkeypatch.setattr(lite.service.commits, "_group_size", 16)
    answers = lite.client.post(BATCH, json=body).json()["decisions"]
    assert [one.get("error", {}).get("status") for one in answers] == (
        [None] * 16 + [503] * 16 + [None] * 8
    )
    failing |= {"visitor 0", "visitor 39"}
    assert code(lite.client.post(BATCH, json=body)) == (503, "unavailable")


# -- costly decisions ------------------------------------------------------------------------------


def states(n_arms: int, count: int) -> list[SubjectState]:
    generator = np.random.default_rng(7)
    made = []
    for number in range(count):
        state = SubjectState.fresh(n_arms)
        for _ in range(number % 9):
            arm = int(generator.integers(n_arms))
            state.decide(arm)
            if generator.random() < 0.8:
                state.reward(arm, float(generator.normal()))
        made.append(state)
    return made


@pytest.mark.parametrize("policy", ["ts-c", "ucb-c"])
def test_prepared_choices_are_those_that_would_be_computed(policy: str) -> None:
    structure = sb.load_structure("three-arms")
    plain, ahead = (Chooser(structure, policy, horizon=None, floor=0.1) for _ in range(2))
    subjects = states(3, 40)
    for allowed in (np.arange(3), np.array([0, 2])):
        ahead.prepare(subjects[::2], allowed)
        assert not set(ahead.unprepared(subjects, allowed)) & set(range(0, 40, 2))
        found, wanted = ahead.choices(subjects, allowed), plain.choices(subjects, allowed)
        for part, other in zip(found, wanted, strict=True):
            assert part.tobytes() == other.tobytes()


@pytest.fixture
def costly(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """A service for which every decision is costly."""
    monkeypatch.setattr(module, "COSTLY_SECONDS", -1.0)
    for api in running(settings_for(database_url)):
        api.create()
        yield api


def known(api: Api, count: int) -> list[str]:
    """Subjects with a reward each."""
    names = [f"visitor {n}" for n in range(count)]
    for name in names:
        assert api.reward(api.decide(name), 0.5).status_code == 200
    return names


def test_costly_decisions_are_computed_before_their_transaction(
    costly: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = known(costly, 30)
    threads = []
    compute = Chooser._compute

    def noting(self: Chooser, *given: Any) -> Any:
        threads.append(threading.current_thread().name)
        return compute(self, *given)

    monkeypatch.setattr(Chooser, "_compute", noting)
    body = {"decisions": [{"subject": name} for name in names]}
    answers = costly.client.post(BATCH, json=body).json()["decisions"]
    assert [one["round"] for one in answers] == [2] * 30
    assert {name.partition("_")[0] for name in threads} == {"costly"}


def test_costly_decisions_of_one_subject_follow_one_another(
    costly: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another request has changed meanwhile is prepared again."""
    costly.service.experiment_cache.known_version("shop", 1).chooser.seconds = 0.015  # type: ignore[union-attr]
    known(costly, 3)
    body = {"decisions": [{"subject": f"visitor {n % 3}"} for n in range(18)]}
    body["decisions"].append({"subject": "visitor 0", "arms": ["none"]})
    rounds: list[tuple[str, int]] = []
    lock = threading.Lock()

    def ask() -> None:
        answers = costly.client.post(BATCH, json=body).json()["decisions"]
        assert answers[-1]["error"]["code"] == "unknown_arm"
        with lock:
            rounds.extend((one["subject"], one["round"]) for one in answers[:-1])

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [(f"visitor {n}", turn) for n in range(3) for turn in range(2, 20)]
    assert sorted(rounds) == sorted(expected)


def test_a_batch_that_cannot_finish_in_time_is_refused_at_once(sqlite_url: str) -> None:
    for api in running(settings_for(sqlite_url, request_seconds=5.0)):
        api.create()
        names = known(api, 20)
        api.service.experiment_cache.known_version("shop", 1).chooser.seconds = 0.5  # type: ignore[union-attr]
        body = {"decisions": [{"subject": name} for name in names]}
        refused = api.client.post(BATCH, json=body)
        assert code(refused) == (422, "too_costly")
        assert "take about 10 s" in refused.json()["error"]["message"]
        assert "at most 8 decisions" in refused.json()["error"]["remedy"]
        assert api.count("decisions") == 20
        body["decisions"] = [{"subject": f"new {n}"} for n in range(20)]  # known in advance
        assert api.client.post(BATCH, json=body).status_code == 200
        assert api.decide("visitor 0")["round"] == 2


def test_an_experiment_whose_decisions_take_too_long_is_refused(sqlite_url: str) -> None:
    for api in running(settings_for(sqlite_url)):
        api.create("small")
    for api in running(settings_for(sqlite_url, decision_seconds=1e-9)):
        body = {"id": "shop", "structure": {"problem": "three-arms"}, "policy": "ucb-c"}
        refused = api.client.post("/v1/experiments", json=body)
        assert code(refused) == (422, "too_costly")
        assert "takes about" in refused.json()["error"]["message"]
        assert "ts-c" in refused.json()["error"]["remedy"]
        path = "/v1/experiments/small/structures"
        assert code(api.client.post(path, json={"structure": {"problem": "three-arms"}})) == (
            422,
            "too_costly",
        )
        assert api.decide(name="small")["round"] == 1  # what exists is served
