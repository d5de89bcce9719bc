"""`structuredbandits keys`: make, list and revoke API keys of a service.

This module knows the options and what is printed. It must not know how keys are kept.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from structuredbandits.cli.examples import examples

if TYPE_CHECKING:
    from sqlalchemy import Connection

_COMMAND = "structuredbandits keys"
KEYS_EXAMPLES = examples(
    f"{_COMMAND} create --db bandits.db --scopes admin",
    f"{_COMMAND} create --db bandits.db --scopes decide,reward --experiment shop",
    f"{_COMMAND} list --db bandits.db",
    f"{_COMMAND} revoke 3f2a9c01d4e5 --db bandits.db",
)
Database = Annotated[
    str,
    typer.Option(
        "--db",
        metavar="URL",
        envvar="STRUCTUREDBANDITS_DB",
        help="A file for SQLite, or postgresql://...",
    ),
]
_DEFAULT = "structuredbandits.db"

keys = typer.Typer(
    name="keys",
    help="Make, list and revoke the API keys of a service.",
    epilog=KEYS_EXAMPLES,
    rich_markup_mode=None,
    no_args_is_help=True,
)


@contextlib.contextmanager
def _opened(db: str) -> Iterator[Connection]:
    from structuredbandits.service.storage import migrate, open_database, reachable

    database = open_database(db)
    try:
        migrate(database.url)
        with reachable(database.url), database.write() as connection:
            yield connection
    finally:
        database.close()


@keys.command(epilog=KEYS_EXAMPLES)
def create(
    scopes: Annotated[
        str,
        typer.Option(
            metavar="SCOPES", help="With commas between: decide, reward, read, admin (everything)."
        ),
    ] = "decide,reward",
    experiment: Annotated[
        str | None,
        typer.Option(metavar="ID", show_default="all of them", help="The only one it opens."),
    ] = None,
    label: Annotated[str, typer.Option(metavar="TEXT", help="What it is for.")] = "",
    db: Database = _DEFAULT,
) -> None:
    """Make a key and print it, this once: only its hash is kept."""
    from structuredbandits.service.keys import create_key

    with _opened(db) as connection:
        text, _ = create_key(connection, scopes.split(","), experiment, label)
    print(text)


@keys.command("list")
def show(db: Database = _DEFAULT) -> None:
    """List the keys, without what would open anything."""
    from structuredbandits.cli.display import print_table
    from structuredbandits.service.answers import timestamp
    from structuredbandits.service.keys import list_keys

    with _opened(db) as connection:
        found = list_keys(connection)
    print_table(
        ["id", "scopes", "experiment", "label", "created", "revoked"],
        [
            (
                grant.id or "",
                ",".join(sorted(grant.scopes)),
                grant.experiment or "all",
                grant.label,
                (timestamp(grant.created) or "")[:19],
                (timestamp(grant.revoked) or "")[:19],
            )
            for grant in found
        ],
    )


@keys.command()
def revoke(
    key: Annotated[str, typer.Argument(metavar="ID", help="The key's id, not the key.")],
    db: Database = _DEFAULT,
) -> None:
    """Let a key open nothing any more."""
    from structuredbandits.service.keys import revoke_key

    with _opened(db) as connection:
        revoke_key(connection, key)
    print(f"revoked {key}")
