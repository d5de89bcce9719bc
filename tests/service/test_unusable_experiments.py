"""An experiment that this version cannot serve says so, and why, to whoever asks or uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

from structuredbandits.client import AsyncClient, Client
from structuredbandits.errors import Conflict, Unusable
from tests.service.conftest import Api, running, settings_for
from tests.service.test_experiments import code

BROKEN = {
    "policy = 'ts-old'": "'ts-old'",
    "settings = '{\"colour\": 1}'": "its settings cannot be read",
}


@pytest.fixture(params=BROKEN)
def served(lite: Api, request: pytest.FixtureRequest) -> Iterator[tuple[Api, dict[str, Any], str]]:
    """Another service on a database with an experiment of another version; one of its decisions."""
    lite.create("good")
    lite.create("bad")
    decision = lite.decide("ana", "bad")
    with lite.service.database.write() as connection:
        change = f"UPDATE experiments SET {request.param}, revision = revision + 1 WHERE id = 'bad'"
        connection.execute(text(change))
    for other in running(settings_for(lite.service.settings.database)):
        yield other, decision, BROKEN[request.param]


def test_an_unusable_experiment_is_told_with_its_reason(
    served: tuple[Api, dict[str, Any], str],
) -> None:
    api, _, why = served
    listed = api.client.get("/v1/experiments").json()["experiments"]
    alone = [api.client.get(f"/v1/experiments/{one['id']}").json() for one in listed]
    assert listed == alone
    good, bad = listed
    assert (good["state"], good["reason"]) == ("running", None)
    assert bad["state"] == "unusable"
    assert bad["reason"].startswith("experiment 'bad' cannot be served: ")
    assert why in bad["reason"]
    assert bad["reason"].endswith("Use the version of the library that created it.")
    assert good.keys() == bad.keys()
    assert code(api.client.get("/v1/experiments/nothing")) == (404, "unknown_experiment")


def test_the_client_says_clearly_that_it_cannot_be_used(
    served: tuple[Api, dict[str, Any], str],
) -> None:
    api, decision, why = served
    url = str(api.client.base_url)
    with Client(url) as client:
        told = client.experiment("bad")
        assert told.state == "unusable"
        assert told.reason is not None
        assert why in told.reason
        assert client.decide("good", "ana").arm
        for call in (
            lambda: client.decide("bad", "bea"),
            lambda: client.reward(decision["id"], 1.0),
            lambda: client.subject("bad", "ana"),
            lambda: client.summary("bad"),
        ):
            with pytest.raises(Unusable, match="experiment 'bad' cannot be served") as refused:
                call()
            assert why in str(refused.value)
            assert isinstance(refused.value, Conflict)
            assert (refused.value.status, refused.value.code) == (409, "experiment_unusable")
        (one,) = client.reward_many([(decision["id"], 1.0)])
        assert isinstance(one, Unusable)

    async def ask() -> None:
        async with AsyncClient(url) as client:
            await client.decide("bad", "bea")

    with pytest.raises(Unusable, match="cannot be served"):
        asyncio.run(ask())
