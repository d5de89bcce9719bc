"""What the audit tells: what stood where something was replaced.

This module reads lines that others wrote. It must not know the rules of rewards.
"""

from __future__ import annotations

import orjson
from sqlalchemy import Connection, select

from structuredbandits.service.storage import tables


def replaced_reward(connection: Connection, subject: int, round_number: int) -> float | None:
    """The reward of a decision before its first correction; None if it had none, or was not."""
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
