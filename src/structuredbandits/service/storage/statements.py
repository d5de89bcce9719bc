"""The SQL of a writing transaction, in the form that suits each database.

SQLite's driver is quickest a row at a time and with lists in the text. PostgreSQL gets all rows as
one JSON argument and numbers as one array: the text is always the same, so that it is planned once,
and the driver need not look at each value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson
from sqlalchemy import (
    JSON,
    Column,
    ColumnElement,
    Connection,
    FromClause,
    Text,
    any_,
    bindparam,
    cast,
    column,
    delete,
    func,
    insert,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.sql.base import Executable

from structuredbandits.service.storage import tables

Row = dict[str, Any]
_MADE = (
    "subject",
    "round",
    "experiment",
    "version",
    "arm",
    "probability",
    "probabilities",
    "competitive",
    "plausible",
    "received",
    "allowed",
    "key",
    "request",
    "created",
    "expires",
    "state",
)
#: What a reward changes in a decision's row.
SETTLED = ("state", "reward", "reward_order", "rewarded", "settled", "late_reward", "late")


class Statements(NamedTuple):
    """What a transaction asks; the comments say what is given with each."""

    whole: bool  # all rows are one JSON argument
    revisions: Executable  # names
    numbers: Executable  # experiment, names
    lock: Executable  # numbers
    by_key: Executable  # of, keys
    free: Executable  # of, keys
    by_round: Executable  # rows, see `find`
    add_decisions: Executable  # these three: rows, see `send`
    settle: Executable
    remember: Executable

    def send(self, connection: Connection, statement: Executable, rows: list[Row]) -> None:
        """Do a statement for many rows."""
        connection.execute(statement, _whole(rows) if self.whole else rows)

    def find(self, connection: Connection, places: list[tuple[int, int]]) -> list[Row]:
        """Decisions by subject and round."""
        given: Row = {"rows": places}
        if self.whole:
            given = _whole([{"subject": subject, "round": number} for subject, number in places])
        return [dict(row) for row in connection.execute(self.by_round, given).mappings()]


def _whole(rows: list[Row]) -> Row:
    return {"rows": orjson.dumps(rows).decode()}


def _shared(within: Any) -> dict[str, Executable]:
    """What differs only in how a list is written: ``within`` says how."""
    subjects, decisions, experiments = tables.subjects.c, tables.decisions.c, tables.experiments.c
    subject = select(
        subjects.number,
        subjects.experiment,
        subjects.name,
        subjects.version,
        subjects.state,
        subjects.created,
    )
    keyed = (decisions.experiment == bindparam("of"), within(decisions.key, "keys"))
    return {
        "revisions": select(experiments.id, experiments.revision).where(
            within(experiments.id, "names")
        ),
        "numbers": select(subjects.name, subjects.number).where(
            subjects.experiment == bindparam("experiment"), within(subjects.name, "names")
        ),
        "lock": subject.where(within(subjects.number, "numbers"))
        .order_by(subjects.number)
        .with_for_update(),
        "by_key": select(tables.decisions).where(*keyed),
        "free": delete(tables.decisions)
        .where(*keyed, tables.HAS_DEPARTED)
        .returning(decisions.key),
    }


def _in_list(where: Column[Any], name: str) -> ColumnElement[bool]:
    return where.in_(bindparam(name, expanding=True))


def _in_array(where: Column[Any], name: str) -> ColumnElement[bool]:
    return where == any_(bindparam(name, type_=ARRAY(where.type)))


def _for_sqlite() -> Statements:
    subjects, decisions = tables.subjects.c, tables.decisions.c
    return Statements(
        whole=False,
        **_shared(_in_list),
        by_round=select(tables.decisions).where(
            tuple_(decisions.subject, decisions.round).in_(bindparam("rows", expanding=True))
        ),
        add_decisions=insert(tables.decisions),
        settle=update(tables.decisions)
        .where(
            decisions.subject == bindparam("of_subject"), decisions.round == bindparam("of_round")
        )
        .values({name: bindparam(f"new_{name}") for name in SETTLED}),
        remember=update(tables.subjects)
        .where(subjects.number == bindparam("of_number"))
        .values(state=bindparam("new_state"), updated=bindparam("new_updated")),
    )


def _for_postgresql() -> Statements:
    subjects, decisions = tables.subjects.c, tables.decisions.c
    wanted = _given(subject=decisions.subject, round=decisions.round)
    made = _given(**{name: decisions[name] for name in _MADE})
    settled = _given(
        of_subject=decisions.subject,
        of_round=decisions.round,
        **{f"new_{name}": decisions[name] for name in SETTLED},
    )
    seen = _given(of_number=subjects.number, new_state=subjects.state, new_updated=subjects.updated)
    return Statements(
        whole=True,
        **_shared(_in_array),
        by_round=select(tables.decisions).where(
            decisions.subject == wanted.c.subject, decisions.round == wanted.c.round
        ),
        add_decisions=insert(tables.decisions).from_select(
            _MADE, select(*(made.c[name] for name in _MADE))
        ),
        settle=update(tables.decisions)
        .where(decisions.subject == settled.c.of_subject, decisions.round == settled.c.of_round)
        .values({name: settled.c[f"new_{name}"] for name in SETTLED}),
        remember=update(tables.subjects)
        .where(subjects.number == seen.c.of_number)
        .values(state=seen.c.new_state, updated=seen.c.new_updated),
    )


def _given(**columns: Column[Any]) -> FromClause:
    """The rows of the JSON argument, each field with the type of a column."""
    fields = [column(name, like.type) for name, like in columns.items()]
    rows = func.json_to_recordset(cast(bindparam("rows", type_=Text), JSON))
    return rows.table_valued(*fields).render_derived(with_types=True)


SQLITE, POSTGRESQL = _for_sqlite(), _for_postgresql()
