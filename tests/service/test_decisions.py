"""Decisions and rewards through the API, on both databases."""

from __future__ import annotations

import pytest

from tests.service.conftest import Api


def test_a_decision_has_everything_that_explains_it(api: Api) -> None:
    api.create(floor=0.1)
    decision = api.decide()
    assert decision["round"] == 1
    assert decision["arm"] in ("1", "2", "3")
    assert decision["probability"] == decision["probabilities"][decision["arm"]]
    assert sum(decision["probabilities"].values()) == pytest.approx(1.0, abs=1e-12)
    assert decision["competitive_arms"] == ["1", "2", "3"]
    assert "601 of 601 parameters are plausible" in decision["why"]
    assert decision["stored"] is True
    assert "expires" not in decision


def test_the_same_key_gives_the_same_decision(api: Api) -> None:
    api.create()
    path, body = "/v1/experiments/shop/decisions", {"subject": "ana"}
    headers = {"Idempotency-Key": "order-1"}
    first = api.client.post(path, json=body, headers=headers)
    again = api.client.post(path, json=body, headers=headers)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    other = api.client.post(path, json={"subject": "bea"}, headers=headers)
    assert other.status_code == 409
    assert other.json()["error"]["code"] == "key_reused"
    narrower = api.client.post(path, json=body | {"arms": ["1"]}, headers=headers)
    assert narrower.status_code == 409
    assert api.count("decisions") == 1


def test_a_reward_counts_once(api: Api) -> None:
    api.create()
    decision = api.decide()
    answers = [api.reward(decision, 2.5) for _ in range(3)]
    assert [one.status_code for one in answers] == [200, 200, 200]
    assert [one.json()["repeated"] for one in answers] == [False, True, True]
    other = api.reward(decision, 3.0)
    assert other.status_code == 409
    assert other.json()["error"]["code"] == "reward_differs"
    known = api.client.get("/v1/experiments/shop/subjects/ana").json()
    assert known["received"] == 1
    assert known["arms"][decision["arm"]]["mean"] == 2.5
