"""Replays a subject's log in its own order: what was known at each of its decisions.

A decision records how many rewards preceded it, and a correction how many decisions; so no clock is
used, and the clocks of replicas may differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, select

from structuredbandits.service.storage import tables
from structuredbandits.service.subjects.subject_state import SubjectState

Row = Mapping[str, Any]


class Change(NamedTuple):
    """A corrected reward."""

    round: int
    before: float | None
    after: float
    decided: int
    """How many decisions the subject had had."""


def read_log(connection: Connection, number: int) -> list[dict[str, Any]]:
    """All decisions of a subject, by round."""
    table = tables.decisions
    statement = select(table).where(table.c.subject == number).order_by(table.c.round)
    return [dict(found) for found in connection.execute(statement).mappings()]


def read_changes(connection: Connection, number: int) -> list[Change]:
    """All corrections of a subject's rewards, as they came."""
    table = tables.audit
    statement = (
        select(table.c.detail)
        .where(table.c.subject == number, table.c.action == "correction")
        .order_by(table.c.number)
    )
    details = (orjson.loads(detail) for detail in connection.execute(statement).scalars())
    return [Change(d["round"], d["before"], d["after"], d.get("decided", 0)) for d in details]


def states(
    log: Sequence[Row], changes: Sequence[Change], n_arms: int
) -> Iterator[tuple[Row, SubjectState]]:
    """Each decision with the evidence on which it was made, valid until the next.

    Parameters
    ----------
    log
        All decisions of a subject, by round.
    changes
        The corrections, as they came.
    n_arms
        Of the subject's structure.

    Examples
    --------
    >>> first = {"round": 1, "arm": 0, "received": 0, "reward": 9.0, "reward_order": 1}
    >>> second = {"round": 2, "arm": 1, "received": 1, "reward": None, "reward_order": None}
    >>> third = second | {"round": 3}
    >>> corrected = [Change(round=1, before=2.0, after=9.0, decided=2)]
    >>> [list(state.sums) for _, state in states([first, second, third], corrected, 2)]
    [[0.0, 0.0], [2.0, 0.0], [9.0, 0.0]]
    """
    rewards = [row for row in log if row["reward_order"] is not None]
    rewards.sort(key=lambda row: row["reward_order"])
    values = {row["round"]: row["reward"] for row in rewards}
    for change in reversed(changes):
        values[change.round] = change.before
    waiting = list(changes)
    state, taken = SubjectState.fresh(n_arms), 0
    for place, row in enumerate(log):
        due = [change for change in waiting if change.decided < row["round"]]
        if due:  # exact sums need the same order of additions, so recompute
            del waiting[: len(due)]
            values |= {change.round: change.after for change in due}
            state, taken = SubjectState.fresh(n_arms), 0
            for earlier in log[:place]:
                state.decide(earlier["arm"])
        while taken < row["received"]:
            reward = rewards[taken]
            state.reward(reward["arm"], values[reward["round"]])
            taken += 1
        yield row, state
        state.decide(row["arm"])
