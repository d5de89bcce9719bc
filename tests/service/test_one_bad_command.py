"""Commands share a transaction, but not their mistakes: each is refused by itself."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import OperationalError

import structuredbandits as sb
from structuredbandits.service.decisions import transaction
from structuredbandits.service.decisions.commands import AddReward, Decide, Expire
from structuredbandits.service.decisions.group_commit import Executor
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
    refused, decided = api.service.executor.commit(
        [AddReward(bea["id"], 5.0), Decide("shop", "dora")]
    )
    assert "between 0 and 1" in str(refused)
    assert decided[1]["subject"] == "dora"
    assert code(api.reward(bea, 5.0)) == (422, "invalid_reward")
    assert api.reward(bea, 0.5).json()["repeated"] is False


def test_a_reward_that_cannot_be_is_refused_alone(api: Api, tmp_path: Path) -> None:
    """A million clicks, sent alone and in a batch."""
    rates = sb.Structure.from_table([[0.1, 0.2]], arms=["a", "b"], rewards="bernoulli")
    rates.save(tmp_path / "rates.structure")
    file = base64.b64encode((tmp_path / "rates.structure").read_bytes()).decode()
    body: dict[str, Any] = {"id": "clicks", "structure": {"file": file}, "policy": "ucb"}
    assert api.client.post("/v1/experiments", json=body).status_code == 201
    ana, bea = api.decide("ana", "clicks"), api.decide("bea", "clicks")
    assert code(api.reward(ana, 1e6)) == (422, "invalid_reward")
    pairs = [(ana, 0.5), (bea, 1.0)]
    batch = {"rewards": [{"decision": one["id"], "reward": value} for one, value in pairs]}
    wrong, good = api.client.post("/v1/rewards", json=batch).json()["rewards"]
    assert (wrong["error"]["status"], wrong["error"]["code"]) == (422, "invalid_reward")
    assert "is impossible: rewards of this structure are 0 or 1" in wrong["error"]["message"]
    assert good["counted"]
    assert api.reward(ana, 0.0).json()["counted"]
    settings = {"reward_deadline_seconds": 60, "default_reward": 0.5}
    late = api.client.post("/v1/experiments", json=body | {"id": "late", "settings": settings})
    assert late.status_code == 422


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
        results = other.service.executor.commit(
            [
                Decide("good", "ana"),
                Decide("bad", "bea"),
                Decide("bad", "old"),
                AddReward(known["id"], 1.0),
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
    honest = transaction.take_reward

    def take(*given: Any) -> Any:
        if given[-1].value == value:
            raise ZeroDivisionError
        return honest(*given)

    monkeypatch.setattr(transaction, "take_reward", take)


def test_a_mistake_of_ours_in_one_order_is_answered_to_it_alone(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = service.executor.commit([Decide("shop", "ana")])
    stumble_at(monkeypatch, 7.0)
    first, wrong, last = service.executor.commit(
        [Decide("shop", "bea"), AddReward(one[1]["id"], 7.0), Decide("shop", "cleo")]
    )
    assert (first[1]["subject"], last[1]["subject"]) == ("bea", "cleo")
    assert wrong.status == 503
    assert "ZeroDivisionError" in wrong.message
    assert names(service) == ["ana", "bea", "cleo"]


def test_what_is_given_up_is_not_done_one_by_one_either(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = service.executor.commit([Decide("shop", "ana")])
    stumble_at(monkeypatch, 7.0)
    sealed: list[int] = []

    def seal(places: Sequence[int]) -> Set[int]:
        gone = {place for place in places if place == 2}
        sealed.extend(place for place in places if not gone)
        return gone

    results = service.executor.commit(
        [AddReward(one[1]["id"], 7.0), Decide("shop", "bea"), Decide("shop", "cleo")], seal
    )
    assert [getattr(one, "status", None) for one in results] == [503, None, 503]
    assert names(service) == ["ana", "bea"]
    assert sealed == [1]


def test_when_the_database_goes_away_meanwhile_the_rest_is_refused_at_once(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, tried = Executor._try, []

    def attempt(desk: Executor, commands: Any, places: Sequence[int], seal: Any) -> Any:
        tried.append(list(places))
        if len(places) > 1:
            raise ZeroDivisionError
        if places[0] == 1:
            raise OperationalError("SELECT", {}, ConnectionError())
        return honest(desk, commands, places, seal)

    monkeypatch.setattr(Executor, "_try", attempt)
    results = service.executor.commit([Decide("shop", name) for name in ("ana", "bea", "cleo")])
    assert results[0][1]["subject"] == "ana"
    assert [one.status for one in results[1:]] == [503, 503]
    assert tried == [[0, 1, 2], [0], [1]]
    assert names(service) == ["ana"]
