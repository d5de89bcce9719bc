"""`structuredbandits keys`: creates, lists, rotates and revokes the API keys of a service."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from structuredbandits.cli.help_examples import examples

if TYPE_CHECKING:
    from sqlalchemy import Connection

_COMMAND = "structuredbandits keys"
KEYS_EXAMPLES = examples(
    f"{_COMMAND} create --db bandits.db --scopes admin",
    f"{_COMMAND} create --db bandits.db --scopes decide,reward --experiment shop",
    f"{_COMMAND} create --db bandits.db --experiment shop --origins https://shop.example",
    f"{_COMMAND} list --db bandits.db",
    f"{_COMMAND} rotate 3f2a9c01d4e5 --db bandits.db --overlap-hours 48",
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
    help="Create, list, rotate and revoke the API keys of a service.",
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
            metavar="SCOPES", help="Separated by commas: decide, reward, read, admin (everything)."
        ),
    ] = "decide,reward",
    experiment: Annotated[
        str | None,
        typer.Option(metavar="ID", show_default="all", help="The only experiment it can access."),
    ] = None,
    label: Annotated[str, typer.Option(metavar="TEXT", help="A note about its purpose.")] = "",
    origins: Annotated[
        str | None,
        typer.Option(
            metavar="ORIGINS",
            show_default=False,
            help="Make a publishable key, for web pages of these origins (separated by commas).",
        ),
    ] = None,
    per_address: Annotated[
        int,
        typer.Option(metavar="N", help="Requests per minute from one address, if publishable."),
    ] = 600,
    per_subject: Annotated[
        int,
        typer.Option(metavar="N", help="Decisions per minute for one subject, if publishable."),
    ] = 60,
    signed: Annotated[
        bool,
        typer.Option(
            "--signed",
            help="Require subject tokens, if publishable; the secret that signs them is printed "
            "in a second line.",
        ),
    ] = False,
    expires_days: Annotated[
        float | None,
        typer.Option(metavar="N", show_default="never", help="Days after which it expires."),
    ] = None,
    per_minute: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            show_default="no limit",
            help="Requests per minute; each item of a batch counts.",
        ),
    ] = None,
    db: Database = _DEFAULT,
) -> None:
    """Create a key and print it once: only its hash is stored."""
    from structuredbandits.errors import InvalidInput
    from structuredbandits.service.security.api_keys import KeyTerms, create_key, subject_secret
    from structuredbandits.service.security.publishable_keys import PublicTerms, read_origins

    public = None
    if origins is not None:
        public = PublicTerms(read_origins(origins.split(",")), per_address, per_subject, signed)
    elif signed:
        raise InvalidInput("--signed is for publishable keys; give their --origins.")
    terms = KeyTerms(expires_days, per_minute)
    with _opened(db) as connection:
        text, grant = create_key(connection, scopes.split(","), experiment, label, public, terms)
        secret = subject_secret(connection, grant)
    _print_new(text, secret)


def _print_new(text: str, secret: str | None) -> None:
    print(text)
    if secret is not None:
        print(secret)


@keys.command("list")
def show(db: Database = _DEFAULT) -> None:
    """List the keys by ID, without their secret parts."""
    from structuredbandits.cli.output import print_table
    from structuredbandits.service.decisions.explanation import timestamp
    from structuredbandits.service.security.api_keys import list_keys

    with _opened(db) as connection:
        found = list_keys(connection)
    print_table(
        ["id", "scopes", "experiment", "label", "created", "last used", "expires", "revoked"],
        [
            (
                grant.id or "",
                ",".join(sorted(grant.scopes)),
                grant.experiment or "all",
                grant.label,
                *(
                    (timestamp(moment) or "")[:19]
                    for moment in (grant.created, grant.used, grant.expires, grant.revoked)
                ),
            )
            for grant in found
        ],
    )


@keys.command()
def rotate(
    key: Annotated[str, typer.Argument(metavar="ID", help="The ID of the key, not the key.")],
    overlap_hours: Annotated[
        float, typer.Option(metavar="N", help="Hours in which both keys work.")
    ] = 24.0,
    db: Database = _DEFAULT,
) -> None:
    """Replace a key: print its successor once, and let the old one expire."""
    from structuredbandits.service.security.api_keys import rotate_key, subject_secret

    with _opened(db) as connection:
        text, grant = rotate_key(connection, key, overlap_hours)
        secret = subject_secret(connection, grant)
    _print_new(text, secret)


@keys.command()
def revoke(
    key: Annotated[str, typer.Argument(metavar="ID", help="The ID of the key, not the key.")],
    db: Database = _DEFAULT,
) -> None:
    """Revoke a key: it no longer gives access."""
    from structuredbandits.service.security.api_keys import revoke_key

    with _opened(db) as connection:
        revoke_key(connection, key)
    print(f"revoked {key}")
