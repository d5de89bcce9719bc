"""Bring a database's tables to the version that this library needs.

This module knows alembic. It must not know what the tables mean.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, text
from sqlalchemy.engine import URL

from structuredbandits.errors import WrongVersion
from structuredbandits.service.storage.database import SCHEMA_LOCK, one_off_engine, reachable

if TYPE_CHECKING:
    from alembic.config import Config

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


@contextlib.contextmanager
def _alone(url: URL) -> Iterator[Connection]:
    """A transaction in which nobody else migrates."""
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
    """Make or change the tables as needed, once, however many processes start together.

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
        If a newer version of this library has been here.
    """
    from alembic import command

    wanted = version or newest_version()
    with reachable(url), _alone(url) as connection:
        present = schema_version(connection)
        if present is not None and present not in known_versions():
            raise WrongVersion(
                f"the database has tables of version {present!r} and this library knows "
                f"{newest_version()!r}; use the version of the library that made them."
            )
        command.upgrade(_config(connection), wanted)
        return wanted
