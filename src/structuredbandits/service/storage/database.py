"""Connections to SQLite or PostgreSQL, with time limits and durable commits."""

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

# Writers share this lock, an export takes it exclusively for a moment: then everything numbered
# before is committed.
_SETTLEMENT_LOCK = 0x5B_5E77
SCHEMA_LOCK = 0x5B_5C4E
# SQLSTATE of PostgreSQL when it accepts no writes.
_READ_ONLY = "25006"
# Time limit of a statement of a background job.
_PATIENT_SECONDS = 60
# The connection of look-ups of keys.
_KEY_READERS = 1
# Of SQLite's own steps; they take less than a millisecond.
_STEPS_BETWEEN_LOOKS = 10_000


def now() -> int:
    """Return the time as it is stored: microseconds since 1970, UTC."""
    return time.time_ns() // 1000


def database_url(given: str) -> URL:
    """Read a path or a URL.

    Examples
    --------
    >>> database_url("bandits.db").render_as_string()
    'sqlite:///bandits.db'
    >>> database_url("postgresql://ana@db/bandits").drivername
    'postgresql+psycopg'
    """
    if "://" not in given:
        if not given.strip():
            raise InvalidInput("the database is ''; give a path such as bandits.db, or a URL.")
        return URL.create("sqlite", database=given)
    try:
        url = make_url(given)
    except (ArgumentError, ValueError):
        raise InvalidInput(
            "the database URL cannot be read; give one such as sqlite:///bandits.db or "
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
        """Open a reading transaction, which is interrupted after ``seconds``.

        PostgreSQL interrupts a long statement itself; SQLite has to be interrupted.
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
        """Raise the time limit of this transaction's statements above that of a request."""
        if not self.is_sqlite:
            connection.execute(text(f"SET LOCAL statement_timeout = '{_PATIENT_SECONDS}s'"))

    def clock(self, connection: Connection) -> int:
        """The time of the database, in microseconds: the same for all replicas."""
        moment = (
            "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000"
            if self.is_sqlite
            else "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"
        )
        return int(connection.execute(text(moment)).scalar_one())

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
        # A writer that took a number up to this one holds the lock until it commits.
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
        A path or a URL.
    settings
        How long to wait for what.
    """
    url = database_url(given)
    if url.get_backend_name() == "sqlite" and url.database:
        folder = Path(url.database).resolve().parent
        if not folder.is_dir():
            raise InvalidInput(f"there is no folder {folder}; create it, or give another database.")
    return Database(url, settings or ServiceSettings(database=given))


def _sqlite_engine(url: URL, settings: ServiceSettings, writes: bool) -> Engine:
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=1 if writes else settings.readers + _KEY_READERS,
        max_overflow=4,
        pool_timeout=settings.lock_seconds,
        connect_args={"timeout": settings.lock_seconds, "check_same_thread": False},
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None  # transactions begin explicitly
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")
        if writes:
            # A checkpoint delays a transaction, so checkpoints are kept small.
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
        pool_size=settings.writers if writes else settings.readers + _KEY_READERS,
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
        # A server that has become read-only is not the primary any more: reconnect.
        if getattr(context.original_exception, "sqlstate", None) == _READ_ONLY:
            context.is_disconnect = True

    return engine


def one_off_engine(url: URL) -> Engine:
    """An engine for a single task, such as a migration: no pool, patient."""
    patience = {"timeout": 30.0} if url.get_backend_name() == "sqlite" else {"connect_timeout": 5}
    return create_engine(url, poolclass=NullPool, connect_args=patience, hide_parameters=True)


class Stale(Exception):
    """A cached row is out of date; the transaction has to be repeated."""


@contextlib.contextmanager
def reachable(url: URL) -> Iterator[None]:
    """Raise an error of one sentence, without the password, if a database cannot be used."""
    try:
        yield
    except DBAPIError as error:
        reason = " ".join(str(error.orig).split())[:300].rstrip(".")
        name = url.render_as_string(hide_password=True)
        raise FileError(
            f"the database {name} cannot be used ({reason}); start it, or check --db."
        ) from error


def worth_repeating(error: Exception) -> bool:
    """Whether a transaction failed only because of another one, and can be repeated."""
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    return isinstance(error, IntegrityError | Stale) or state in ("40001", "40P01")


def is_away(error: Exception) -> bool:
    """Whether the database itself failed, so that repeating parts of a transaction is useless."""
    kinds = OperationalError | InterfaceError | InternalError | PoolTimeout
    return isinstance(error, kinds) and not worth_repeating(error)
