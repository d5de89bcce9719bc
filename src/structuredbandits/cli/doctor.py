"""`structuredbandits doctor`: whether a service can run here, and whether its data are whole.

This module knows what is printed. It must not know what is looked at.
"""

from __future__ import annotations

from typing import Annotated

import typer

from structuredbandits.cli.examples import examples
from structuredbandits.cli.keys import Database

DOCTOR_EXAMPLES = examples(
    "structuredbandits doctor --db bandits.db",
    "structuredbandits doctor --db postgresql://ana@db.example/bandits --json",
)
_SOMETHING_WRONG = 1


def doctor(
    db: Database = "structuredbandits.db",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON in place of the table.")
    ] = False,
) -> None:
    """Check packages, the database and what is in it; it changes nothing.

    Ends with 1 if something is wrong.
    """
    from structuredbandits.cli.display import print_json, print_table
    from structuredbandits.service.checkup import check_up
    from structuredbandits.service.storage import open_database

    database = open_database(db)
    try:
        findings = list(check_up(database))
    finally:
        database.close()
    if as_json:
        print_json([finding._asdict() for finding in findings])
    else:
        print_table(
            ["", "what", "found"],
            [("ok" if one.good else "WRONG", one.what, one.told) for one in findings],
        )
    if not all(one.good for one in findings):
        raise typer.Exit(_SOMETHING_WRONG)
