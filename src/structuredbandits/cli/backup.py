"""`structuredbandits backup` and `restore`: a whole service as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from structuredbandits.cli.help_examples import examples
from structuredbandits.cli.keys import Database

BACKUP_EXAMPLES = examples(
    "structuredbandits backup bandits.backup --db bandits.db",
    "structuredbandits backup bandits.backup --db postgresql://ana@db.example/bandits",
)
RESTORE_EXAMPLES = examples(
    "structuredbandits restore bandits.backup --db new.db",
    "structuredbandits restore bandits.backup --db postgresql://ana@db.example/new",
)
_DEFAULT = "structuredbandits.db"


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    db: Database = _DEFAULT,
) -> None:
    """Write all experiments, subjects, decisions and keys to a file, while the service runs.

    The file contains API keys only as hashes, but the secret seeds of experiments: keep it safe.
    """
    from structuredbandits.errors import InvalidInput
    from structuredbandits.service.backup import back_up
    from structuredbandits.service.storage import open_database, reachable, schema_version

    database = open_database(db)
    try:
        if database.is_sqlite and not Path(database.url.database or "").is_file():
            raise InvalidInput(f"the database {database.url.database} does not exist; check --db.")
        with reachable(database.url):
            with database.read() as connection:
                if schema_version(connection) is None:
                    raise InvalidInput(
                        f"the database {database.name} is not that of a service; check --db."
                    )
            counts = back_up(database, file)
        print(_counted(counts, f"written to {file}"))
    finally:
        database.close()


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `backup` wrote.")],
    db: Database = _DEFAULT,
) -> None:
    """Restore a backup into an empty database, of SQLite or PostgreSQL."""
    from structuredbandits.service.backup import restore as restore_backup
    from structuredbandits.service.storage import open_database, reachable

    database = open_database(db)
    try:
        with reachable(database.url):
            counts = restore_backup(database, file)
        print(_counted(counts, f"restored into {database.name}"))
    finally:
        database.close()


def _counted(counts: dict[str, int], what: str) -> str:
    parts = ", ".join(
        f"{counts[name]:,} {name}" for name in ("experiments", "subjects", "decisions", "keys")
    )
    return f"{parts} {what}"
