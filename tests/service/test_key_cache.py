"""How long a key is believed without asking the database, and while it does not answer."""

from __future__ import annotations

import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from structuredbandits.service.security import key_cache
from structuredbandits.service.security.api_keys import create_key
from tests.service.conftest import Api, running, settings_for
from tests.service.test_experiments import code


class Clock:
    """The time as keys see it."""

    def __init__(self) -> None:
        self.seconds = 1e6

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(key_cache, "time", types.SimpleNamespace(monotonic=made.monotonic))
    return made


@pytest.fixture
def guarded(sqlite_url: str) -> Iterator[Api]:
    """A service that asks for keys."""
    yield from running(settings_for(sqlite_url, insecure=False))


def new_key(api: Api, *scopes: str) -> dict[str, str]:
    """The header with a new key."""
    with api.service.database.write() as connection:
        return {"Authorization": f"Bearer {create_key(connection, scopes)[0]}"}


def revoke(api: Api, header: dict[str, str], admin: dict[str, str]) -> None:
    path = f"/v1/keys/{header['Authorization'].split('_')[1]}"
    assert api.client.delete(path, headers=admin).status_code == 200


def test_a_revoked_key_works_for_as_long_as_keys_are_believed_and_no_longer(
    guarded: Api, clock: Clock
) -> None:
    admin, read = new_key(guarded, "admin"), new_key(guarded, "read")

    def ask() -> Any:
        return guarded.client.get("/v1/experiments", headers=read)

    assert ask().status_code == 200
    revoke(guarded, read, admin)
    clock.seconds += guarded.service.settings.key_seconds - 0.01
    assert ask().status_code == 200
    clock.seconds += 0.01
    for _ in range(2):
        assert code(ask()) == (401, "unknown_key")


def test_while_the_database_does_not_answer_a_key_is_believed_for_a_bounded_time(
    guarded: Api, clock: Clock, sqlite_url: str
) -> None:
    admin, decide = new_key(guarded, "admin"), new_key(guarded, "decide")
    body = {
        "id": "shop",
        "structure": {"problem": "three-arms"},
        "policy": "ts-c",
        "settings": {"on_database_failure": "prior"},
    }
    assert guarded.client.post("/v1/experiments", json=body, headers=admin).status_code == 201

    def ask(header: dict[str, str] = decide) -> Any:
        path = "/v1/experiments/shop/decisions"
        return guarded.client.post(path, json={"subject": "ana"}, headers=header)

    assert ask().json()["stored"] is True
    revoke(guarded, decide, admin)
    settings = guarded.service.settings
    folder = Path(sqlite_url).parent
    guarded.service.database.close()  # no connection is open any more, and none can be made
    for file in folder.glob("service.db*"):
        file.rename(folder / f"away-{file.name}")
    Path(sqlite_url).mkdir()
    for _ in range(3):  # asking does not make it any younger
        clock.seconds += settings.key_outage_seconds / 3 - 0.1
        assert ask().json()["stored"] is False
    clock.seconds += 1.0
    for _ in range(2):
        refused = ask()
        assert code(refused) == (503, "unavailable")  # not a 401: nobody knows
        assert int(refused.headers["Retry-After"]) >= 1
    Path(sqlite_url).rmdir()
    for file in folder.glob("away-*"):
        file.rename(folder / file.name.removeprefix("away-"))
    clock.seconds += settings.key_seconds
    assert code(ask()) == (401, "unknown_key")
    assert ask(admin).json()["stored"] is True
