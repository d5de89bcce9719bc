"""Exports settled decisions page by page, in the columns that `evaluate` reads.

A decision is exported when its reward counts; a corrected one is exported again, under its ID.
A page is read and sent in parts, so that its memory does not depend on its size.
"""

from __future__ import annotations

import io
import re
from typing import Any, NamedTuple, Protocol

import orjson
from sqlalchemy import Connection, Select, func, select, tuple_

from structuredbandits.service.decisions.explanation import STATES, decision_id, timestamp
from structuredbandits.service.errors import RequestError
from structuredbandits.service.experiments.experiment_cache import ExperimentCache
from structuredbandits.service.experiments.stored_experiment import (
    StoredExperiment,
    require_experiment,
)
from structuredbandits.service.storage import Database, tables

_CURSOR = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})\.([0-9]{1,10})")
_LAST_ROUND = 2**31 - 1  # what the column can hold
_END = (10**18, 10**18, _LAST_ROUND)
_COLUMNS = (
    "subject",
    "round",
    "version",
    "arm",
    "probability",
    "allowed",
    "created",
    "state",
    "reward",
    "rewarded",
    "settled",
)


# A part begins with this many rows; the next ones are adjusted to about this many bytes.
_FIRST_ROWS, _MOST_ROWS = 100, 2_000
_PART_BYTES = 500_000

#: Settlement, subject and round of a decision.
Cursor = tuple[int, int, int]


class EventPage(NamedTuple):
    """The settled decisions on a page: those after ``begin``, up to ``end``."""

    experiment: StoredExperiment
    version: int | None  # of the structure; None for all
    begin: Cursor
    end: Cursor
    rows: int

    @property
    def cursor(self) -> str:
        """Where the next page begins, as `read_cursor` reads it."""
        return ".".join(str(part) for part in self.end)


def read_cursor(text: str) -> Cursor:
    """Settlement, subject and round of a cursor.

    Examples
    --------
    >>> read_cursor("12.7.3")
    (12, 7, 3)
    """
    found = _CURSOR.fullmatch(text)
    if found is None or int(found[3]) > _LAST_ROUND:
        raise RequestError(
            422,
            "invalid_cursor",
            f"the cursor is {text[:80]!r}, which no export gave.",
            "Begin without one, and then use the header Next-Cursor of the answer.",
        )
    return int(found[1]), int(found[2]), int(found[3])


def find_page(
    database: Database,
    connection: Connection,
    name: str,
    after: str | None,
    limit: int,
    version: int | None = None,
) -> EventPage:
    """The next page of an experiment, or of one version of its structure."""
    experiment = require_experiment(connection, name)
    begin = (0, 0, 0) if after is None else read_cursor(after)
    last = (database.settled_so_far(connection), *_END[1:])
    table = tables.decisions.c
    places = _between(name, version, begin, last).with_only_columns(
        table.settled, table.subject, table.round
    )
    page = places.limit(limit).subquery()
    count = connection.execute(select(func.count()).select_from(page)).scalar_one()
    if not count:
        return EventPage(experiment, version, begin, begin, 0)
    row = connection.execute(places.offset(count - 1).limit(1)).one()
    return EventPage(experiment, version, begin, (row.settled, row.subject, row.round), count)


def _between(name: str, version: int | None, begin: Cursor, end: Cursor) -> Select[tuple[Any, ...]]:
    table, who = tables.decisions.c, tables.subjects.c
    place = tuple_(table.settled, table.subject, table.round)
    statement = (
        select(*(table[column] for column in _COLUMNS), who.name)
        .join(tables.subjects, who.number == table.subject)
        .where(table.experiment == name, table.settled.is_not(None))
        .where(table.settled >= begin[0], place > begin, table.settled <= end[0], place <= end)
        .order_by(table.settled, table.subject, table.round)
    )
    return statement if version is None else statement.where(table.version == version)


class PageReader:
    """Reads a page in parts, each small enough for memory.

    Parameters
    ----------
    page
        Which decisions.
    experiment_cache
        Where the arms of the structure's versions are found.
    form
        How rows are written: `JsonLines` or `Parquet`.
    """

    def __init__(self, page: EventPage, experiment_cache: ExperimentCache, form: Form) -> None:
        self._page = page
        self._cache = experiment_cache
        self._form = form
        self._cursor = page.begin
        self._rows = _FIRST_ROWS
        self._named: set[int] = set()  # versions whose arms were all named

    def part(self, connection: Connection) -> bytes | None:
        """The next part of the answer; None at its end."""
        page = self._page
        if self._cursor >= page.end:
            return None
        statement = _between(page.experiment.id, page.version, self._cursor, page.end)
        found = connection.execute(statement.limit(self._rows)).mappings().all()
        rows = [self._named_once(connection, dict(row)) for row in found]
        ended = len(rows) < self._rows
        last = found[-1] if found else None
        self._cursor = (
            page.end if ended or last is None else (last["settled"], last["subject"], last["round"])
        )
        content = self._form.write(rows) if rows else b""
        bytes_per_row = max(len(content) // max(len(rows), 1), 1)
        self._rows = min(max(_PART_BYTES // bytes_per_row, 1), 2 * self._rows, _MOST_ROWS)
        return content

    def _named_once(self, connection: Connection, row: dict[str, Any]) -> dict[str, Any]:
        """A row; where all arms were allowed, only the first one of its version names them."""
        version = self._cache.version(connection, self._page.experiment, row["version"])
        written = exported(self._page.experiment, version.structure.arms, row)
        if row["allowed"] is None:
            if version.number in self._named:
                written["allowed"] = None
            self._named.add(version.number)
        return written


def exported(
    experiment: StoredExperiment, arms: tuple[str, ...], row: dict[str, Any]
) -> dict[str, Any]:
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


class Form(Protocol):
    """How rows are written into an answer, part by part."""

    media_type: str

    def write(self, rows: list[dict[str, Any]]) -> bytes:
        """The bytes of some rows, after those before them."""

    def end(self) -> bytes:
        """The last bytes."""


class JsonLines:
    r"""One JSON object per line.

    Examples
    --------
    >>> JsonLines().write([{"arm": "a"}, {"arm": "b"}])
    b'{"arm":"a"}\n{"arm":"b"}\n'
    """

    media_type = "application/x-ndjson"

    def write(self, rows: list[dict[str, Any]]) -> bytes:
        """The lines of some rows."""
        return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)

    def end(self) -> bytes:
        """Nothing follows the last line."""
        return b""


class Parquet:
    """A Parquet file with the same columns, whether there are rows or not."""

    media_type = "application/vnd.apache.parquet"

    def __init__(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        text, number, whole = pa.string(), pa.float64(), pa.int64()
        self._schema = pa.schema(
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
        self._written = _Drain()
        self._writer = pq.ParquetWriter(pa.PythonFile(self._written, "w"), self._schema)
        self._make = pa.Table.from_pylist

    def write(self, rows: list[dict[str, Any]]) -> bytes:
        """Some rows as a group of their own."""
        self._writer.write_table(self._make(rows, schema=self._schema))
        return self._written.take()

    def end(self) -> bytes:
        """The description of all groups."""
        self._writer.close()
        return self._written.take()


class _Drain(io.RawIOBase):
    """A file that is only written, and whose content is taken away part by part."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []
        self._place = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def write(self, part: Any) -> int:
        content = bytes(part)
        self._parts.append(content)
        self._place += len(content)
        return len(content)

    def take(self) -> bytes:
        """What was written since the last call."""
        content = b"".join(self._parts)
        self._parts.clear()
        return content
