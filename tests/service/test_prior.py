"""Decisions of the prior, while the database is unavailable: by the same rules as all others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.conftest import Api, locked_by_another
from tests.service.test_experiments import code

PATH = "/v1/experiments/shop/decisions"


@pytest.fixture
def away(lite: Api) -> Iterator[Api]:
    """A service with two experiments whose database does not answer; one is paused."""
    lite.create(on_database_failure="prior")
    lite.create("paused", on_database_failure="prior")
    lite.client.post("/v1/experiments/shop/arms/3/retire")
    assert lite.client.patch("/v1/experiments/paused", json={"state": "paused"}).status_code == 200
    object.__setattr__(lite.service.settings, "request_seconds", 0.2)
    with locked_by_another(lite.service.settings.database):
        yield lite
    object.__setattr__(lite.service.settings, "request_seconds", 30.0)


def test_rules_hold_while_the_database_is_away(away: Api) -> None:
    # Paused just now, and not asked for since.
    asked = away.client.post("/v1/experiments/paused/decisions", json={"subject": "ana"})
    assert code(asked) == (409, "paused")
    batch = [
        {"subject": "ana"},
        {"subject": "ana", "arms": ["nothing"]},
        {"subject": "ana", "arms": ["3"]},
    ]
    told = away.client.post(f"{PATH}/batch", json={"decisions": batch}).json()["decisions"]
    assert told[0]["stored"] is False
    assert told[0]["probabilities"]["3"] == 0.0
    assert told[1]["error"]["code"] == "unknown_arm"
    assert told[2]["error"]["code"] == "no_arm_left"
    text = away.client.get("/metrics").text
    assert 'structuredbandits_decisions_total{experiment="shop",kind="prior"} 1.0' in text


def test_the_same_key_gives_the_same_arm_and_others_do_not(away: Api) -> None:
    # 1 and 2 have equal chances: that 20 keys give one arm happens once in 500,000 runs.
    batch = [{"subject": "ana", "key": f"order-{number}"} for number in range(20)]
    first, second = (
        away.client.post(f"{PATH}/batch", json={"decisions": batch}).json()["decisions"]
        for _ in range(2)
    )
    assert {one["probability"] for one in first} == {0.5}
    assert {one["arm"] for one in first} == {"1", "2"}
    assert [one["arm"] for one in second] == [one["arm"] for one in first]
    headers = {"Idempotency-Key": "order-7"}
    alone = away.client.post(PATH, json={"subject": "ana"}, headers=headers)
    assert alone.json()["arm"] == first[7]["arm"]
