"""What is repeated, reused or deleted: who is made, what is counted, what is left."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import select

from structuredbandits.service.decisions.commands import Decide
from structuredbandits.service.storage import tables
from tests.service.conftest import Api
from tests.service.test_experiments import code
from tests.service.test_guarantees import age, states_and_replays


def subjects(api: Api) -> list[str]:
    listed = api.client.get("/v1/experiments/shop/subjects").json()["subjects"]
    return [one["subject"] for one in listed]


def test_a_key_that_was_used_makes_nobody(api: Api) -> None:
    api.create()
    path, headers = "/v1/experiments/shop/decisions", {"Idempotency-Key": "order-1"}
    assert api.client.post(path, json={"subject": "ana"}, headers=headers).status_code == 201
    reused = api.client.post(path, json={"subject": "stranger"}, headers=headers)
    assert code(reused) == (409, "key_reused")
    # Also if both come at once, in one transaction.
    first, second, third = api.service.executor.commit(
        [
            Decide("shop", "bea", None, "order-2"),
            Decide("shop", "nobody", None, "order-2"),
            Decide("shop", "bea", None, "order-2"),
        ]
    )
    assert (first[0], third[0]) == (True, False)
    assert first[1] == third[1]
    assert second.code == "key_reused"
    assert subjects(api) == ["ana", "bea"]


def correct(api: Api, decision: dict[str, Any], value: float) -> None:
    path = f"/v1/decisions/{decision['id']}/corrections"
    answer = api.client.post(path, json={"reward": value, "reason": "typing"})
    assert answer.status_code == 200, answer.text


def test_what_was_sent_before_a_correction_may_be_sent_again(api: Api) -> None:
    api.create(reward_deadline_seconds=3600.0)
    other, decision, late = api.decide(), api.decide(), api.decide()
    api.reward(other, 1.0)
    api.reward(decision, 4.0)
    for value in (3.0, 2.0):
        correct(api, decision, value)
    correct(api, other, 4.5)
    for sent in (4.0, 2.0):  # what was first given, and what counts now
        answer = api.reward(decision, sent)
        assert answer.status_code == 200
        assert answer.json()["reward"] == 2.0
        assert answer.json()["repeated"] is True
    for sent in (3.0, 1.0, 4.5):  # nobody ever sent these as its reward
        assert code(api.reward(decision, sent)) == (409, "reward_differs")
    age(api.service, 7200.0)
    assert api.reward(late, 5.0).json()["status"] == "late"
    correct(api, late, 6.0)
    assert api.reward(late, 5.0).json()["reward"] == 6.0
    assert code(api.reward(late, 7.0)) == (409, "reward_differs")
    for state, again in states_and_replays(api.service):
        assert state == again
    assert api.client.get("/v1/experiments/shop/subjects/ana").json()["received"] == 3


def test_metrics_count_what_was_stored(lite: Api) -> None:
    lite.create("beta", "ts-beta")
    path = "/v1/experiments/beta/decisions"
    batch = [
        {"subject": "ana", "key": "1"},
        {"subject": "ana", "key": "1"},
        {"subject": "bea", "key": "1"},
        {"subject": "bea", "arms": ["nothing"]},
        {"subject": "cleo"},
    ]
    told = lite.client.post(f"{path}/batch", json={"decisions": batch}).json()["decisions"]
    lite.client.post(path, json={"subject": "ana"}, headers={"Idempotency-Key": "1"})
    lite.client.post(path, json={"subject": "ana", "arms": ["nothing"]})
    sent = [(told[0], 1.0), (told[0], 1.0), (told[4], 5.0)]
    rewards = [{"decision": one["id"], "reward": value} for one, value in sent]
    lite.client.post("/v1/rewards", json={"rewards": rewards})
    lite.reward(told[0], 1.0)
    lite.reward(told[4], 0.0)
    assert lite.count("decisions") == 2
    text = lite.client.get("/metrics").text
    lines = {line for line in text.splitlines() if "_total" in line and "requests" not in line}
    counts = {line for line in lines if not line.startswith(("#", "process_"))}
    assert counts == {
        "structuredbandits_transactions_failed_total 0.0",
        'structuredbandits_decisions_total{experiment="beta",kind="stored"} 2.0',
        'structuredbandits_rewards_total{status="counted"} 2.0',
    }


def test_nothing_of_a_deleted_subject_is_left_in_the_audit(api: Api) -> None:
    api.create()
    ana, bea = api.decide("ana"), api.decide("bea")
    for decision, value in ((ana, 1.0), (bea, 2.0)):
        api.reward(decision, value)
        correct(api, decision, 3.0)
    assert api.client.delete("/v1/experiments/shop/subjects/ana").status_code == 204
    with api.service.database.read() as connection:
        lines = connection.execute(select(tables.audit).order_by(tables.audit.c.number)).all()
        number = connection.execute(
            select(tables.subjects.c.number).where(tables.subjects.c.name == "bea")
        ).scalar_one()
    assert [(line.action, line.subject) for line in lines] == [
        ("create", None),
        ("correction", number),
        ("delete subject", None),
    ]
    assert json.loads(lines[-1].detail) == {}
    assert "ana" not in "".join(line.detail for line in lines)


@pytest.mark.parametrize("floor", [0.06, 0.3])
def test_no_arm_is_shown_less_often_than_the_floor_says(lite: Api, floor: float) -> None:
    for name, given in (("shop", floor), ("greedy", 0.0)):
        lite.create(name, floor=given)
        path = f"/v1/experiments/{name}/decisions/batch"
        for _ in range(2):  # 300 rewards that leave no doubt which arm is the best
            asked = {"decisions": [{"subject": "ana", "arms": [arm]} for arm in "123"] * 50}
            made = lite.client.post(path, json=asked).json()["decisions"]
            means = {"1": 2.0, "2": 1.0, "3": 0.0}
            told = [{"decision": one["id"], "reward": means[one["arm"]]} for one in made]
            lite.client.post("/v1/rewards", json={"rewards": told})
    greedy = lite.decide("ana", "greedy")["probabilities"]
    assert min(greedy.values()) < 0.01
    shown = lite.decide("ana")["probabilities"]
    assert min(shown.values()) == pytest.approx(floor / 3, abs=0.01 / 3)
    assert shown == pytest.approx(
        {arm: (1.0 - floor) * share + floor / 3 for arm, share in greedy.items()}
    )
    two = lite.decide("ana", arms=["2", "3"])["probabilities"]
    assert min(two["2"], two["3"]) >= floor / 2
    assert two["1"] == 0.0
