"""The job that expires decisions whose reward deadline has passed."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select, tuple_

from structuredbandits.service.decisions.commands import Expire
from structuredbandits.service.storage import tables
from structuredbandits.service.storage.database import now
from structuredbandits.service.storage.tables import PENDING

if TYPE_CHECKING:
    from structuredbandits.service.runtime import Service

# Decisions per transaction, so that requests do not wait long for this job.
_AT_ONCE = 200
# Nobody waits for a background job, so it may take longer than a request.
JOB_SECONDS = 60.0
#: A decision whose deadline has passed: the deadline, the subject's number, the round.
Due = tuple[int, int, int]


async def expire_decisions(service: Service, end: threading.Event) -> int:
    """Expire every decision that is due, and return how many were handled.

    Each decision is tried once per round, so one that cannot be expired does not block the others.
    """
    done, last = 0, (0, 0, 0)
    while not end.is_set():
        due = await service.read(partial(due_decisions, after=last))
        if not due:
            break
        commands = [Expire(subject, number) for _, subject, number in due]
        results = await service.write(commands, JOB_SECONDS)
        done += sum(not isinstance(result, Exception) for result in results)
        last = due[-1]
    return done


def due_decisions(connection: Connection, after: Due) -> list[Due]:
    """Return the next decisions whose deadline has passed."""
    table = tables.decisions
    place = tuple_(table.c.expires, table.c.subject, table.c.round)
    statement = (
        select(table.c.expires, table.c.subject, table.c.round)
        .where(table.c.state == PENDING, table.c.expires.is_not(None), table.c.expires <= now())
        .where(table.c.expires >= after[0], place > after, ~tables.IS_DELETED)
        .order_by(table.c.expires, table.c.subject, table.c.round)
        .limit(_AT_ONCE)
    )
    return [(row.expires, row.subject, row.round) for row in connection.execute(statement)]
