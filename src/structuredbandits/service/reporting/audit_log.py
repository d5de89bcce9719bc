"""Reads the audit log: what was done with experiments, keys and rewards, by whom and when."""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import Connection, select

from structuredbandits.service.decisions.explanation import timestamp
from structuredbandits.service.storage import tables


def read_audit(
    connection: Connection, experiment: str | None, after: int, limit: int
) -> list[dict[str, Any]]:
    """Read lines of the audit log, the oldest first.

    Parameters
    ----------
    connection
        A transaction.
    experiment
        Only lines of this one; None for all lines.
    after
        The number of the last line that is left out.
    limit
        Maximum number of lines.
    """
    lines, subjects = tables.audit, tables.subjects
    statement = (
        select(lines, subjects.c.name)
        .join_from(lines, subjects, lines.c.subject == subjects.c.number, isouter=True)
        .where(lines.c.number > after)
        .order_by(lines.c.number)
        .limit(limit)
    )
    if experiment is not None:
        statement = statement.where(lines.c.experiment == experiment)
    return [
        {
            "number": row.number,
            "created": timestamp(row.created),
            "action": row.action,
            "experiment": row.experiment,
            "subject": row.name,
            "key": row.key,
            "detail": orjson.loads(row.detail),
        }
        for row in connection.execute(statement)
    ]
