"""The SQL statements of a writing transaction, in the form that suits each database.

SQLite's driver is fastest with one row at a time and with lists in the text. PostgreSQL gets all
rows as one JSON argument and numbers as one array: the text is always the same, so it is planned
once, and the driver does not inspect each value. Decisions are read by a join from their places,
because SQLite uses no index for a list of pairs: it would read the whole log.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ColumnElement,
    FromClause,
    Integer,
    Text,
    any_,
    bindparam,
    cast,
    column,
    delete,
    func,
    insert,
    select,
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
    by_round: Executable  # rows: JSON of pairs of subject and round
    add_decisions: Executable  # these three: rows
    settle: Executable
    remember: Executable


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
        "free": delete(tables.decisions).where(*keyed, tables.IS_DELETED).returning(decisions.key),
    }


def _in_list(where: Column[Any], name: str) -> ColumnElement[bool]:
    return where.in_(bindparam(name, expanding=True))


def _in_array(where: Column[Any], name: str) -> ColumnElement[bool]:
    return where == any_(bindparam(name, type_=ARRAY(where.type)))


def _for_sqlite() -> Statements:
    subjects, decisions = tables.subjects.c, tables.decisions.c
    wanted = func.json_each(bindparam("rows", type_=Text)).table_valued("value")
    return Statements(
        whole=False,
        **_shared(_in_list),
        by_round=select(tables.decisions).where(
            decisions.subject == func.json_extract(wanted.c.value, "$[0]"),
            decisions.round == func.json_extract(wanted.c.value, "$[1]"),
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
    wanted = func.json_array_elements(cast(bindparam("rows", type_=Text), JSON)).table_valued(
        "value"
    )
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
            decisions.subject == cast(wanted.c.value.op("->>")(0), BigInteger),
            decisions.round == cast(wanted.c.value.op("->>")(1), Integer),
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
