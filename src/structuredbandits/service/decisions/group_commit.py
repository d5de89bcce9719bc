"""Group commit: all commands that arrive during a transaction go into the next one.

`GroupCommit` gathers them, in turns if several tenants wait; `Executor` does them, together in one
transaction, or one by one if they cannot be done together.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence, Set
from dataclasses import dataclass
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.service.decisions.commands import Command, WriteTask
from structuredbandits.service.decisions.transaction import Transaction
from structuredbandits.service.errors import (
    database_code,
    kind_of,
    overloaded,
    place_of,
    unavailable,
)
from structuredbandits.service.experiments.experiment_cache import ExperimentCache
from structuredbandits.service.request_context import current_request
from structuredbandits.service.storage import Database
from structuredbandits.service.storage.database import Stale, is_away, worth_repeating
from structuredbandits.service.storage.transaction_rows import SubjectNumbers

_log = logging.getLogger(__name__)
#: Called before a commit with the places of its commands: returns those that were abandoned. If
#: there are none, the requests of all of them wait until the commit is done.
Seal = Callable[[Sequence[int]], Set[int]]
Commit = Callable[[Sequence[Command], Seal], list[Any]]
# Two replicas may use one key at the same time; the second finds the row of the first on a retry.
_ATTEMPTS = 4
# Requests that the log names of a transaction that failed.
_REQUESTS_LOGGED = 20
# Single commands of a tenant in a transaction, while others wait.
_TURNS = 64
# How long a request waits beyond its time for a running commit, which cannot be undone.
_FOR_A_COMMIT_SECONDS = 2.0


@dataclass(slots=True, eq=False)
class _Waiting:
    commands: Sequence[Command]
    tenant: Hashable
    future: asyncio.Future[list[Any]]
    loop: asyncio.AbstractEventLoop
    until: float  # after which it is not started any more
    request: str | None  # its ID, for the log
    given_up: bool = False  # the request was answered otherwise
    sealed: bool = False  # its transaction is being committed


class GroupCommit:
    """Gathers commands of many requests into few transactions.

    Requests of one tenant are done in the order of arrival; tenants take turns, one request each,
    so that one with many requests delays its own. While several wait, a transaction has at most one
    part of a batch of each, and `_TURNS` single commands.

    Parameters
    ----------
    commit
        Does commands in one transaction and returns their results once it is durable.
    writers
        Threads that call it.
    queue_length
        Commands that may wait; further ones are rejected, unless they are of a tenant who has less
        than an equal share of the queue.
    group_size
        Maximum number of commands per transaction.
    observe
        Called after each transaction with its number of commands and its seconds.
    failed
        Called after each transaction that failed, with the database's code of the error.
    """

    def __init__(
        self,
        commit: Commit,
        *,
        writers: int,
        queue_length: int,
        group_size: int,
        observe: Callable[[int, float], None] = lambda size, seconds: None,
        failed: Callable[[str | None], None] = lambda code: None,
    ) -> None:
        self._commit = commit
        self._limit = queue_length
        self._group_size = group_size
        self._observe = observe
        self._failed = failed
        self._queues: dict[Hashable, deque[_Waiting]] = {}  # tenants, in the order of their turns
        self._queued_of: Counter[Hashable] = Counter()  # commands of each tenant
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
        """Commands in the queue."""
        return self._queued

    def _submit(
        self, parts: Sequence[Sequence[Command]], seconds: float, tenant: Hashable
    ) -> list[_Waiting]:
        """Put the parts of a request into the queue, to be started within ``seconds``.

        Raises
        ------
        RequestError
            If too much is waiting already, or the service is shutting down.
        """
        loop = asyncio.get_running_loop()
        until, size = time.monotonic() + seconds, sum(map(len, parts))
        context = current_request.get()
        request = None if context is None else context.id
        waiting = [
            _Waiting(part, tenant, loop.create_future(), loop, until, request) for part in parts
        ]
        with self._change:
            if not self._open:
                raise unavailable("the service is shutting down")
            if self._is_full(size, tenant):
                raise overloaded()
            self._queues.setdefault(tenant, deque()).extend(waiting)
            self._queued_of[tenant] += size
            self._queued += size
            self._change.notify()
        return waiting

    def _is_full(self, new: int, tenant: Hashable) -> bool:
        if not self._queued or self._queued + new <= self._limit:
            return False
        tenants = len(self._queues) + (tenant not in self._queues)
        return tenants == 1 or self._queued_of[tenant] + new > self._limit // tenants

    async def do(
        self, commands: Sequence[Command], seconds: float, tenant: Hashable = None
    ) -> list[Any]:
        """The results of a request's commands, or an error after ``seconds``."""
        (waiting,) = self._submit([commands], seconds, tenant)
        return await self._outcome(waiting, seconds)

    async def do_parts(
        self, parts: Sequence[Sequence[Command]], seconds: float, tenant: Hashable = None
    ) -> list[list[Any] | BaseException]:
        """The results of each part of a request, or its error; all parts wait, or none does."""
        waiting = self._submit(parts, seconds, tenant)
        outcomes = (self._outcome(one, seconds) for one in waiting)
        return await asyncio.gather(*outcomes, return_exceptions=True)

    async def _outcome(self, waiting: _Waiting, seconds: float) -> list[Any]:
        # Not asyncio.wait, which takes as long as reading the request.
        timer = waiting.loop.call_later(seconds, self._give_up, waiting, seconds)
        try:
            return await waiting.future
        finally:
            timer.cancel()

    def _give_up(self, waiting: _Waiting, seconds: float) -> None:
        """End a request whose time is over; a running commit gets a little longer."""
        with self._change:
            waiting.given_up = not waiting.sealed
        late = unavailable(f"it took longer than {seconds:g} s")
        if waiting.given_up:
            _resolve([(waiting, late)])
        else:
            waiting.loop.call_later(_FOR_A_COMMIT_SECONDS, _resolve, [(waiting, late)])

    def close(self, seconds: float = 10.0) -> None:
        """Accept no more commands, and end when the queue is empty."""
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
            except Exception as error:  # the thread must live: others wait for it
                _log.error("a writer failed: %s", kind_of(error), extra=place_of(error))
                _answer([(waiting, unavailable(kind_of(error))) for waiting in group or ()])

    def _next_group(self) -> list[_Waiting] | None:
        with self._change:
            while not self._queues:
                if not self._open:
                    return None
                self._change.wait()
            group: list[_Waiting] = []
            size = 0
            several = len(self._queues) > 1
            turns: Counter[Hashable] = Counter()  # of each tenant
            served: dict[Hashable, deque[_Waiting]] = {}  # tenants who have had all their turns
            moment = time.monotonic()
            while self._queues:
                tenant, queue = next(iter(self._queues.items()))
                first = queue[0]
                alone = isinstance(first.commands[0], WriteTask)
                if group and (alone or size + len(first.commands) > self._group_size):
                    break
                self._take(tenant, queue)
                turns[tenant] += 1 if len(first.commands) == 1 else _TURNS
                if several and turns[tenant] >= _TURNS and queue:
                    served[tenant] = self._queues.pop(tenant)
                if first.given_up or first.until < moment:
                    _answer([(first, unavailable("it waited too long"))])
                    continue
                group.append(first)
                size += len(first.commands)
                if alone:
                    break
            self._queues |= served
            return group

    def _take(self, tenant: Hashable, queue: deque[_Waiting]) -> None:
        """Remove the first request of a tenant, whose next turn comes after all others'."""
        size = len(queue.popleft().commands)
        del self._queues[tenant]
        self._queued -= size
        self._queued_of[tenant] -= size
        if queue:
            self._queues[tenant] = queue
        else:
            del self._queued_of[tenant]

    def _finish(self, group: list[_Waiting]) -> None:
        commands = [command for waiting in group for command in waiting.commands]
        start = time.perf_counter()
        try:
            results = self._commit(commands, lambda places: self._seal(group, places))
        except StructuredBanditsError as error:
            _answer([(waiting, error) for waiting in group])
            return
        except Exception as error:
            code = database_code(error)
            self._failed(code)
            detail: dict[str, Any] = {"database_code": code, "experiments": _experiments(commands)}
            requests = {one.request: None for one in group if one.request is not None}
            detail["request_ids"] = list(requests)[:_REQUESTS_LOGGED]
            _log.warning("a transaction failed: %s", kind_of(error), extra=detail | place_of(error))
            _answer([(waiting, unavailable(kind_of(error))) for waiting in group])
            return
        seconds = time.perf_counter() - start
        answers: list[tuple[_Waiting, Any]] = []
        place = 0
        for waiting in group:
            answers.append((waiting, results[place : place + len(waiting.commands)]))
            place += len(waiting.commands)
        _answer(answers)
        self._observe(len(commands), seconds)

    def _seal(self, group: list[_Waiting], places: Sequence[int]) -> Set[int]:
        """Return the places of abandoned commands.

        If there are none, the requests of all commands wait until the commit is done.
        """
        whose = [waiting for waiting in group for _ in waiting.commands]
        with self._change:
            given_up = {place for place in places if whose[place].given_up}
            if not given_up:
                for place in places:
                    whose[place].sealed = True
            return given_up


