"""Invented keys: they share look-ups, and cost nobody else a read or a key's revocation."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import pytest
from sqlalchemy import event

from structuredbandits.service.errors import RequestError
from structuredbandits.service.security import key_lookups
from structuredbandits.service.security.key_lookups import FoundKey, KeyLookups
from tests.service.conftest import Api, running, settings_for
from tests.service.test_experiments import code
from tests.service.test_key_cache import Clock, clock, new_key, revoke

__all__ = ["clock"]  # a fixture
STRANGERS = 300


def invented() -> dict[str, str]:
    """The header with a key that nobody created."""
    return {"Authorization": f"Bearer sb_{secrets.token_hex(6)}_{secrets.token_urlsafe(32)}"}


class SlowKeys:
    """Keys whose first look-up takes as long as a test wants."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.begun, self.end = threading.Event(), threading.Event()

    def read(self, numbers: Sequence[str]) -> dict[str, FoundKey]:
        self.batches.append(list(numbers))
        self.begun.set()
        assert self.end.wait(120.0)
        return {}


def test_all_keys_that_arrive_during_a_look_up_share_the_next() -> None:
    slow = SlowKeys()
    lookups = KeyLookups(slow.read, 120.0)

    async def ask() -> None:
        first = asyncio.ensure_future(lookups.find("first", known=False))
        await asyncio.to_thread(slow.begun.wait, 120.0)
        asked = [lookups.find(f"{number}", known=False) for number in range(STRANGERS)]
        others = [asyncio.ensure_future(one) for one in (*asked, lookups.find("0", known=True))]
        await asyncio.sleep(0)
        slow.end.set()
        assert set(await asyncio.gather(first, *others)) == {None}

    asyncio.run(ask())
    lookups.close()
    assert [len(batch) for batch in slow.batches] == [1, STRANGERS]


def test_strangers_beyond_a_number_are_refused_and_known_keys_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(key_lookups, "STRANGERS_WAITING", 3)
    slow = SlowKeys()
    lookups = KeyLookups(slow.read, 120.0)

    async def ask() -> None:
        tasks = [asyncio.ensure_future(lookups.find("first", known=False))]
        await asyncio.to_thread(slow.begun.wait, 120.0)
        for number in range(3):
            tasks.append(asyncio.ensure_future(lookups.find(f"{number}", known=False)))
        await asyncio.sleep(0)
        with pytest.raises(RequestError) as refused:
            await lookups.find("stranger", known=False)
        assert refused.value.status == 429
        tasks.append(asyncio.ensure_future(lookups.find("ours", known=True)))
        await asyncio.sleep(0)
        slow.end.set()
        await asyncio.gather(*tasks)

    asyncio.run(ask())
    lookups.close()
    assert slow.batches[1] == ["0", "1", "2", "ours"]


@pytest.fixture
def guarded(sqlite_url: str) -> Iterator[Api]:
    """A service that asks for keys."""
    yield from running(settings_for(sqlite_url, insecure=False))


def test_an_invented_key_is_remembered_as_unknown(guarded: Api, clock: Clock) -> None:
    statements = []

    @event.listens_for(guarded.service.database.reading, "before_cursor_execute")
    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if "FROM keys" in statement:
            statements.append(statement)

    stranger = invented()

    def ask() -> tuple[int, str]:
        return code(guarded.client.get("/v1/experiments", headers=stranger))

    for _ in range(5):
        assert ask() == (401, "unknown_key")
    assert len(statements) == 1
    clock.seconds += guarded.service.settings.key_seconds
    assert ask() == (401, "unknown_key")
    assert len(statements) == 2
    admin = new_key(guarded, "admin")  # a new key works at once
    assert guarded.client.get("/v1/keys", headers=admin).status_code == 200


def test_a_revoked_key_ends_and_reads_are_answered_while_strangers_invent_keys(
    guarded: Api, clock: Clock
) -> None:
    """While all readers are busy a look-up of keys is not one of the reads that wait."""
    admin, read = new_key(guarded, "admin"), new_key(guarded, "read")

    def ask(header: dict[str, str]) -> Any:
        return guarded.client.get("/v1/experiments", headers=header)

    assert ask(read).status_code == ask(admin).status_code == 200
    revoke(guarded, read, admin)
    clock.seconds += guarded.service.settings.key_seconds
    service = guarded.service
    held = threading.Event()
    for _ in range(service.settings.readers):
        service._pool.submit(held.wait, 120.0)
    try:
        service._reads = 64  # as many as may wait
        assert code(ask(read)) == (401, "unknown_key")  # and not a 200, nor a 429
    finally:
        held.set()
        service._reads = 0

    async def invent() -> list[int]:
        url = guarded.client.base_url
        async with httpx.AsyncClient(base_url=url, timeout=600.0) as client:
            asked = [client.get("/v1/keys", headers=invented()) for _ in range(STRANGERS)]
            asked += [client.get("/v1/experiments", headers=admin) for _ in range(20)]
            return [answer.status_code for answer in await asyncio.gather(*asked)]

    statuses = asyncio.run(invent())
    assert statuses == [401] * STRANGERS + [200] * 20
