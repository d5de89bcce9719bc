"""The audit log: writes its lines, and reads the rewards that corrections replaced."""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import Connection, insert, select

from structuredbandits.service.storage import tables
from structuredbandits.service.storage.database import now


def write_audit(
    connection: Connection,
    action: str,
    detail: dict[str, Any],
    *,
    experiment: str | None = None,
    subject: int | None = None,
    key: str | None = None,
) -> None:
    """Write one line of the audit log."""
    connection.execute(
        insert(tables.audit),
        {
            "experiment": experiment,
            "subject": subject,
            "action": action,
            "detail": orjson.dumps(detail).decode(),
            "key": key,
            "created": now(),
        },
    )


def replaced_reward(connection: Connection, subject: int, round_number: int) -> float | None:
    """Return a decision's reward before its first correction; None if it had no reward."""
    table = tables.audit
    statement = (
        select(table.c.detail)
        .where(table.c.subject == subject, table.c.action == "correction")
        .order_by(table.c.number)
    )
    for line in connection.execute(statement).scalars():
        detail = orjson.loads(line)
        if detail["round"] == round_number:
            return None if detail["before"] is None else float(detail["before"])
    return None
