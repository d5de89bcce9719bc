"""`structuredbandits audit`: shows who changed experiments, keys and rewards of a service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from structuredbandits.cli.help_examples import examples
from structuredbandits.cli.keys import Database

AUDIT_EXAMPLES = examples(
    "structuredbandits audit --db bandits.db",
    "structuredbandits audit --db bandits.db --experiment shop --json > audit.jsonl",
)
_AT_ONCE = 1_000


def audit(
    experiment: Annotated[
        str | None,
        typer.Option(metavar="ID", show_default="all", help="Only lines of this experiment."),
    ] = None,
    after: Annotated[
        int, typer.Option(metavar="N", help="Only lines with a larger number than this.")
    ] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per line instead of a table.")
    ] = False,
    db: Database = "structuredbandits.db",
) -> None:
    """Show the audit log, the oldest lines first."""
    from structuredbandits.cli.output import print_table
    from structuredbandits.errors import InvalidInput
    from structuredbandits.service.reporting.audit_log import read_audit
    from structuredbandits.service.storage import migrate, open_database, reachable

    database = open_database(db)
    rows: list[tuple[str, ...]] = []
    try:
        if database.is_sqlite and not Path(database.url.database or "").is_file():
            raise InvalidInput(f"the database {database.url.database} does not exist; check --db.")
        migrate(database.url)
        while True:
            with reachable(database.url), database.read() as connection:
                lines = read_audit(connection, experiment, after, _AT_ONCE)
            for line in lines:
                if as_json:
                    print(json.dumps(line))
                else:
                    shown = (line["created"][:19], line["action"], line["experiment"] or "")
                    who = (line["subject"] or "", line["key"] or "")
                    rows.append((str(line["number"]), *shown, *who, json.dumps(line["detail"])))
            if len(lines) < _AT_ONCE:
                break
            after = lines[-1]["number"]
    finally:
        database.close()
    if not as_json:
        columns = ["number", "time", "action", "experiment", "subject", "key", "detail"]
        print_table(columns, rows, right=["number"])
