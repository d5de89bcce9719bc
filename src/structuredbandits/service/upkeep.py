"""What a service does by the clock: deadlines of rewards, retention, and ends of deletions.

This module knows when something is due. It must not know how rewards count. Every replica does it;
what one has done the others find done.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import Connection, select, tuple_

from structuredbandits.service.departures import depart, erase_some, rows_are_left
from structuredbandits.service.experiments import Experiment, note, now, readable
from structuredbandits.service.mishaps import kind_of
from structuredbandits.service.orders import Expire
from structuredbandits.service.storage import tables
from structuredbandits.service.storage.tables import PENDING

if TYPE_CHECKING:
    from structuredbandits.service.runtime import Service

_log = logging.getLogger(__name__)
_Value = TypeVar("_Value")
# What is done in one transaction, so that requests need not wait long for it.
_AT_ONCE = 200
# Nobody waits for upkeep, so it is not given up when it takes longer than a request may.
PATIENCE_SECONDS = 60.0
_DAY = 86_400 * 1_000_000
#: A decision whose deadline has passed: when that was, its subject, its round.
Due = tuple[int, int, int]


class Upkeep:
    """A thread that looks every so often for what is due."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, when the present round is done."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join(2.0)

    def _run(self) -> None:
        while not self._end.wait(self._service.settings.sweep_seconds):
            try:
                asyncio.run(self.round())
            except Exception as error:  # the thread must live; next time it may go well
                _log.warning("upkeep failed: %s", kind_of(error))

    async def round(self) -> int:
        """Do what is due now; how much it was."""
        jobs: tuple[Callable[[], Awaitable[int]], ...] = (self._erase, self._settle, self._retain)
        done = 0
        for job in jobs:
            try:
                done += await job()
            except Exception as error:  # the database may be away; other jobs may be done
                _log.warning("upkeep failed: %s", kind_of(error))
        return done

    async def _settle(self) -> int:
        """Stop waiting for rewards whose deadline has passed, each once a round."""
        done, last = 0, (0, 0, 0)
        while not self._end.is_set():
            due = await self._service.read(partial(due_decisions, after=last))
            if not due:
                break
            orders = [Expire(subject, number) for _, subject, number in due]
            results = await self._service.write(orders, PATIENCE_SECONDS)
            done += sum(not isinstance(result, Exception) for result in results)
            last = due[-1]
        return done

    async def _retain(self) -> int:
        """Delete who is older than the experiments keep them, some at a time."""
        done = 0
        for experiment in await self._service.read(_with_retention):
            while not self._end.is_set():
                gone = await self._change(partial(forget_old, experiment=experiment))
                if not gone:
                    break
                self._service.desk.numbers.forget(set(gone))
                done += len(gone)
                await self._erase()
        return done

    async def _erase(self) -> int:
        """Delete what is left of those who are gone; how many portions it took."""
        done = 0
        more = await self._service.read(rows_are_left)
        while more and not self._end.is_set():
            more = await self._change(erase_some)
            done += 1
        return done

    async def _change(self, work: Callable[[Connection], _Value]) -> _Value:
        def patiently(connection: Connection) -> _Value:
            self._service.database.be_patient(connection)
            return work(connection)

        return await self._service.change(patiently, PATIENCE_SECONDS)


def due_decisions(connection: Connection, after: Due) -> list[Due]:
    """The next decisions whose deadline has passed."""
    table = tables.decisions
    place = tuple_(table.c.expires, table.c.subject, table.c.round)
    statement = (
        select(table.c.expires, table.c.subject, table.c.round)
        .where(table.c.state == PENDING, table.c.expires.is_not(None), table.c.expires <= now())
        .where(table.c.expires >= after[0], place > after, ~tables.HAS_DEPARTED)
        .order_by(table.c.expires, table.c.subject, table.c.round)
        .limit(_AT_ONCE)
    )
    return [(row.expires, row.subject, row.round) for row in connection.execute(statement)]


def _with_retention(connection: Connection) -> list[Experiment]:
    found = readable(connection.execute(select(tables.experiments)).mappings())
    return [one for one in found if one.settings.retention_days is not None]


def forget_old(connection: Connection, experiment: Experiment) -> list[int]:
    """Let some subjects be gone that are older than the experiment keeps them: their numbers.

    Whoever is being decided for just now is left for the next time.
    """
    days = experiment.settings.retention_days
    if days is None:
        return []
    table = tables.subjects
    statement = (
        select(table.c.number)
        .where(table.c.experiment == experiment.id, table.c.created < now() - round(days * _DAY))
        .order_by(table.c.number)
        .limit(_AT_ONCE)
        .with_for_update(skip_locked=True)
    )
    numbers = list(connection.execute(statement).scalars())
    if numbers:
        depart(connection, numbers)
        note(connection, "retention", {"subjects": len(numbers)}, experiment=experiment.id)
    return numbers
