"""What a service does by the clock: deadlines of rewards, and retention.

This module knows when something is due. It must not know how rewards count. Every replica does it;
what one has done the others find done.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, select

from structuredbandits.service.experiments import Experiment, note, now
from structuredbandits.service.orders import Expire
from structuredbandits.service.storage import tables
from structuredbandits.service.storage.tables import PENDING

if TYPE_CHECKING:
    from structuredbandits.service.runtime import Service

_log = logging.getLogger(__name__)
_AT_ONCE = 200
_DAY = 86_400 * 1_000_000


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
            except Exception as error:  # the database may be away; next time it may be back
                _log.warning("upkeep failed: %s", type(error).__name__)

    async def round(self) -> int:
        """Do what is due now; how much it was."""
        done = 0
        while not self._end.is_set():
            due = await self._service.read(due_decisions)
            if due:
                await self._service.write([Expire(subject, number) for subject, number in due])
            done += len(due)
            if len(due) < _AT_ONCE:
                break
        for experiment in await self._service.read(_with_retention):
            done += await self._retain(experiment)
        return done

    async def _retain(self, experiment: Experiment) -> int:
        done = 0
        while not self._end.is_set():
            gone = await self._service.change(lambda connection: forget_old(connection, experiment))
            self._service.desk.numbers.forget(set(gone))
            done += len(gone)
            if len(gone) < _AT_ONCE:
                break
        return done


def due_decisions(connection: Connection) -> list[tuple[int, int]]:
    """Decisions whose deadline has passed: subject and round."""
    table = tables.decisions
    statement = (
        select(table.c.subject, table.c.round)
        .where(table.c.state == PENDING, table.c.expires.is_not(None), table.c.expires <= now())
        .order_by(table.c.expires)
        .limit(_AT_ONCE)
    )
    return [(row.subject, row.round) for row in connection.execute(statement)]


def _with_retention(connection: Connection) -> list[Experiment]:
    rows = connection.execute(select(tables.experiments)).mappings()
    found = [Experiment.from_row(row) for row in rows]
    return [one for one in found if one.settings.retention_days is not None]


def forget_old(connection: Connection, experiment: Experiment) -> list[int]:
    """Delete subjects that are older than the experiment keeps them: their numbers."""
    days = experiment.settings.retention_days
    if days is None:
        return []
    table = tables.subjects
    statement = (
        select(table.c.number)
        .where(table.c.experiment == experiment.id, table.c.created < now() - round(days * _DAY))
        .order_by(table.c.number)
        .limit(_AT_ONCE)
        .with_for_update()
    )
    numbers = list(connection.execute(statement).scalars())
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
