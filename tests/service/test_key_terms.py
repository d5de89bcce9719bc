"""Keys that expire, are rotated, have a rate, and say when they were used and by whom created."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from structuredbandits.cli.main import run
from structuredbandits.service.security import api_keys, key_cache
from structuredbandits.service.storage.database import now
from tests.service.conftest import Api, running, settings_for
from tests.service.test_experiments import code
from tests.service.test_key_cache import new_key

HOUR = 3_600 * 1_000_000


class WallClock:
    """The time of day as keys see it."""

    def __init__(self) -> None:
        self.ahead = 0

    def now(self) -> int:
        return now() + self.ahead


@pytest.fixture
def wall_clock(monkeypatch: pytest.MonkeyPatch) -> WallClock:
    made = WallClock()
    for module in (key_cache, api_keys):
        monkeypatch.setattr(module, "now", made.now)
    return made


@pytest.fixture
def guarded(database_url: str) -> Iterator[Api]:
    """A service that asks for keys; the client has one that opens everything."""
    for api in running(settings_for(database_url, insecure=False)):
        api.client.headers.update(new_key(api, "admin"))
        yield api


def make(api: Api, **terms: Any) -> dict[str, Any]:
    answer = api.client.post("/v1/keys", json={"scopes": ["read"]} | terms)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def ask(api: Api, key: dict[str, Any]) -> Any:
    return api.client.get("/v1/experiments", headers={"Authorization": f"Bearer {key['key']}"})


def listed(api: Api, key: dict[str, Any]) -> dict[str, Any]:
    keys = {one["id"]: one for one in api.client.get("/v1/keys").json()["keys"]}
    return dict(keys[key["id"]])


def test_a_key_expires_by_itself(guarded: Api, wall_clock: WallClock) -> None:
    key = make(guarded, expires_days=1)
    assert key["expires"] > key["created"]
    assert ask(guarded, key).status_code == 200
    wall_clock.ahead = 25 * HOUR
    assert code(ask(guarded, key)) == (401, "unknown_key")  # also while it is cached
    assert "expired" in ask(guarded, key).json()["error"]["message"]
    assert guarded.client.get("/v1/keys").status_code == 200  # others do not expire


def test_a_rotated_key_and_its_successor_work_for_a_while(
    guarded: Api, wall_clock: WallClock
) -> None:
    terms = {"expires_days": 10, "requests_per_minute": 100, "label": "reports"}
    key = make(guarded, **terms)
    path = f"/v1/keys/{key['id']}/rotate"
    successor = guarded.client.post(path, json={"overlap_hours": 2}).json()
    assert successor["id"] != key["id"]
    for name in ("scopes", "experiment", "label", "requests_per_minute"):
        assert successor[name] == key[name]
    assert successor["expires"] >= key["expires"]
    assert ask(guarded, key).status_code == ask(guarded, successor).status_code == 200
    wall_clock.ahead = 3 * HOUR
    assert code(ask(guarded, key)) == (401, "unknown_key")
    assert ask(guarded, successor).status_code == 200
    assert code(guarded.client.post(path)) == (422, "invalid_input")  # it has expired
    assert code(guarded.client.post("/v1/keys/000000000000/rotate")) == (422, "invalid_input")


def test_a_key_has_a_rate_in_which_each_item_of_a_batch_counts(guarded: Api) -> None:
    guarded.create()
    key = make(guarded, scopes=["decide", "read"], requests_per_minute=5)
    other = make(guarded, requests_per_minute=5)
    header = {"Authorization": f"Bearer {key['key']}"}
    body = {"decisions": [{"subject": f"visitor {n}"} for n in range(5)]}
    path = "/v1/experiments/shop/decisions/batch"
    assert guarded.client.post(path, json=body, headers=header).status_code == 200
    refused = ask(guarded, key)
    assert code(refused) == (429, "rate_limit")
    assert int(refused.headers["Retry-After"]) >= 1
    assert code(guarded.client.post(path, json=body, headers=header)) == (429, "rate_limit")
    assert guarded.count("decisions") == 5
    assert ask(guarded, other).status_code == 200


def test_the_last_use_of_a_key_is_stored(guarded: Api) -> None:
    key, unused = make(guarded), make(guarded)
    assert ask(guarded, key).status_code == 200
    asyncio.run(guarded.service.scheduler.round())
    assert listed(guarded, unused)["last_used"] is None
    first = listed(guarded, key)["last_used"]
    assert first > key["created"]
    ask(guarded, key)
    asyncio.run(guarded.service.scheduler.round())  # not again within a minute
    assert listed(guarded, key)["last_used"] == first


def lines(api: Api, query: str = "") -> list[dict[str, Any]]:
    return list(api.client.get(f"/v1/audit{query}").json()["lines"])


def test_the_audit_log_says_which_key_created_and_revoked_keys(guarded: Api) -> None:
    admin = guarded.client.headers["Authorization"].split("_")[1]
    guarded.create()
    key = make(guarded, experiment="shop", scopes=["admin"])
    successor = guarded.client.post(f"/v1/keys/{key['id']}/rotate").json()
    guarded.client.delete(f"/v1/keys/{key['id']}")
    found = lines(guarded)
    assert [(one["action"], one["key"], one["experiment"]) for one in found] == [
        ("create key", None, None),  # on the command line
        ("create", admin, "shop"),
        ("create key", admin, "shop"),
        ("rotate key", admin, "shop"),
        ("revoke key", admin, "shop"),
    ]
    assert found[2]["detail"] == {"id": key["id"], "scopes": ["admin"]}
    assert found[3]["detail"]["successor"] == successor["id"]
    # A key for one experiment reads the lines of this experiment.
    header = {"Authorization": f"Bearer {successor['key']}"}
    mine = guarded.client.get("/v1/audit", headers=header)
    assert mine.json()["lines"] == found[1:]
    foreign = guarded.client.get("/v1/audit?experiment=news", headers=header)
    assert code(foreign) == (404, "unknown_experiment")
    reader = make(guarded)
    header = {"Authorization": f"Bearer {reader['key']}"}
    assert code(guarded.client.get("/v1/audit", headers=header)) == (403, "scope_missing")


def test_the_audit_log_is_read_page_by_page_and_names_subjects(guarded: Api) -> None:
    guarded.create()
    decision = guarded.decide("ana")
    guarded.reward(decision, 1.0)
    path = f"/v1/decisions/{decision['id']}/corrections"
    guarded.client.post(path, json={"reward": 0.5, "reason": "typed wrongly"})
    whole = lines(guarded)
    assert whole[-1]["subject"] == "ana"
    assert whole[-1]["detail"]["reason"] == "typed wrongly"
    paged, after = [], 0
    while after is not None:
        page = guarded.client.get(f"/v1/audit?limit=1&after={after}").json()
        paged, after = paged + page["lines"], page["next"]
    assert paged == whole
    assert [one["action"] for one in lines(guarded, "?experiment=shop")] == ["create", "correction"]
    guarded.client.delete("/v1/experiments/shop/subjects/ana")
    assert "ana" not in json.dumps(lines(guarded))


def test_keys_and_audit_on_the_command_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    db = ("--db", str(tmp_path / "a.db"))

    def call(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        ended = run([*arguments, *db])
        return ended, "".join(capsys.readouterr())

    assert "does not exist" in call("audit")[1]
    made = call("keys", "create", "--expires-days", "30", "--per-minute", "600")[1]
    number = made.split("_")[1]
    ended, successor = call("keys", "rotate", number, "--overlap-hours", "1")
    assert ended == 0
    assert successor.startswith("sb_")
    assert "expires" in call("keys", "list")[1]
    assert "rotate key" in call("audit")[1]
    exported = [
        json.loads(line) for line in call("audit", "--json", "--after", "1")[1].splitlines()
    ]
    assert [one["action"] for one in exported] == ["rotate key"]
    assert exported[0]["detail"]["id"] == number
    for wrong, sentence in [
        (("keys", "create", "--expires-days", "0"), "expires after 0 days"),
        (("keys", "create", "--per-minute", "0"), "allows 0 requests per minute"),
        (("keys", "rotate", "x"), "no key 'x'"),
    ]:
        ended, told = call(*wrong)
        assert (ended, sentence in told) == (2, True), told


def test_keys_of_an_older_service_have_no_terms(guarded: Api) -> None:
    """A replica of an earlier version writes rows without the new columns."""
    key = make(guarded)
    with guarded.service.database.write() as connection:
        columns = "expires = NULL, per_minute = NULL, used = NULL"
        connection.execute(text(f"UPDATE keys SET {columns} WHERE id = :id"), {"id": key["id"]})
    assert ask(guarded, key).status_code == 200
    shown = listed(guarded, key)
    assert (shown["expires"], shown["requests_per_minute"]) == (None, None)
