"""Deletes subjects: immediately for all requests, and in batches in the tables.

A subject's row is deleted first, and its number is kept in ``departed``; from then on the subject
is not found, and a subject of the same name is a new one. The other rows are deleted in batches,
one transaction each, and the number last: an interrupted deletion is continued by the next batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, Select, delete, insert, select

from structuredbandits.service.audit import write_audit
from structuredbandits.service.errors import unknown_subject
from structuredbandits.service.experiments.stored_experiment import require_experiment
from structuredbandits.service.storage import tables
from structuredbandits.service.storage.tables import departed, subjects

# Rows and subjects per transaction, so that requests do not wait long for it.
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


def delete_subject(connection: Connection, name: str, subject: str, key: str | None) -> int | None:
    """Delete a subject; the audit log records a deletion, but not of which subject.

    Returns
    -------
    int or None
        Its number; None if it is deleted already, and only its other rows are left.
    """
    require_experiment(connection, name)
    table = subjects
    statement = (
        select(table.c.number)
        .where(table.c.experiment == name, table.c.name == subject)
        .with_for_update()
    )
    number = connection.execute(statement).scalar()
    if number is not None:
        mark_deleted(connection, [number])
        write_audit(connection, "delete subject", {}, experiment=name, key=key)
    elif not has_rows_left(connection, Who(name, subject)):
        raise unknown_subject(subject[:80])
    return number


def mark_deleted(connection: Connection, numbers: Sequence[int]) -> None:
    """Mark subjects as deleted; the caller has locked their rows."""
    leaving = subjects.c.number.in_(numbers)
    noted = select(subjects.c.number, subjects.c.experiment, subjects.c.name).where(leaving)
    connection.execute(insert(departed).from_select(["number", "experiment", "name"], noted))
    connection.execute(delete(subjects).where(leaving))


def has_rows_left(connection: Connection, who: Who | None = None) -> bool:
    """Whether rows of a deleted subject, or of any, are still to be deleted."""
    return connection.execute(_waiting(who).limit(1)).scalar() is not None


def delete_some_rows(connection: Connection, who: Who | None = None) -> bool:
    """Delete some rows of a deleted subject, or of any, and return whether more may be left.

    Without ``who``, subjects that another replica is deleting are skipped.
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
