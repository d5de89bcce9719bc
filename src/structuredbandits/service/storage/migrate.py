"""Migrates the tables of a database to the version that this library needs."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, text
from sqlalchemy.engine import URL

from structuredbandits.errors import WrongVersion
from structuredbandits.service.storage.database import SCHEMA_LOCK, one_off_engine, reachable

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import Script

_log = logging.getLogger(__name__)
_FOLDER = Path(__file__).parent / "migrations"


def _config(connection: Connection | None = None) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def newest_version() -> str:
    """The version of the tables that this library needs.

    Examples
    --------
    >>> newest_version() >= "0001"
    True
    """
    from alembic.script import ScriptDirectory

    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None
    return head


def known_versions() -> frozenset[str]:
    """All versions of the tables that this library can bring to the newest.

    Examples
    --------
    >>> known_versions() >= {"0001", newest_version()}
    True
    """
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory.from_config(_config()).walk_revisions()
    return frozenset(script.revision for script in scripts)


def schema_version(connection: Connection) -> str | None:
    """The version of the tables in a database; None if it is empty."""
    from alembic.migration import MigrationContext

    return MigrationContext.configure(connection).get_current_revision()


def _create_private(path: str) -> None:
    """Create a SQLite file that only its owner can read; SQLite's log gets the same mode."""
    # An existing file keeps its mode. What cannot be created, SQLite reports.
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


@contextlib.contextmanager
def _alone(url: URL) -> Iterator[Connection]:
    """A transaction that excludes other migrations."""
    if url.get_backend_name() == "sqlite":
        _create_private(url.database or "")
    engine = one_off_engine(url)
    try:
        with engine.connect() as connection:
            if url.get_backend_name() == "sqlite":
                connection.exec_driver_sql("PRAGMA journal_mode=WAL")
                connection.rollback()
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                lock = {"lock": SCHEMA_LOCK}
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), lock)
            yield connection
            connection.commit()
    finally:
        engine.dispose()


def migrate(url: URL, version: str | None = None) -> str:
    """Create or migrate the tables, once, also if many processes start together.

    A migration that works through a large table does so in batches, one transaction each, and logs
    its progress; after an interruption the next call continues with the next batch.

    Parameters
    ----------
    url
        Where they are.
    version
        What to bring them to; the newest version if left out.

    Returns
    -------
    str
        The version that the tables have now.

    Raises
    ------
    WrongVersion
        If the tables are of a newer version of this library.
    """
    wanted = version or newest_version()
    with reachable(url):
        while not _step(url, wanted):
            pass
    return wanted


def _step(url: URL, wanted: str) -> bool:
    """Do one batch or one migration, in one transaction; return whether the tables are ready."""
    from alembic import command
    from alembic.script import ScriptDirectory

    with _alone(url) as connection:
        present = schema_version(connection)
        if present is not None and present not in known_versions():
            raise WrongVersion(
                f"the database has tables of version {present!r} and this library knows "
                f"{newest_version()!r}; use the version of the library that made them."
            )
        if present is None or present >= wanted:  # nothing to work through
            command.upgrade(_config(connection), wanted)
            return True
        scripts = ScriptDirectory.from_config(_config()).walk_revisions(present, wanted)
        following = min((one for one in scripts if one.revision > present), key=_revision)
        work = getattr(following.module, "work", None)
        done = None if work is None else work(connection)
        detail = {"from": present, "to": following.revision, "done": done}
        if done is None:
            command.upgrade(_config(connection), following.revision)
            detail["done"] = "all"
        _log.info("migrating the tables of the database", extra=detail)
        return done is None and following.revision == wanted


def _revision(script: Script) -> str:
    return script.revision
