"""Group commit: whatever has come while the last transaction was committed goes into the next.

This module knows queues, threads and deadlines. It must not know what the work is.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Any

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.service.mishaps import kind_of, place_of
from structuredbandits.service.orders import Order, Task
from structuredbandits.service.refusals import overloaded, unavailable

_log = logging.getLogger(__name__)
Commit = Callable[[Sequence[Order], Callable[[Sequence[int]], Set[int]]], list[Any]]
# How long a request waits beyond its time for a commit that has begun: it cannot be taken back.
_FOR_A_COMMIT_SECONDS = 2.0


@dataclass(slots=True, eq=False)
class _Waiting:
    orders: Sequence[Order]
    future: asyncio.Future[list[Any]]
    loop: asyncio.AbstractEventLoop
    until: float  # after which it is not begun any more: nobody waits for it
    given_up: bool = False  # the request was answered otherwise
    sealed: bool = False  # its transaction is being committed


class GroupCommit:
    """Gathers orders of many requests into few transactions.

    Parameters
    ----------
    commit
        Does orders in one transaction and returns their results once it is durable.
    writers
        Threads that call it.
    queue_length
        Orders that may wait; further ones are refused.
    group_size
        Orders in one transaction at the most.
    observe
        Told of each transaction how many orders it had, and how many seconds it took.
    """

    def __init__(
        self,
        commit: Commit,
        *,
        writers: int,
        queue_length: int,
        group_size: int,
        observe: Callable[[int, float], None] = lambda size, seconds: None,
    ) -> None:
        self._commit = commit
        self._limit = queue_length
        self._group_size = group_size
        self._observe = observe
        self._queue: deque[_Waiting] = deque()
        self._queued = 0
        self._open = True
        self._change = threading.Condition()
        self._threads = [
            threading.Thread(target=self._work, name=f"writer-{number}", daemon=True)
            for number in range(writers)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """Orders in the queue."""
        return self._queued

    def _submit(self, orders: Sequence[Order], seconds: float) -> _Waiting:
        """Put a request's orders into the queue, to be begun within so many seconds.

        Raises
        ------
        Refusal
            If too much is waiting already, or the service is shutting down.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[Any]] = loop.create_future()
        with self._change:
            if not self._open:
                raise unavailable("the service is shutting down")
            if self._queued and self._queued + len(orders) > self._limit:
                raise overloaded()
            waiting = _Waiting(orders, future, loop, time.monotonic() + seconds)
            self._queue.append(waiting)
            self._queued += len(orders)
            self._change.notify()
        return waiting

    async def do(self, orders: Sequence[Order], seconds: float) -> list[Any]:
        """The results of a request's orders, or a refusal after so many seconds."""
        waiting = self._submit(orders, seconds)
        # Not asyncio.wait, which costs as much as reading the request does.
        timer = waiting.loop.call_later(seconds, self._give_up, waiting, seconds)
        try:
            return await waiting.future
        finally:
            timer.cancel()

    def _give_up(self, waiting: _Waiting, seconds: float) -> None:
        """The time of a request is over; a commit that has begun is waited for a little longer."""
        with self._change:
            waiting.given_up = not waiting.sealed
        late = unavailable(f"it took longer than {seconds:g} s")
        if waiting.given_up:
            _resolve([(waiting, late)])
        else:
            waiting.loop.call_later(_FOR_A_COMMIT_SECONDS, _resolve, [(waiting, late)])

    def close(self, seconds: float = 10.0) -> None:
        """Take no more orders, and end when those that wait are done."""
        with self._change:
            self._open = False
            self._change.notify_all()
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    # -- the writers' side -------------------------------------------------------------------------

    def _work(self) -> None:
        group: list[_Waiting] | None = []
        while group is not None:
            group = self._next_group()
            try:
                if group:
                    self._finish(group)
            except Exception as error:  # whatever it is, others wait for this thread
                _log.error("a writer stumbled: %s", kind_of(error), extra=place_of(error))
                _answer([(waiting, unavailable(kind_of(error))) for waiting in group or ()])

    def _next_group(self) -> list[_Waiting] | None:
        with self._change:
            while not self._queue:
                if not self._open:
                    return None
                self._change.wait()
            group: list[_Waiting] = []
            size = 0
            moment = time.monotonic()
            while self._queue:
                first = self._queue[0]
                alone = isinstance(first.orders[0], Task)
                if group and (alone or size + len(first.orders) > self._group_size):
                    break
                self._queue.popleft()
                self._queued -= len(first.orders)
                if first.given_up or first.until < moment:
                    _answer([(first, unavailable("it waited too long"))])
                    continue
                group.append(first)
                size += len(first.orders)
                if alone:
                    break
            return group

    def _finish(self, group: list[_Waiting]) -> None:
        orders = [order for waiting in group for order in waiting.orders]
        start = time.perf_counter()
        try:
            results = self._commit(orders, lambda places: self._seal(group, places))
        except StructuredBanditsError as refusal:
            _answer([(waiting, refusal) for waiting in group])
            return
        except Exception as error:
            _log.warning("a transaction failed: %s", kind_of(error), extra=place_of(error))
            _answer([(waiting, unavailable(kind_of(error))) for waiting in group])
            return
        seconds = time.perf_counter() - start
        answers: list[tuple[_Waiting, Any]] = []
        place = 0
        for waiting in group:
            answers.append((waiting, results[place : place + len(waiting.orders)]))
            place += len(waiting.orders)
        _answer(answers)
        self._observe(len(orders), seconds)

    def _seal(self, group: list[_Waiting], places: Sequence[int]) -> Set[int]:
        """Which of these orders nobody waits for any more, by their places in the group.

        If there are none, the others cannot give up before the commit is done.
        """
        whose = [waiting for waiting in group for _ in waiting.orders]
        with self._change:
            given_up = {place for place in places if whose[place].given_up}
            if not given_up:
                for place in places:
                    whose[place].sealed = True
            return given_up


def _answer(answers: list[tuple[_Waiting, Any]]) -> None:
    """Hand results over to the loop that waits for them; one call for a whole group."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[_Waiting, Any]]] = {}
    for waiting, outcome in answers:
        by_loop.setdefault(waiting.loop, []).append((waiting, outcome))
    for loop, told in by_loop.items():
        with contextlib.suppress(RuntimeError):  # it was closed: nobody waits there any more
            loop.call_soon_threadsafe(_resolve, told)


def _resolve(answers: list[tuple[_Waiting, Any]]) -> None:
    for waiting, outcome in answers:
        if waiting.future.done():
            continue
        if isinstance(outcome, BaseException):
            waiting.future.set_exception(outcome)
        else:
            waiting.future.set_result(outcome)
