"""What a service does by the clock: deadlines of rewards, and retention.

This module knows when something is due. It must not know how rewards count. Every replica does it;
what one has done the others find done.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, select, tuple_

from structuredbandits.service.experiments import Experiment, note, now, readable
from structuredbandits.service.mishaps import kind_of
from structuredbandits.service.orders import Expire
from structuredbandits.service.storage import tables
from structuredbandits.service.storage.tables import PENDING
from structuredbandits.service.subject_state import SubjectState

if TYPE_CHECKING:
    from structuredbandits.service.runtime import Service

_log = logging.getLogger(__name__)
# What is done in one transaction, so that requests need not wait long for it.
_AT_ONCE = 200
_DECISIONS_AT_ONCE = 5_000
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
        jobs: tuple[Callable[[], Awaitable[int]], ...] = (self._settle, self._retain)
        done = 0
        for job in jobs:
            try:
                done += await job()
            except Exception as error:  # the database may be away; the other job may be done
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
                gone = await self._service.change(self._forgetting(experiment), PATIENCE_SECONDS)
                if not gone:
                    break
                self._service.desk.numbers.forget(set(gone))
                done += len(gone)
        return done

    def _forgetting(self, experiment: Experiment) -> Callable[[Connection], list[int]]:
        def work(connection: Connection) -> list[int]:
            self._service.database.be_patient(connection)
            return forget_old(connection, experiment)

        return work


def due_decisions(connection: Connection, after: Due) -> list[Due]:
    """The next decisions whose deadline has passed."""
    table = tables.decisions
    place = tuple_(table.c.expires, table.c.subject, table.c.round)
    statement = (
        select(table.c.expires, table.c.subject, table.c.round)
        .where(table.c.state == PENDING, table.c.expires.is_not(None), table.c.expires <= now())
        .where(table.c.expires >= after[0], place > after)
        .order_by(table.c.expires, table.c.subject, table.c.round)
        .limit(_AT_ONCE)
    )
    return [(row.expires, row.subject, row.round) for row in connection.execute(statement)]


def _with_retention(connection: Connection) -> list[Experiment]:
    found = readable(connection.execute(select(tables.experiments)).mappings())
    return [one for one in found if one.settings.retention_days is not None]


def forget_old(connection: Connection, experiment: Experiment) -> list[int]:
    """Delete some subjects that are older than the experiment keeps them: their numbers.

    Whoever is being decided for just now is left for the next time.
    """
    days = experiment.settings.retention_days
    if days is None:
        return []
    table = tables.subjects
    statement = (
        select(table.c.number, table.c.state)
        .where(table.c.experiment == experiment.id, table.c.created < now() - round(days * _DAY))
        .order_by(table.c.number)
        .limit(_AT_ONCE)
        .with_for_update(skip_locked=True)
    )
    numbers: list[int] = []
    decisions = 0
    for row in connection.execute(statement):
        decisions += SubjectState.from_json(row.state).decided
        if numbers and decisions > _DECISIONS_AT_ONCE:
            break
        numbers.append(row.number)
    if numbers:
        delete_subjects(connection, numbers)
        note(connection, "retention", {"subjects": len(numbers)}, experiment=experiment.id)
    return numbers


def delete_subjects(connection: Connection, numbers: list[int]) -> None:
    """Delete subjects with all that is known of them."""
    for table, column in (
        (tables.decisions, tables.decisions.c.subject),
        (tables.audit, tables.audit.c.subject),
        (tables.subjects, tables.subjects.c.number),
    ):
        connection.execute(delete(table).where(column.in_(numbers)))
