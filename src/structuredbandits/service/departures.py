"""How a subject is deleted: at once for everybody who asks, and in portions in the tables.

A subject's row goes first, with a note of her number in ``departed``; then nobody finds her, and
whoever comes under her name is somebody new. Her other rows follow, some in each transaction, and
the note goes last: so whatever interrupts it, the next portion goes on. This module must not know
who wants it, nor when.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, Select, delete, insert, select

from structuredbandits.service.storage import tables
from structuredbandits.service.storage.tables import departed, subjects

# What is done in one transaction, so that requests need not wait long for it.
_ROWS_AT_ONCE = 1_000
_SUBJECTS_AT_ONCE = 200
_OWNED = (
    (tables.decisions, tables.decisions.c.round),
    (tables.audit, tables.audit.c.number),
)


class Who(NamedTuple):
    """A subject by name."""

    experiment: str
    name: str


def depart(connection: Connection, numbers: Sequence[int]) -> None:
    """Let subjects be gone; the caller has locked their rows."""
    leaving = subjects.c.number.in_(numbers)
    noted = select(subjects.c.number, subjects.c.experiment, subjects.c.name).where(leaving)
    connection.execute(insert(departed).from_select(["number", "experiment", "name"], noted))
    connection.execute(delete(subjects).where(leaving))


def rows_are_left(connection: Connection, who: Who | None = None) -> bool:
    """Whether something of a subject who is gone, or of anybody, is still to be deleted."""
    return connection.execute(_waiting(who).limit(1)).scalar() is not None


def erase_some(connection: Connection, who: Who | None = None) -> bool:
    """Delete some rows of a subject who is gone, or of anybody; whether there may be more.

    Of anybody means: of those with whom no other replica is busy just now.
    """
    waiting = _waiting(who).order_by(departed.c.number).limit(_SUBJECTS_AT_ONCE)
    locked = connection.execute(waiting.with_for_update(skip_locked=who is None))
    numbers = locked.scalars().all()
    left = _ROWS_AT_ONCE
    for number in numbers:
        for table, place in _OWNED:
            mine = table.c.subject == number
            bound = select(place).where(mine).order_by(place).offset(left - 1).limit(1)
            last = connection.execute(bound).scalar()
            if last is not None:
                connection.execute(delete(table).where(mine, place <= last))
                return True
            left -= connection.execute(delete(table).where(mine)).rowcount
        connection.execute(delete(departed).where(departed.c.number == number))
    return len(numbers) == _SUBJECTS_AT_ONCE


def _waiting(who: Who | None) -> Select[tuple[int]]:
    statement = select(departed.c.number)
    if who is None:
        return statement
    return statement.where(departed.c.experiment == who.experiment, departed.c.name == who.name)
