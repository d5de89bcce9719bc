"""Orders share a transaction, but not their mistakes: each is refused by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import OperationalError

from structuredbandits.service import sitting
from structuredbandits.service.decisions import Desk
from structuredbandits.service.orders import Decide, Expire, Reward
from structuredbandits.service.runtime import Service
from structuredbandits.service.storage import tables
from tests.service.conftest import Api, running, settings_for
from tests.service.test_experiments import code
from tests.service.test_guarantees import create


@pytest.fixture
def service(sqlite_url: str) -> Iterator[Service]:
    """A service without HTTP."""
    made = Service(settings_for(sqlite_url))
    create(made)
    yield made
    made.close()


def names(service: Service) -> list[str]:
    with service.database.read() as connection:
        found = connection.execute(select(tables.subjects.c.name).order_by(tables.subjects.c.name))
        return list(found.scalars())


def test_a_reward_that_the_policy_cannot_use_is_refused_alone(api: Api) -> None:
    api.create("beta", "ts-beta")
    api.create("shop")
    ana, bea, cleo = api.decide("ana", "beta"), api.decide("bea", "beta"), api.decide("cleo")
    rewards = [(ana, 1.0), (bea, 5.0), (cleo, 2.0)]
    body = {"rewards": [{"decision": one["id"], "reward": value} for one, value in rewards]}
    first, wrong, third = api.client.post("/v1/rewards", json=body).json()["rewards"]
    assert first["counted"]
    assert third["counted"]
    assert wrong["error"]["code"] == "invalid_reward"
    assert wrong["error"]["status"] == 422
    refused, decided = api.service.desk.commit([Reward(bea["id"], 5.0), Decide("shop", "dora")])
    assert "between 0 and 1" in str(refused)
    assert decided[1]["subject"] == "dora"
    assert code(api.reward(bea, 5.0)) == (422, "invalid_reward")
    assert api.reward(bea, 0.5).json()["repeated"] is False


@pytest.mark.parametrize("broken", ["policy = 'ts-old'", "settings = '{\"colour\": 1}'"])
def test_an_experiment_that_cannot_be_loaded_refuses_only_its_own(api: Api, broken: str) -> None:
    api.create("good")
    api.create("bad", reward_deadline_seconds=1e-3)
    known = api.decide("old", "bad")
    url = api.service.settings.database
    with api.service.database.write() as connection:
        connection.execute(
            text(f"UPDATE experiments SET {broken}, revision = revision + 1 WHERE id = 'bad'")
        )
    for other in running(settings_for(url)):  # it starts, although it cannot load one
        results = other.service.desk.commit(
            [
                Decide("good", "ana"),
                Decide("bad", "bea"),
                Decide("bad", "old"),
                Reward(known["id"], 1.0),
                Expire(1, 1),
                Decide("good", "cleo"),
            ]
        )
        assert [results[place][1]["subject"] for place in (0, -1)] == ["ana", "cleo"]
        assert {results[place].code for place in (1, 2, 3)} == {"experiment_unusable"}
        assert "bea" not in names(other.service)
        listed = other.client.get("/v1/experiments").json()["experiments"]
        assert {one["id"]: one["state"] for one in listed} == {"good": "running", "bad": "unusable"}
        asked = other.client.post("/v1/experiments/bad/decisions", json={"subject": "ana"})
        assert code(asked) == (409, "experiment_unusable")


def stumble_at(monkeypatch: pytest.MonkeyPatch, value: float) -> None:
    """Let one reward meet a mistake of ours."""
    honest = sitting.take_reward

    def take(*given: Any) -> Any:
        if given[-1].value == value:
            raise ZeroDivisionError
        return honest(*given)

    monkeypatch.setattr(sitting, "take_reward", take)


def test_a_mistake_of_ours_in_one_order_is_answered_to_it_alone(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = service.desk.commit([Decide("shop", "ana")])
    stumble_at(monkeypatch, 7.0)
    first, wrong, last = service.desk.commit(
        [Decide("shop", "bea"), Reward(one[1]["id"], 7.0), Decide("shop", "cleo")]
    )
    assert (first[1]["subject"], last[1]["subject"]) == ("bea", "cleo")
    assert wrong.status == 503
    assert "ZeroDivisionError" in wrong.message
    assert names(service) == ["ana", "bea", "cleo"]


def test_what_is_given_up_is_not_done_one_by_one_either(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = service.desk.commit([Decide("shop", "ana")])
    stumble_at(monkeypatch, 7.0)
    sealed: list[int] = []

    def seal(places: Sequence[int]) -> Set[int]:
        gone = {place for place in places if place == 2}
        sealed.extend(place for place in places if not gone)
        return gone

    results = service.desk.commit(
        [Reward(one[1]["id"], 7.0), Decide("shop", "bea"), Decide("shop", "cleo")], seal
    )
    assert [getattr(one, "status", None) for one in results] == [503, None, 503]
    assert names(service) == ["ana", "bea"]
    assert sealed == [1]


def test_when_the_database_goes_away_meanwhile_the_rest_is_refused_at_once(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, tried = Desk._try, []

    def attempt(desk: Desk, orders: Any, places: Sequence[int], seal: Any) -> Any:
        tried.append(list(places))
        if len(places) > 1:
            raise ZeroDivisionError
        if places[0] == 1:
            raise OperationalError("SELECT", {}, ConnectionError())
        return honest(desk, orders, places, seal)

    monkeypatch.setattr(Desk, "_try", attempt)
    results = service.desk.commit([Decide("shop", name) for name in ("ana", "bea", "cleo")])
    assert results[0][1]["subject"] == "ana"
    assert [one.status for one in results[1:]] == [503, 503]
    assert tried == [[0, 1, 2], [0], [1]]
    assert names(service) == ["ana"]
