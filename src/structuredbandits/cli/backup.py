"""`structuredbandits backup` and `restore`: a whole service as one file.

This module knows the options and what is printed. It must not know tables.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from structuredbandits.cli.examples import examples
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
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")],
    db: Database = _DEFAULT,
) -> None:
    """Write all experiments, subjects, decisions and keys to a file, while the service runs.

    API keys are in it only as hashes, but the experiments' secret seeds are: keep it safe.
    """
    from structuredbandits.errors import InvalidInput
    from structuredbandits.service.backup import back_up
    from structuredbandits.service.storage import open_database, reachable, schema_version

    database = open_database(db)
    try:
        if database.is_sqlite and not Path(database.url.database or "").is_file():
            raise InvalidInput(f"there is no database {database.url.database}; give --db.")
        with reachable(database.url):
            with database.read() as connection:
                if schema_version(connection) is None:
                    raise InvalidInput(f"the database {database.name} holds no service.")
            counts = back_up(database, file)
        print(_counted(counts, f"written to {file}"))
    finally:
        database.close()


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `backup` wrote.")],
    db: Database = _DEFAULT,
) -> None:
    """Fill an empty database from a backup; it may be of another kind than the first."""
    from structuredbandits.service.backup import restore as run
    from structuredbandits.service.storage import open_database, reachable

    database = open_database(db)
    try:
        with reachable(database.url):
            counts = run(database, file)
        print(_counted(counts, f"restored into {database.name}"))
    finally:
        database.close()


def _counted(counts: dict[str, int], what: str) -> str:
    told = ", ".join(
        f"{counts[name]:,} {name}" for name in ("experiments", "subjects", "decisions", "keys")
    )
    return f"{told} {what}"
