"""Backs up a whole service into one file, and restores it into a database of either kind.

The file is a zip archive of JSON lines, one member per table, and is validated when it is read. A
restore fills an empty database completely or not at all.
"""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, LargeBinary, MetaData, Table, func, insert, select, text
from sqlalchemy.exc import DataError, IntegrityError

from structuredbandits._atomic_write import atomic_file
from structuredbandits.errors import DamagedFile, FileError, InvalidInput, WrongVersion
from structuredbandits.service.storage import Database, migrate, open_database, tables
from structuredbandits.service.storage.migrate import (
    known_versions,
    newest_version,
    schema_version,
)
from structuredbandits.structure.zip_entries import check_entries

FORMAT = "structuredbandits.backup"
_ABOUT = "backup.json"
_TABLES = (
    tables.experiments,
    tables.structures,
    tables.subjects,
    tables.decisions,
    tables.departed,
    tables.keys,
    tables.audit,
    tables.counters,
)
_NUMBERED = (tables.subjects, tables.audit)
_SETTLEMENTS = "settlements"
_ROWS_AT_ONCE = 2_000
# The largest row is a structure of five million means in base64; all others are small. A line of
# JSON may need twenty times its size in memory, unless it is one long text.
_LINE_BYTES = 100_000_000
_SMALL_LINE_BYTES = 2_000_000
_ABOUT_BYTES = 100_000
_VALUES_OF_A_STRUCTURE = 100
# Rows that wait to be stored, unless one alone is larger.
_WAITING_BYTES = 10_000_000
# Numbers issued between a backup and the loss of its database are known only to clients, as
# decision IDs and export cursors. New numbers begin far after them.
_LEAP = 1_000_000_000
_FAULTS = (zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError, AttributeError)


