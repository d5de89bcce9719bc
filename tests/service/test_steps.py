"""The steps of a subject show what was plausible at each decision, in the log's own order."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from structuredbandits.service.decisions import transaction
from structuredbandits.service.decisions.commands import AddReward, Decide
from tests.service.conftest import Api

HOUR = 3_600_000_000


def shown(api: Api, **query: Any) -> list[int]:
    """How many θ each step says were plausible."""
    answer = api.client.get("/v1/experiments/shop/subjects/ana/steps", params=query)
    assert answer.status_code == 200, answer.text
    return [step["plausible"]["count"] for step in answer.json()["steps"]]


def stored(api: Api) -> list[int]:
    """How many were, as each decision noted when it was made."""
    with api.service.database.read() as connection:
        return list(
            connection.execute(text("SELECT plausible FROM decisions ORDER BY round")).scalars()
        )


def correct(api: Api, decision: dict[str, Any], value: float) -> None:
    path = f"/v1/decisions/{decision['id']}/corrections"
    answer = api.client.post(path, json={"reward": value, "reason": "typed wrongly"})
    assert answer.status_code == 200, answer.text


def test_a_correction_does_not_change_what_was_plausible_before_it(api: Api) -> None:
    api.create()
    decisions = []
    for _ in range(4):
        decisions.append(api.decide(arms=["1"]))
        api.reward(decisions[-1], 2.0)
    before = shown(api)
    correct(api, decisions[0], 50.0)
    assert shown(api) == before == stored(api)
    api.reward(api.decide(arms=["1"]), 2.0)
    correct(api, decisions[0], 2.0)
    correct(api, decisions[1], 3.0)
    api.decide(arms=["1"])
    assert shown(api) == stored(api)
    assert stored(api)[4] == 0  # nothing explains a reward of 50
    assert stored(api)[5] > 0
    assert shown(api, after=3, limit=2) == stored(api)[3:5]


def test_a_decision_before_a_reward_of_the_same_transaction_does_not_know_it(api: Api) -> None:
    api.create()
    decision = api.decide()
    for _ in range(3):
        commands = [Decide("shop", "ana"), AddReward(decision["id"], 30.0)]
        ((_, decision), _told) = api.service.executor.commit(commands)
    assert shown(api) == stored(api)
    assert stored(api)[:2] == [601, 601]


def test_clocks_of_replicas_do_not_order_the_log(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.create()
    right = transaction.now
    for behind in (-HOUR, HOUR, 0, -2 * HOUR):
        decision = api.decide()
        monkeypatch.setattr(transaction, "now", lambda behind=behind: right() + behind)
        api.reward(decision, 50.0)
        monkeypatch.setattr(transaction, "now", right)
    api.decide()
    assert shown(api) == stored(api)
    assert stored(api) == [601, 0, 0, 0, 0]


def test_a_default_that_is_corrected_counts_from_then_on(api: Api) -> None:
    api.create(reward_deadline_seconds=1e-6)
    decisions = [api.decide(), api.decide()]
    api.decide()
    correct(api, decisions[0], 30.0)  # its deadline had passed without a default
    api.decide()
    correct(api, decisions[1], 2.0)
    api.decide()
    assert shown(api) == stored(api)
    assert stored(api)[:3] == [601, 601, 601]
    assert stored(api)[3] < 601
