"""The writer's thread: it answers everybody, whatever happens, and never ends by itself."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from structuredbandits.service.decisions.commands import Decide
from structuredbandits.service.decisions.group_commit import GroupCommit
from structuredbandits.service.errors import RequestError

COMMAND = Decide("shop", "ana")


@pytest.fixture
def made() -> Iterator[Callable[..., GroupCommit]]:
    started: list[GroupCommit] = []

    def make(commit: Any, **options: Any) -> GroupCommit:
        started.append(GroupCommit(commit, writers=1, queue_length=9, group_size=9, **options))
        return started[-1]

    yield make
    for one in started:
        one.close()


def test_a_writer_outlives_its_mistakes(made: Callable[..., GroupCommit]) -> None:
    results: list[Any] = [None, ["done"], ["done"]]

    def observe(size: int, seconds: float) -> None:
        raise ZeroDivisionError

    commits = made(lambda commands, seal: results.pop(0), observe=observe)
    with pytest.raises(RequestError, match="TypeError"):  # None is not a list of results
        asyncio.run(commits.do([COMMAND], 60.0))
    assert asyncio.run(commits.do([COMMAND], 60.0)) == ["done"]
    assert asyncio.run(commits.do([COMMAND], 60.0)) == ["done"]


def test_who_has_left_is_not_missed(
    made: Callable[..., GroupCommit], caplog: pytest.LogCaptureFixture
) -> None:
    go_on = threading.Event()

    def commit(commands: Any, seal: Any) -> Any:
        go_on.wait()
        if seal(range(len(commands))):
            raise ZeroDivisionError
        return ["done"]

    commits = made(commit)
    with pytest.raises(RequestError, match="longer than"):
        asyncio.run(commits.do([COMMAND], 0.01))  # its loop is closed when the answer comes
    go_on.set()
    assert asyncio.run(commits.do([COMMAND], 60.0)) == ["done"]

    async def leave_and_stay() -> list[Any]:
        go_on.clear()
        with pytest.raises(RequestError, match="longer than"):
            await commits.do([COMMAND], 0.01)
        go_on.set()
        return await commits.do([COMMAND], 60.0)

    assert asyncio.run(leave_and_stay()) == ["done"]
    gc.collect()
    assert "never retrieved" not in caplog.text


def test_an_order_may_wait_longer_than_others_do(made: Callable[..., GroupCommit]) -> None:
    go_on = threading.Event()

    def commit(commands: Any, seal: Any) -> Any:
        go_on.wait()
        return ["done" for _ in commands]

    commits = made(commit)

    async def ask() -> list[Any]:
        first = asyncio.ensure_future(commits.do([COMMAND], 60.0))
        await asyncio.sleep(0.01)
        hasty = asyncio.ensure_future(commits.do([COMMAND], 0.01))
        patient = asyncio.ensure_future(commits.do([COMMAND], 60.0))
        with pytest.raises(RequestError, match="longer than"):
            await hasty
        go_on.set()
        return [*await first, *await patient]

    assert asyncio.run(ask()) == ["done", "done"]


def test_closing_finishes_what_waits_and_takes_no_more(made: Callable[..., GroupCommit]) -> None:
    go_on = threading.Event()

    def commit(commands: Any, seal: Any) -> Any:
        go_on.wait()
        return ["done" for _ in commands]

    commits = made(commit)

    async def ask() -> list[list[Any]]:
        first = asyncio.ensure_future(commits.do([COMMAND], 60.0))
        await asyncio.sleep(0.01)  # the writer is at it
        waiting = [asyncio.ensure_future(commits.do([COMMAND], 60.0)) for _ in range(3)]
        await asyncio.sleep(0.01)
        closing = asyncio.get_running_loop().run_in_executor(None, commits.close, 60.0)
        while commits._open:
            await asyncio.sleep(0.001)
        with pytest.raises(RequestError, match="shutting down"):
            await commits.do([COMMAND], 60.0)
        await asyncio.sleep(0.05)
        assert not closing.done()
        go_on.set()
        await closing
        return await asyncio.gather(first, *waiting)

    assert asyncio.run(ask()) == [["done"]] * 4
    assert not any(thread.is_alive() for thread in commits._threads)