def _experiments(commands: Sequence[Command]) -> list[str]:
    """The experiments that commands name, for the log."""
    found = {getattr(command, "experiment", None) for command in commands}
    return sorted(name for name in found if name is not None)


def _answer(answers: list[tuple[_Waiting, Any]]) -> None:
    """Hand results over to the loop that waits for them; one call for a whole group."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[_Waiting, Any]]] = {}
    for waiting, outcome in answers:
        by_loop.setdefault(waiting.loop, []).append((waiting, outcome))
    for loop, found in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop was closed
            loop.call_soon_threadsafe(_resolve, found)


def _resolve(answers: list[tuple[_Waiting, Any]]) -> None:
    for waiting, outcome in answers:
        if waiting.future.done():
            continue
        if isinstance(outcome, BaseException):
            waiting.future.set_exception(outcome)
        else:
            waiting.future.set_result(outcome)


class Abandoned(Exception):
    """A request stopped waiting before the commit: the transaction is repeated without it."""

    def __init__(self, places: Set[int]) -> None:
        super().__init__(places)
        self.places = places


def none_abandoned(_places: Sequence[int]) -> Set[int]:
    """No request has stopped waiting."""
    return frozenset()


class Executor:
    """Executes commands: reads what they need, computes, and writes it in one transaction.

    Parameters
    ----------
    database
        Where everything is kept.
    experiment_cache
        The experiments in memory.
    """

    def __init__(self, database: Database, experiment_cache: ExperimentCache) -> None:
        self.database = database
        self.experiment_cache = experiment_cache
        self.numbers = SubjectNumbers()

    def commit(self, commands: Sequence[Command], seal: Seal = none_abandoned) -> list[Any]:
        """Do all commands in one transaction; the result of each is its answer or an exception.

        When this returns everything is durable. A decision's answer is (whether it is new, its
        content). ``seal`` is called just before the commit: what no request waits for is
        not stored. Commands that cannot be done together are done one by one, so that an error
        affects only its own command.
        """
        places = range(len(commands))
        try:
            done = self._together(commands, places, seal)
        except Exception as error:
            if len(commands) == 1 or is_away(error):
                raise
            _log.warning("done one by one: %s", kind_of(error), extra=place_of(error))
            done = self._one_by_one(commands, seal)
        if len(done) < len(commands):
            abandoned = unavailable("the request was abandoned")
            return [done.get(place, abandoned) for place in places]
        return [done[place] for place in places]

    def _one_by_one(self, commands: Sequence[Command], seal: Seal) -> dict[int, Any]:
        done: dict[int, Any] = {}
        for place in range(len(commands)):
            try:
                done |= self._together(commands, [place], seal)
            except StructuredBanditsError as error:
                done[place] = error
            except Exception as error:
                failed = unavailable(kind_of(error))
                done[place] = failed
                if is_away(error):  # the others would fail the same way
                    return done | dict.fromkeys(range(place, len(commands)), failed)
        return done

    def _together(
        self, commands: Sequence[Command], places: Sequence[int], seal: Seal
    ) -> dict[int, Any]:
        """Do some commands in one transaction: results by place, without abandoned ones."""
        left, attempt = list(places), 0
        while left:
            try:
                results = self._try([commands[place] for place in left], left, seal)
            except Abandoned as abandoned:
                left = [place for place in left if place not in abandoned.places]
            except (Stale, SQLAlchemyError) as error:
                attempt += 1
                if attempt == _ATTEMPTS or not worth_repeating(error):
                    raise
            else:
                return dict(zip(left, results, strict=True))
        return {}

    def _try(self, commands: Sequence[Command], places: Sequence[int], seal: Seal) -> list[Any]:
        with self.database.write() as connection:
            if len(commands) == 1 and isinstance(commands[0], WriteTask):
                results, transaction = [commands[0].work(connection)], None
            else:
                transaction = Transaction(self, connection, commands)
                results = transaction.run()
            given_up = seal(places)
            if given_up:
                raise Abandoned(given_up)
        if transaction is not None:
            transaction.rows.remember()
        return results