def back_up(database: Database, target: Path) -> dict[str, int]:
    """Write everything to a file, as it was at one moment, while the service runs.

    Returns
    -------
    dict
        Rows of each table.
    """
    counts: dict[str, int] = {}
    try:
        with (
            atomic_file(target, private=True) as file,
            database.reading.connect() as plain,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            connection = _one_moment(database, plain)
            about = {
                "format": FORMAT,
                "tables": schema_version(connection),
                "numbers": _last_numbers(database, connection),
            }
            archive.writestr(_ABOUT, json.dumps(about))
            for table in _TABLES:
                counts[table.name] = _write(archive, connection, table)
    except OSError as error:
        raise FileError(f"{target} cannot be written: {error.strerror}.") from error
    return counts


def _one_moment(database: Database, connection: Connection) -> Connection:
    """All tables as they were at the same time, however long it takes to read them."""
    if not database.is_sqlite:
        connection = connection.execution_options(isolation_level="REPEATABLE READ")
        connection.execute(text("SET LOCAL statement_timeout = 0"))
    return connection


def _last_numbers(database: Database, connection: Connection) -> dict[str, int]:
    """The last number that was given of each kind, also if its row was deleted since."""
    if database.is_sqlite:
        rows = connection.execute(text("SELECT name, seq FROM sqlite_sequence"))
        found: dict[str, int | None] = {row.name: row.seq for row in rows}
        settled = text("SELECT value FROM counters WHERE name = 'settled'")
        found[_SETTLEMENTS] = connection.execute(settled).scalar()
    else:
        sequence = text(
            "SELECT last_value FROM pg_sequences "
            "WHERE sequencename = :name AND schemaname = current_schema()"
        )
        found = {
            kind: connection.execute(sequence, {"name": name}).scalar()
            for kind, name in _sequences().items()
        }
    return {kind: int(found.get(kind) or 0) for kind in _sequences()}


def _sequences() -> dict[str, str]:
    """What PostgreSQL takes the numbers of each kind from."""
    return {table.name: f"{table.name}_number_seq" for table in _NUMBERED} | {
        _SETTLEMENTS: _SETTLEMENTS
    }


def _write(archive: zipfile.ZipFile, connection: Connection, table: Table) -> int:
    count = 0
    # Structures are large, other rows are small.
    at_once = 1 if table is tables.structures else _ROWS_AT_ONCE
    rows = connection.execution_options(yield_per=at_once).execute(
        select(table).order_by(*table.primary_key.columns)
    )
    with archive.open(f"{table.name}.jsonl", "w", force_zip64=True) as member:
        for row in rows.mappings():
            member.write(json.dumps({k: _plain(v) for k, v in row.items()}).encode() + b"\n")
            count += 1
    return count


def _plain(value: Any) -> Any:
    return (
        base64.b64encode(bytes(value)).decode() if isinstance(value, bytes | memoryview) else value
    )


def restore(database: Database, source: Path) -> dict[str, int]:
    """Fill an empty database from a file, all of it or nothing.

    Raises
    ------
    InvalidInput
        If the database is not empty.
    DamagedFile, WrongVersion
        If the file is not a backup, or of newer tables than this version knows.
    """
    try:
        archive = zipfile.ZipFile(source)
    except OSError as error:
        raise FileError(f"{source} cannot be read: {error.strerror}.") from error
    except zipfile.BadZipFile as error:
        raise _damaged(source, error) from error
    with archive:
        about = _check(archive, source)
        _require_space(database, archive)
        if about.version != newest_version():
            return _restore_older(database, archive, source, about)
        migrate(database.url)
        with database.write() as connection:
            _require_empty(database, connection)
            given = _last_numbers(database, connection)
            counts = _fill_all(archive, source, connection, tables.metadata)
            for kind, last in about.numbers.items():
                _continue(database, connection, kind, max(last, given[kind]) + _LEAP)
    return counts


def _restore_older(
    database: Database, archive: zipfile.ZipFile, source: Path, about: _About
) -> dict[str, int]:
    """Restore older tables into a separate file, migrate them there, and continue from it."""
    with tempfile.TemporaryDirectory(prefix="structuredbandits-") as folder:
        between = open_database(str(Path(folder) / "between.db"))
        try:
            migrate(between.url, about.version)
            with between.write() as connection:
                older = MetaData()
                older.reflect(connection)
                _fill_all(archive, source, connection, older)
            migrate(between.url)
            with between.write() as connection:
                seen = _last_numbers(between, connection)
                highest = connection.execute(select(func.max(tables.decisions.c.settled))).scalar()
                seen[_SETTLEMENTS] = max(seen[_SETTLEMENTS], highest or 0)
                for kind, last in seen.items():
                    _continue(between, connection, kind, max(last, about.numbers.get(kind, 0)))
            back_up(between, Path(folder) / "newest.backup")
        finally:
            between.close()
        return restore(database, Path(folder) / "newest.backup")


class _About(NamedTuple):
    """What a backup says of itself."""

    version: str  # of its tables
    numbers: dict[str, int]  # the last ones in use; the first version did not store them


def _check(archive: zipfile.ZipFile, source: Path) -> _About:
    """Reject a file that is not a backup, or a backup of unknown tables."""
    try:
        check_entries(archive, source.stat().st_size)
        if archive.getinfo(_ABOUT).file_size > _ABOUT_BYTES:
            raise ValueError(f"{_ABOUT} has more than {_ABOUT_BYTES:,} bytes")
        about = json.loads(archive.read(_ABOUT))
        kind, version = about["format"], about["tables"]
    except _FAULTS as error:
        raise _damaged(source, error) from error
    if kind != FORMAT:
        raise _damaged(source, "it does not say that it is a backup")
    if str(version) not in known_versions():
        raise WrongVersion(
            f"{source} holds tables of version {version!r} and this library knows "
            f"{newest_version()!r}; restore it with the version that wrote it."
        )
    if version != newest_version() and "numbers" not in about:
        return _About(version, {})
    try:
        return _About(version, {name: int(about["numbers"][name]) for name in _sequences()})
    except _FAULTS as error:
        raise _damaged(source, error) from error


def _damaged(source: Path, why: object) -> DamagedFile:
    return DamagedFile(f"{source} is not a complete backup ({why}); back up again.")


def _require_empty(database: Database, connection: Connection) -> None:
    for table in (tables.experiments, tables.subjects, tables.decisions, tables.keys):
        if connection.execute(select(func.count()).select_from(table)).scalar_one():
            raise InvalidInput(
                f"the database {database.name} is not empty; restore into a new one."
            )


def _require_space(database: Database, archive: zipfile.ZipFile) -> None:
    """Refuse a backup that would fill the disk of a SQLite file."""
    if not database.is_sqlite:
        return
    wanted = sum(entry.file_size for entry in archive.infolist())
    free = shutil.disk_usage(Path(database.url.database or "").resolve().parent).free
    if wanted > free:
        raise InvalidInput(
            f"the backup unpacks to {wanted:,} bytes, and the disk of {database.name} has {free:,} "
            "left; restore to another disk."
        )


def _rows(archive: zipfile.ZipFile, table: Table) -> Iterator[dict[str, Any]]:
    binary = [c.name for c in table.columns if isinstance(c.type, LargeBinary)]
    longest = _LINE_BYTES if binary else min(_LINE_BYTES, _SMALL_LINE_BYTES)
    with archive.open(f"{table.name}.jsonl") as member:
        while line := member.readline(longest + 1):
            if len(line) > longest:
                raise ValueError(f"a row of {table.name} has more than {longest:,} bytes")
            if binary and line.count(b",") > _VALUES_OF_A_STRUCTURE:
                raise ValueError(f"a row of {table.name} has more than its columns")
            row = json.loads(line)
            if set(row) != set(table.columns.keys()):
                raise ValueError(f"a row of {table.name} has other columns")
            for name in binary:
                row[name] = base64.b64decode(row[name], validate=True)
            yield row


def _fill_all(
    archive: zipfile.ZipFile, source: Path, connection: Connection, described: MetaData
) -> dict[str, int]:
    """Fill all tables of a version: rows of each."""
    names = [table.name for table in _TABLES if table.name in described.tables]
    try:
        return {name: _fill(archive, connection, described.tables[name]) for name in names}
    except _FAULTS as error:
        raise _damaged(source, error) from error
    except (IntegrityError, DataError) as error:
        raise _damaged(source, type(error.orig).__name__) from error


def _fill(archive: zipfile.ZipFile, connection: Connection, table: Table) -> int:
    count, size = 0, 0
    waiting: list[dict[str, Any]] = []
    for row in _rows(archive, table):
        waiting.append(row)
        size += sum(len(value) for value in row.values() if isinstance(value, str | bytes))
        if len(waiting) == _ROWS_AT_ONCE or size > _WAITING_BYTES:
            connection.execute(insert(table), waiting)
            count, size, waiting = count + len(waiting), 0, []
    if waiting:
        connection.execute(insert(table), waiting)
    return count + len(waiting)


def _continue(database: Database, connection: Connection, kind: str, last: int) -> None:
    """The next number of a kind is the one after ``last``."""
    given = {"name": kind, "last": last}
    if not database.is_sqlite:
        given["name"] = _sequences()[kind]
        connection.execute(text("SELECT setval(:name, :last)"), given)
    elif kind == _SETTLEMENTS:
        connection.execute(text("DELETE FROM counters WHERE name = 'settled'"))
        connection.execute(insert(tables.counters), {"name": "settled", "value": last})
    else:
        connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), given)
        connection.execute(
            text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"), given
        )
