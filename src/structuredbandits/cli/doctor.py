"""`structuredbandits doctor`: checks the installation and the database of a service."""

from __future__ import annotations

from typing import Annotated

import typer

from structuredbandits.cli.help_examples import examples
from structuredbandits.cli.keys import Database

DOCTOR_EXAMPLES = examples(
    "structuredbandits doctor --db bandits.db",
    "structuredbandits doctor --db postgresql://ana@db.example/bandits --json",
)
_SOMETHING_WRONG = 1


def doctor(
    db: Database = "structuredbandits.db",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of the table.")
    ] = False,
) -> None:
    """Check the packages, the database and its content; nothing is changed.

    The exit code is 1 if a check fails.
    """
    from structuredbandits.cli.output import print_json, print_table
    from structuredbandits.service.doctor import run_checks
    from structuredbandits.service.storage import open_database

    database = open_database(db)
    try:
        findings = list(run_checks(database))
    finally:
        database.close()
    if as_json:
        print_json([finding._asdict() for finding in findings])
    else:
        print_table(
            ["", "check", "result"],
            [("ok" if one.good else "WRONG", one.what, one.told) for one in findings],
        )
    if not all(one.good for one in findings):
        raise typer.Exit(_SOMETHING_WRONG)
