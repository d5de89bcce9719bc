"""What the service promises, shown in one process; other processes are killed elsewhere."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import numpy as np
import pytest
from scipy import stats
from sqlalchemy import select, text

from structuredbandits.service.decisions.commands import AddReward, Decide, Expire
from structuredbandits.service.decisions.explanation import decision_id
from structuredbandits.service.experiments import stored_experiment as use
from structuredbandits.service.experiments.experiment_settings import ExperimentSettings
from structuredbandits.service.runtime import Service
from structuredbandits.service.storage import tables
from structuredbandits.service.storage.tables import PENDING
from structuredbandits.service.subjects.subject_state import LoggedDecision, replay
from structuredbandits.structure import Structure
from tests.service.conftest import Api, running, settings_for


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    """A service without HTTP."""
    made = Service(settings_for(database_url))
    yield made
    made.close()


def create(service: Service, policy: str = "ts-c", **settings: Any) -> None:
    chosen = ExperimentSettings(**settings)
    structure = Structure.from_table(
        [[1.0, 0.5, 0.2], [0.4, 1.1, 0.3], [0.1, 0.2, 0.9]],
        arms=["a", "b", "c"],
        sigma=0.5,
        standard_errors=np.full((3, 3), 0.3),  # the hierarchical policy needs them
    )
    version = use.prepare(1, structure, policy, chosen)
    with service.database.write() as connection:
        use.create_experiment(connection, "shop", version, chosen)


def states_and_replays(service: Service) -> list[tuple[str, str]]:
    pairs = []
    with service.database.read() as connection:
        for subject in connection.execute(select(tables.subjects)):
            table = tables.decisions
            log = connection.execute(select(table).where(table.c.subject == subject.number))
            rows = [
                LoggedDecision(r.round, r.arm, r.state == PENDING, r.reward, r.reward_order)
                for r in log
            ]
            pairs.append((subject.state, replay(3, rows).to_json()))
    return pairs


def test_the_same_key_64_times_at_once_leaves_one_row(api: Api) -> None:
    api.create()
    path = "/v1/experiments/shop/decisions"
    headers = {"Idempotency-Key": "order-1"}
    together = threading.Barrier(16)

    def ask(number: int) -> tuple[int, str]:
        if number < 16:
            together.wait()
        with httpx.Client(base_url=api.client.base_url, timeout=60.0) as client:
            answer = client.post(path, json={"subject": "ana"}, headers=headers)
        return answer.status_code, answer.text

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(64)))
    assert Counter(status for status, _ in answers) == {201: 1, 200: 63}
    assert len({content for _, content in answers}) == 1
    assert api.count("decisions") == 1


def test_one_key_for_two_subjects_in_one_transaction_decides_once(service: Service) -> None:
    create(service)
    first, second = service.executor.commit(
        [Decide("shop", "ana", None, "k"), Decide("shop", "bea", None, "k")]
    )
    assert first[0] is True
    assert second.code == "key_reused"


def test_a_reward_at_the_same_time_from_many_counts_once(api: Api) -> None:
    api.create()
    decision = api.decide()

    def send(value: float) -> int:
        with httpx.Client(base_url=api.client.base_url, timeout=60.0) as client:
            path = f"/v1/decisions/{decision['id']}/reward"
            return client.put(path, json={"reward": value}).status_code

    with ThreadPoolExecutor(12) as pool:
        statuses = Counter(pool.map(send, [1.0, 2.0] * 12))
    assert statuses == {200: 12, 409: 12}
    known = api.client.get("/v1/experiments/shop/subjects/ana").json()
    assert known["received"] == 1


@pytest.mark.parametrize("policy", ["ts-c", "hierarchical"])
def test_arms_are_drawn_from_exactly_the_logged_probabilities(sqlite_url: str, policy: str) -> None:
    """χ² of 100,000 decisions; a true service fails with probability 1e-4 (and has a fresh seed).

    Pairs of a decision and an arm are grouped by the logged probability: in each group the arms
    that were drawn are compared with the sum of the probabilities.
    """
    service = Service(settings_for(sqlite_url))
    create(service, policy, floor=0.1)
    rng = np.random.default_rng(3)
    expected, drawn = np.zeros((20, 2)), np.zeros((20, 2))
    for turn in range(100):
        results = service.executor.commit([Decide("shop", f"s{number}") for number in range(1000)])
        shares = np.array([list(answer["probabilities"].values()) for _, answer in results])
        arms = np.array(["abc".index(answer["arm"]) for _, answer in results])
        groups = np.minimum((20 * shares).astype(int), 19)
        hits = arms[:, None] == np.arange(3)
        for values, seen in ((expected, shares), (drawn, hits.astype(float))):
            np.add.at(values, (groups, 0), seen)
            np.add.at(values, (groups, 1), 1.0 - seen)
        if turn < 8:
            rewards = rng.normal(np.array([1.0, 0.5, 0.2])[arms], 0.5)
            service.executor.commit(
                [
                    AddReward(answer["id"], float(reward))
                    for (_, answer), reward in zip(results, rewards, strict=True)
                ]
            )
    service.close()
    used = expected.min(axis=1) > 20.0
    assert used.sum() >= 5
    assert drawn.sum() == 300_000
    # The arms of one decision exclude each other, which makes the sum smaller than a χ².
    statistic = ((drawn - expected)[used] ** 2 / expected[used]).sum()
    assert stats.chi2.sf(statistic, used.sum()) > 1e-4


def test_probabilities_are_repeatable_and_secret(service: Service) -> None:
    create(service, "ts-c")
    (one,) = service.executor.commit([Decide("shop", "ana")])
    with service.database.read() as connection:
        experiment = use.require_experiment(connection, "shop")
    from structuredbandits.service.decisions.chooser import chance, draw

    shares = np.array(list(one[1]["probabilities"].values()))
    assert "abc"[draw(shares, chance(experiment.seed, "ana", 1))] == one[1]["arm"]
    assert one[1]["id"] == decision_id(experiment.seed, 1, 1)


def test_state_equals_replay_after_rewards_in_any_order(service: Service) -> None:
    create(service, "ts-c", floor=0.2)
    rng = np.random.default_rng(8)
    waiting: list[str] = []
    for turn in range(60):
        names = [f"s{number}" for number in rng.integers(8, size=rng.integers(1, 9))]
        commands: list[Any] = [
            Decide("shop", name, None, f"{turn}-{k}") for k, name in enumerate(names)
        ]
        rng.shuffle(waiting)
        sent, waiting = waiting[: len(waiting) // 2], waiting[len(waiting) // 2 :]
        commands += [
            AddReward(one, float(rng.normal() * 10.0 ** rng.integers(-6, 6))) for one in sent
        ]
        results = service.executor.commit(commands)
        waiting += [content["id"] for _, content in results[: len(names)]]
    pairs = states_and_replays(service)
    assert len(pairs) == 8
    assert all(state == again for state, again in pairs)


def test_a_correction_makes_the_state_that_of_the_corrected_log(api: Api) -> None:
    api.create()
    decisions = [api.decide() for _ in range(5)]
    for number, decision in enumerate(decisions[:4]):
        api.reward(decision, 0.1 * number)
    path = f"/v1/decisions/{decisions[1]['id']}/corrections"
    assert api.client.post(path, json={"reward": 7.5, "reason": "typing"}).status_code == 200
    for state, again in states_and_replays(api.service):
        assert state == again
    assert sum(json.loads(api.state())["sums"]) == pytest.approx(0.0 + 7.5 + 0.2 + 0.3)
    pending = f"/v1/decisions/{decisions[4]['id']}/corrections"
    refused = api.client.post(pending, json={"reward": 1.0, "reason": "typing"})
    assert refused.json()["error"]["code"] == "no_reward_yet"
    with api.service.database.read() as connection:
        found = connection.execute(
            select(tables.audit).where(tables.audit.c.action == "correction")
        )
        assert [row.detail for row in found] == [
            '{"round":2,"before":0.1,"after":7.5,"reason":"typing","decided":5}'
        ]


def age(service: Service, seconds: float) -> None:
    """Let everything be older than it is."""
    shift = {"by": round(seconds * 1e6)}
    with service.database.write() as connection:
        connection.execute(
            text("UPDATE decisions SET created = created - :by, expires = expires - :by"), shift
        )
        connection.execute(text("UPDATE subjects SET created = created - :by"), shift)


def run_jobs(api: Api) -> int:
    import asyncio

    return asyncio.run(api.service.scheduler.round())


def test_the_default_reward_counts_when_the_deadline_passes(api: Api) -> None:
    api.create(reward_deadline_seconds=3600.0, default_reward=0.25)
    on_time, late, silent = (api.decide() for _ in range(3))
    assert api.reward(on_time, 1.0).json()["counted"]
    assert run_jobs(api) == 0
    age(api.service, 7200.0)
    # A late reward may come before anybody has noticed that the deadline has passed.
    answer = api.reward(late, 5.0)
    assert answer.json() == {
        "decision": late["id"],
        "reward": 5.0,
        "counted": False,
        "status": "late",
        "repeated": False,
    }
    assert run_jobs(api) == 1
    assert run_jobs(api) == 0
    assert api.reward(late, 5.0).json()["repeated"] is True
    assert api.reward(late, 6.0).status_code == 409
    assert api.reward(silent, 5.0).json()["status"] == "late"
    steps = api.client.get("/v1/experiments/shop/subjects/ana/steps").json()["steps"]
    assert [(step["state"], step["reward"]) for step in steps] == [
        ("rewarded", 1.0),
        ("default", 0.25),
        ("default", 0.25),
    ]
    for state, again in states_and_replays(api.service):
        assert state == again
    summary = api.client.get("/v1/experiments/shop/summary").json()
    assert (summary["defaulted"], summary["late"], summary["pending"]) == (2, 2, 0)


def test_without_a_default_a_passed_deadline_counts_nothing(service: Service) -> None:
    create(service, reward_deadline_seconds=60.0)
    (one,) = service.executor.commit([Decide("shop", "ana")])
    age(service, 120.0)
    service.executor.commit([Expire(1, 1)])
    (answer,) = service.executor.commit([AddReward(one[1]["id"], 3.0)])
    assert answer["status"] == "late"
    ((state, again),) = states_and_replays(service)
    assert state == again
    assert '"received":0' in state
    assert '"pending":[0,0,0]' in state


def test_retention_deletes_subjects_by_age(api: Api) -> None:
    api.create(retention_days=30.0)
    api.decide("old")
    age(api.service, 31 * 86_400.0)
    api.decide("new")
    assert run_jobs(api) == 1
    assert api.client.get("/v1/experiments/shop/subjects/old").status_code == 404
    assert api.count("decisions") == 1
    assert api.decide("old")["round"] == 1


def test_32_clients_on_sqlite_are_never_told_that_it_is_locked(sqlite_url: str) -> None:
    for api in running(settings_for(sqlite_url)):
        api.create()

        def visit(number: int, url: str = str(api.client.base_url)) -> list[int]:
            statuses = []
            with httpx.Client(base_url=url, timeout=120.0) as client:
                for _ in range(5):
                    path = "/v1/experiments/shop/decisions"
                    answer = client.post(path, json={"subject": f"visitor {number}"})
                    statuses.append(answer.status_code)
                    reward = f"/v1/decisions/{answer.json()['id']}/reward"
                    statuses.append(client.put(reward, json={"reward": 1.0}).status_code)
            return statuses

        with ThreadPoolExecutor(32) as pool:
            told = Counter(status for statuses in pool.map(visit, range(32)) for status in statuses)
        assert told == {201: 160, 200: 160}
        assert api.count("decisions") == 160


def test_a_decision_that_nobody_waits_for_is_not_stored(service: Service) -> None:
    create(service)
    given_up = iter([{1}, set()])
    first, second, third = service.executor.commit(
        [Decide("shop", name) for name in ("ana", "bea", "cleo")], lambda _places: next(given_up)
    )
    assert first[1]["subject"] == "ana"
    assert second.status == 503
    assert third[1]["subject"] == "cleo"
    with service.database.read() as connection:
        names = connection.execute(select(tables.subjects.c.name)).scalars().all()
    assert sorted(names) == ["ana", "cleo"]


def test_a_remembered_subject_that_another_replica_deleted_is_made_anew(service: Service) -> None:
    create(service)
    service.executor.commit([Decide("shop", "ana")])
    with service.database.write() as connection:
        connection.execute(text("DELETE FROM decisions"))
        connection.execute(text("DELETE FROM subjects"))
    (again,) = service.executor.commit([Decide("shop", "ana")])
    assert again[1]["round"] == 1


def test_a_refused_first_decision_makes_nobody(service: Service) -> None:
    create(service)
    wrong, right = service.executor.commit(
        [Decide("shop", "ana", ("x",)), Decide("shop", "bea", ("a",))]
    )
    assert "'x'" in str(wrong)
    assert right[1]["arm"] == "a"
    with service.database.read() as connection:
        names = connection.execute(select(tables.subjects.c.name)).scalars().all()
    assert names == ["bea"]
