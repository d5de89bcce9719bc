"""The log for others: settled decisions with a cursor, in the columns that `evaluate` reads.

This module knows rows and formats. It must not know HTTP. A decision is exported when its reward
counts; a corrected one is exported again, under its old id.
"""

from __future__ import annotations

import io
import re
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, select, tuple_

from structuredbandits.service.answers import STATES, timestamp
from structuredbandits.service.catalogue import Catalogue
from structuredbandits.service.experiments import Experiment, require_experiment
from structuredbandits.service.orders import decision_id
from structuredbandits.service.refusals import Refusal
from structuredbandits.service.storage import Database, tables

_CURSOR = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})\.([0-9]{1,10})")
_LAST_ROUND = 2**31 - 1  # what the column can hold


class Page(NamedTuple):
    """Some settled decisions, and where the next page begins."""

    rows: list[dict[str, Any]]
    cursor: str


def read_cursor(text: str) -> tuple[int, int, int]:
    """Settlement, subject and round of a cursor.

    Examples
    --------
    >>> read_cursor("12.7.3")
    (12, 7, 3)
    """
    found = _CURSOR.fullmatch(text)
    if found is None or int(found[3]) > _LAST_ROUND:
        raise Refusal(
            422,
            "invalid_cursor",
            f"the cursor is {text[:80]!r}, which no export gave.",
            "Begin without one, and then use the header Next-Cursor of the answer.",
        )
    return int(found[1]), int(found[2]), int(found[3])


def settled_decisions(
    database: Database,
    connection: Connection,
    catalogue: Catalogue,
    name: str,
    after: str | None,
    limit: int,
    version: int | None = None,
) -> Page:
    """Decisions of an experiment, or of one version of its structure, as they were settled."""
    experiment = require_experiment(connection, name)
    begin = (0, 0, 0) if after is None else read_cursor(after)
    complete = database.settled_so_far(connection)
    table, who = tables.decisions, tables.subjects
    place = tuple_(table.c.settled, table.c.subject, table.c.round)
    statement = (
        select(table, who.c.name)
        .join(who, who.c.number == table.c.subject)
        .where(table.c.experiment == name, table.c.settled.is_not(None))
        .where(table.c.settled <= complete, table.c.settled >= begin[0], place > begin)
        .order_by(table.c.settled, table.c.subject, table.c.round)
        .limit(limit)
    )
    if version is not None:
        statement = statement.where(table.c.version == version)
    found = connection.execute(statement).mappings().all()
    rows = []
    for row in found:
        arms = catalogue.version(connection, experiment, row["version"]).structure.arms
        rows.append(exported(experiment, arms, dict(row)))
    last = found[-1] if found else None
    end = begin if last is None else (last["settled"], last["subject"], last["round"])
    return Page(rows, ".".join(str(part) for part in end))


def exported(experiment: Experiment, arms: tuple[str, ...], row: dict[str, Any]) -> dict[str, Any]:
    """A decision as it is exported."""
    allowed = row["allowed"]
    return {
        "id": decision_id(experiment.seed, row["subject"], row["round"]),
        "subject": row["name"],
        "round": row["round"],
        "arm": arms[row["arm"]],
        "probability": row["probability"],
        "reward": row["reward"],
        "reward_source": "default" if STATES[row["state"]] == "default" else "reward",
        "allowed": list(arms) if allowed is None else [arms[k] for k in orjson.loads(allowed)],
        "policy": experiment.policy,
        "structure_version": row["version"],
        "settled": row["settled"],
        "created": timestamp(row["created"]),
        "rewarded": timestamp(row["rewarded"]),
    }


def as_json_lines(rows: list[dict[str, Any]]) -> bytes:
    r"""One JSON object a line.

    Examples
    --------
    >>> as_json_lines([{"arm": "a"}, {"arm": "b"}])
    b'{"arm":"a"}\n{"arm":"b"}\n'
    """
    return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    """A Parquet file with the same columns, whether there are rows or not."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, number, whole = pa.string(), pa.float64(), pa.int64()
    schema = pa.schema(
        [
            ("id", text),
            ("subject", text),
            ("round", whole),
            ("arm", text),
            ("probability", number),
            ("reward", number),
            ("reward_source", text),
            ("allowed", pa.list_(text)),
            ("policy", text),
            ("structure_version", whole),
            ("settled", whole),
            ("created", text),
            ("rewarded", text),
        ]
    )
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), buffer)
    return buffer.getvalue()
