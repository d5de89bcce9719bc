"""Connections to SQLite or PostgreSQL, with bounded waiting and durable commits.

This module knows how the two differ. It must not know what is stored.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, ExceptionContext, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import NullPool, QueuePool

from structuredbandits.errors import FileError, InvalidInput
from structuredbandits.service.settings import ServiceSettings

# Writers hold this lock together, an export takes it alone for a moment: then everything that was
# numbered before is committed.
_SETTLEMENT_LOCK = 0x5B_5E77
SCHEMA_LOCK = 0x5B_5C4E
# What PostgreSQL calls it when it takes no writes.
_READ_ONLY = "25006"
# How long upkeep, for which nobody waits, may take for a statement.
_PATIENT_SECONDS = 60
# Of SQLite's own steps; they take less than a millisecond.
_STEPS_BETWEEN_LOOKS = 10_000


def database_url(given: str) -> URL:
    """Read a path or an URL.

    Examples
    --------
    >>> database_url("bandits.db").render_as_string()
    'sqlite:///bandits.db'
    >>> database_url("postgresql://ana@db/bandits").drivername
    'postgresql+psycopg'
    """
    if "://" not in given:
        if not given.strip():
            raise InvalidInput("the database is ''; give a path such as bandits.db, or an URL.")
        return URL.create("sqlite", database=given)
    try:
        url = make_url(given)
    except (ArgumentError, ValueError):
        raise InvalidInput(
            "the database is no URL that can be read; give one such as sqlite:///bandits.db or "
            "postgresql://user@host/name."
        ) from None
    kind = url.get_backend_name()
    if kind == "postgres" or url.drivername.startswith("postgres"):
        return url.set(drivername="postgresql+psycopg")
    if kind != "sqlite":
        raise InvalidInput(
            f"the database is of kind {kind!r}; give sqlite:///... or postgresql://..."
        )
    if url.database in (None, "", ":memory:"):
        raise InvalidInput("a database in memory would lose everything; give a file's path.")
    return url


class Database:
    """One database, with connections for writing and others for reading.

    Made by `open_database`.
    """

    def __init__(self, url: URL, settings: ServiceSettings) -> None:
        self.url = url
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self.settings = settings
        self.writing = self._engine(writes=True)
        self.reading = self._engine(writes=False)

    @property
    def name(self) -> str:
        """The URL without a password, for people."""
        return self.url.render_as_string(hide_password=True)

    @property
    def writers(self) -> int:
        """How many connections may write at once."""
        return 1 if self.is_sqlite else self.settings.writers

    def _engine(self, *, writes: bool) -> Engine:
        if self.is_sqlite:
            return _sqlite_engine(self.url, self.settings, writes)
        return _postgresql_engine(self.url, self.settings, writes)

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that commits at the end, durably, or not at all."""
        with self.writing.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def read(self, seconds: float | None = None) -> Iterator[Connection]:
        """A transaction that only reads, and is broken off after so many seconds.

        PostgreSQL breaks off a long statement by itself; SQLite would go on reading for nobody.
        """
        with self.reading.begin() as connection:
            if seconds is None or not self.is_sqlite:
                yield connection
                return
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            end = time.monotonic() + seconds
            driver.set_progress_handler(lambda: time.monotonic() > end, _STEPS_BETWEEN_LOOKS)
            try:
                yield connection
            finally:
                driver.set_progress_handler(None, 0)

    def be_patient(self, connection: Connection) -> None:
        """Let the statements of this transaction take longer than a request may."""
        if not self.is_sqlite:
            connection.execute(text(f"SET LOCAL statement_timeout = '{_PATIENT_SECONDS}s'"))

    def probe(self, connection: Connection) -> None:
        """Write something small, to see whether it can be committed."""
        connection.execute(
            text(
                "INSERT INTO counters (name, value) VALUES ('probe', 1) "
                "ON CONFLICT (name) DO UPDATE SET value = counters.value + 1"
            )
        )

    def next_settlement(self, connection: Connection) -> int:
        """The next number of the export's order, taken inside a writing transaction."""
        if self.is_sqlite:
            statement = text(
                "INSERT INTO counters (name, value) VALUES ('settled', 1) "
                "ON CONFLICT (name) DO UPDATE SET value = counters.value + 1 RETURNING value"
            )
        else:
            lock = {"lock": _SETTLEMENT_LOCK}
            connection.execute(text("SELECT pg_advisory_xact_lock_shared(:lock)"), lock)
            statement = text("SELECT nextval('settlements')")
        return int(connection.execute(statement).scalar_one())

    def settled_so_far(self, connection: Connection) -> int:
        """A number up to which all settlements are committed and seen by the next statement."""
        if self.is_sqlite:
            found = connection.execute(text("SELECT value FROM counters WHERE name = 'settled'"))
            return int(found.scalar() or 0)
        last = connection.execute(text("SELECT last_value FROM settlements")).scalar_one()
        # Who took a number up to this one holds the lock until it is committed.
        lock = {"lock": _SETTLEMENT_LOCK}
        connection.execute(text("SELECT pg_advisory_lock(:lock)"), lock)
        connection.execute(text("SELECT pg_advisory_unlock(:lock)"), lock)
        return int(last)

    def close(self) -> None:
        """End all connections."""
        self.writing.dispose()
        self.reading.dispose()


