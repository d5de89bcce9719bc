"""`structuredbandits problems`: the problems that come with the library."""

from __future__ import annotations

from typing import Annotated

import typer

_THETAS_SHOWN = 4


def problems(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of the table.")
    ] = False,
) -> None:
    """List the embedded problems: number of arms, number of θ (visitor types), default θ."""
    from structuredbandits.cli.output import print_json, print_table
    from structuredbandits.problems import describe_problems

    rows = describe_problems()
    if as_json:
        print_json([row._asdict() for row in rows])
        return
    print_table(
        ["name", "arms", "θ", "description", "default θ"],
        [
            (row.name, f"{row.arms}", f"{row.parameters:,}", row.title, _some(row.thetas))
            for row in rows
        ],
        right=("arms", "θ"),
    )
    print("Try one: structuredbandits simulate NAME")


def _some(thetas: tuple[str, ...]) -> str:
    rest = len(thetas) - _THETAS_SHOWN
    return ", ".join(thetas[:_THETAS_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
