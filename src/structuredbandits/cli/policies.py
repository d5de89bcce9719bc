"""`structuredbandits policies`: the names that `--policies` accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from structuredbandits.policies.policy_descriptions import PolicyRow


def policies(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of the tables.")
    ] = False,
    as_bibtex: Annotated[
        bool, typer.Option("--bibtex", help="Print a BibTeX file of the papers behind them.")
    ] = False,
) -> None:
    """List the policies and the suffixes of their names."""
    from structuredbandits.cli.output import print_json, print_table
    from structuredbandits.policies.policy_descriptions import SUFFIXES, describe_policies
    from structuredbandits.policies.registry import policy_names

    if as_bibtex:
        from structuredbandits.policies.bibtex import bibtex

        print(bibtex())
        return
    rows = describe_policies()
    if as_json:
        about = {row.name: row for row in rows}
        print_json([_entry(name, about.get(name)) for name in policy_names()])
        return
    print_table(["base policy", "what it does"], [_cells(row) for row in rows if row.classical])
    print_table(
        ["structured policy", "what it does"], [_cells(row) for row in rows if not row.classical]
    )
    print_table(["suffix of a base policy", "what it adds"], SUFFIXES.items())
    print("Parameters in parentheses: ucb-c(alpha=2). Several: ucb,ts,ts-c. All: all")
    print("Rules, references and when to use which: structuredbandits policies --json")


def _cells(row: PolicyRow) -> tuple[str, str]:
    text = row.summary or row.rule
    for need in row.needs:
        text += " Better with a horizon." if need == "horizon" else f" Needs {need}."
    return row.call, text


def _entry(name: str, row: PolicyRow | None) -> dict[str, Any]:
    from structuredbandits.policies.registry import make_algorithm

    algorithm = make_algorithm(name)
    entry = {"name": name, "classical": bool(algorithm.classical), "code": repr(algorithm)}
    if row is None:
        return entry
    return entry | {
        "summary": row.summary,
        "use": row.use,
        "needs": list(row.needs),
        "reference": row.reference,
        "rule": row.rule,
    }
