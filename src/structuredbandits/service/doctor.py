"""Checks packages, the database and the stored data of a service, without changing anything."""

from __future__ import annotations

import importlib
import importlib.metadata
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import func, select, text
from sqlalchemy.exc import SQLAlchemyError

from structuredbandits.service.experiments.experiment_cache import ExperimentCache
from structuredbandits.service.storage import Database, schema_version, tables
from structuredbandits.service.storage.database import now
from structuredbandits.service.storage.migrate import newest_version
from structuredbandits.service.storage.tables import PENDING
from structuredbandits.service.subjects.subject_state import LoggedDecision, SubjectState, replay

_PACKAGES = ("fastapi", "uvicorn", "sqlalchemy", "psycopg", "alembic", "orjson", "numba")
_REPLAYED = 200
_LITTLE_SPACE = 200_000_000


class Finding(NamedTuple):
    """The result of one check."""

    what: str
    good: bool
    told: str  # the name of the field in the JSON output of the command


def run_checks(database: Database) -> Iterator[Finding]:
    """Check packages, the compile cache, the database, and its content."""
    yield _packages()
    yield _compile_cache()
    looks: tuple[tuple[str, Callable[[Database], Finding]], ...] = (
        ("database", _connection),
        ("tables", _tables),
        ("durability", _durability),
        ("space", _space),
        ("keys", _keys),
        ("experiments", _experiments),
        ("deadlines", _deadlines),
        ("replay", _replay),
    )
    for name, look in looks:
        try:
            found = look(database)
        except SQLAlchemyError as error:
            reason = str(getattr(error, "orig", None) or error).strip().splitlines()
            yield Finding(name, False, reason[0] if reason else type(error).__name__)
            if name in ("database", "tables"):
                return
        else:
            yield found
            if name in ("database", "tables") and not found.good:
                return


def _packages() -> Finding:
    versions, missing = [], []
    for name in _PACKAGES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return Finding("packages", False, f"not installed: {', '.join(missing)}")
    return Finding("packages", True, ", ".join(versions))


def _compile_cache() -> Finding:
    from structuredbandits._compiled import cache_folder

    return Finding("compile cache", True, str(cache_folder()))


def _connection(database: Database) -> Finding:
    if database.is_sqlite and not Path(database.url.database or "").is_file():
        return Finding("database", False, f"there is no file {database.url.database}")
    start = time.perf_counter()
    with database.read() as connection:
        version = connection.execute(
            text("SELECT sqlite_version()" if database.is_sqlite else "SHOW server_version")
        ).scalar_one()
    took = 1000 * (time.perf_counter() - start)
    kind = "SQLite" if database.is_sqlite else "PostgreSQL"
    return Finding("database", True, f"{kind} {version} at {database.name}, {took:.1f} ms")


def _tables(database: Database) -> Finding:
    with database.read() as connection:
        present = schema_version(connection)
    wanted = newest_version()
    if present is None:
        return Finding("tables", False, "there are none; 'structuredbandits serve' creates them")
    detail = f"version {present}" + ("" if present == wanted else f", this library needs {wanted}")
    return Finding("tables", present == wanted, detail)


def _durability(database: Database) -> Finding:
    with database.writing.connect() as connection:
        if database.is_sqlite:
            journal = connection.execute(text("PRAGMA journal_mode")).scalar_one()
            level = connection.execute(text("PRAGMA synchronous")).scalar_one()
            good = journal == "wal" and int(level) >= 2
            return Finding("durability", good, f"journal {journal}, synchronous {level}")
        fsync = connection.execute(text("SHOW fsync")).scalar_one()
        commit = connection.execute(text("SHOW synchronous_commit")).scalar_one()
        good = fsync == "on" and commit != "off"
        return Finding("durability", good, f"fsync {fsync}, synchronous_commit {commit}")


def _space(database: Database) -> Finding:
    folder = Path(database.url.database or ".").resolve().parent if database.is_sqlite else None
    if folder is None:
        with database.read() as connection:
            size = connection.execute(
                text("SELECT pg_database_size(current_database())")
            ).scalar_one()
        return Finding("space", True, f"the database takes {int(size) / 1e6:,.0f} MB")
    free = shutil.disk_usage(folder).free
    return Finding("space", free > _LITTLE_SPACE, f"{free / 1e9:,.1f} GB free in {folder}")


def _keys(database: Database) -> Finding:
    with database.read() as connection:
        table = tables.keys
        count = connection.execute(
            select(func.count()).select_from(table).where(table.c.revoked.is_(None))
        ).scalar_one()
    if not count:
        return Finding("keys", False, "none; create one with 'structuredbandits keys create'")
    return Finding("keys", True, f"{count} active")


def _experiments(database: Database) -> Finding:
    with database.read() as connection:
        names = connection.execute(select(tables.experiments.c.id)).scalars().all()
        experiment_cache = ExperimentCache()
        for name in names:
            experiment = experiment_cache.experiment(connection, name)
            assert experiment is not None
            experiment_cache.version(connection, experiment, experiment.version)
    return Finding("experiments", True, f"{len(names)}, each with a structure that can be served")


def _deadlines(database: Database) -> Finding:
    table = tables.decisions
    with database.read() as connection:
        overdue = connection.execute(
            select(func.count())
            .select_from(table)
            .where(table.c.state == PENDING, table.c.expires < now() - 60_000_000)
            .where(~tables.IS_DELETED)
        ).scalar_one()
    detail = f"{overdue:,} decisions are a minute overdue"
    return Finding("deadlines", overdue == 0, detail if overdue else "none is overdue")


def _replay(database: Database) -> Finding:
    """Compare the latest subjects' states with their logs."""
    who, table = tables.subjects, tables.decisions
    wrong = 0
    with database.read() as connection:
        rows = connection.execute(
            select(who.c.number, who.c.state).order_by(who.c.number.desc()).limit(_REPLAYED)
        ).all()
        for number, state in rows:
            log = [
                LoggedDecision(r.round, r.arm, r.state == PENDING, r.reward, r.reward_order)
                for r in connection.execute(select(table).where(table.c.subject == number))
            ]
            n_arms = len(SubjectState.from_json(state).counts)
            wrong += replay(n_arms, log).to_json() != state
    if wrong:
        return Finding("replay", False, f"{wrong} of {len(rows)} states differ from their log")
    return Finding("replay", True, f"{len(rows)} states equal the replay of their log")