def open_database(given: str, settings: ServiceSettings | None = None) -> Database:
    """Prepare connections to a database; none is opened yet.

    Parameters
    ----------
    given
        A path or an URL.
    settings
        How long to wait for what.
    """
    url = database_url(given)
    if url.get_backend_name() == "sqlite" and url.database:
        folder = Path(url.database).resolve().parent
        if not folder.is_dir():
            raise InvalidInput(f"there is no folder {folder}; make it, or give another database.")
    return Database(url, settings or ServiceSettings(database=given))


def _sqlite_engine(url: URL, settings: ServiceSettings, writes: bool) -> Engine:
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=1 if writes else settings.readers,
        max_overflow=4,
        pool_timeout=settings.lock_seconds,
        connect_args={"timeout": settings.lock_seconds, "check_same_thread": False},
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None  # transactions begin when we say so
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")
        if writes:
            # Moving the log into the file holds a transaction up, so it is done in small portions.
            connection.execute("PRAGMA wal_autocheckpoint=250")
        else:
            connection.execute("PRAGMA query_only=ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A writer that first reads and then wants to write could find the file locked.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgresql_engine(url: URL, settings: ServiceSettings, writes: bool) -> Engine:
    milliseconds = {
        "statement_timeout": settings.statement_seconds,
        "lock_timeout": settings.lock_seconds,
        "idle_in_transaction_session_timeout": 2 * settings.statement_seconds,
    }
    options = " ".join(f"-c {key}={int(1000 * value)}" for key, value in milliseconds.items())
    commit = "-c synchronous_commit=on" if writes else "-c default_transaction_read_only=on"
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=settings.writers if writes else settings.readers,
        max_overflow=2,
        pool_timeout=settings.lock_seconds,
        pool_pre_ping=False,
        isolation_level="READ COMMITTED",
        connect_args={
            "connect_timeout": max(1, round(settings.connect_seconds)),
            "options": f"{options} {commit} -c timezone=UTC",
            "keepalives_idle": 5,
            "keepalives_interval": 2,
            "keepalives_count": 3,
            "tcp_user_timeout": int(1000 * settings.statement_seconds),
            "application_name": "structuredbandits",
        },
        hide_parameters=True,
    )

    @event.listens_for(engine, "handle_error")
    def look_for_another(context: ExceptionContext) -> None:
        # A server that has become read-only is no longer the one to write to: connect anew.
        if getattr(context.original_exception, "sqlstate", None) == _READ_ONLY:
            context.is_disconnect = True

    return engine


def one_off_engine(url: URL) -> Engine:
    """An engine for a single task, such as a migration: no pool, patient."""
    patience = {"timeout": 30.0} if url.get_backend_name() == "sqlite" else {"connect_timeout": 5}
    return create_engine(url, poolclass=NullPool, connect_args=patience, hide_parameters=True)


class Stale(Exception):
    """What was remembered of a row is no longer so; the transaction is to be done again."""


@contextlib.contextmanager
def reachable(url: URL) -> Iterator[None]:
    """Say in one sentence that a database cannot be reached or used, without its password."""
    try:
        yield
    except DBAPIError as error:
        reason = " ".join(str(error.orig).split())[:300].rstrip(".")
        name = url.render_as_string(hide_password=True)
        raise FileError(
            f"the database {name} cannot be used ({reason}); start it, or check --db."
        ) from error


def worth_repeating(error: Exception) -> bool:
    """Whether a transaction failed only because of another one, so that it can be done again."""
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    return isinstance(error, IntegrityError | Stale) or state in ("40001", "40P01")


def is_away(error: Exception) -> bool:
    """Whether a database failed as such: then no part of a transaction would fare better."""
    kinds = OperationalError | InterfaceError | InternalError | PoolTimeout
    return isinstance(error, kinds) and not worth_repeating(error)
