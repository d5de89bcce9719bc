"""The output of `structuredbandits learn --subject`: the models compared, and the kinds found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from structuredbandits.cli.output import console, print_json, print_table

if TYPE_CHECKING:
    from structuredbandits.learning import KindsReport
    from structuredbandits.structure import Structure


def print_kinds(
    structure: Structure, report: KindsReport, out: Path | None, *, as_json: bool, quiet: bool
) -> None:
    """Print the comparison of models on held-out subjects, and what distinguishes the kinds."""
    if as_json:
        print_json(as_plain_data(structure, report, out))
        return
    if quiet:
        return
    numbers = sorted({number for row in report.scores for number in row.first_choices})
    titles = [f"first {number}" for number in numbers]
    print_table(
        ["model", "log score gained", "±", *titles],
        [
            (
                row.model,
                f"{row.difference:.3g}",
                f"{row.standard_error:.2g}",
                *(_number(row.first_choices.get(number)) for number in numbers),
            )
            for row in report.scores
        ],
        right=("log score gained", "±", *titles),
    )
    screen = console()
    if numbers:
        screen.print(
            "The last columns are mean rewards of the first choices, by replay on the held-out "
            "subjects' own rewards.",
            markup=False,
        )
    for line in report.lines():
        screen.print(line, markup=False)
    if out is not None:
        screen.print(f"Structure: {out}", markup=False, soft_wrap=True)
        screen.print(f"Next: structuredbandits recommend {out}", markup=False, soft_wrap=True)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def as_plain_data(structure: Structure, report: KindsReport, out: Path | None) -> dict[str, Any]:
    """The report as plain data for `--json`."""
    return {
        "subjects": report.n_subjects,
        "held_out": report.n_held_out,
        "chosen": report.chosen,
        "models": [row._asdict() for row in report.scores],
        "kinds": [kind._asdict() for kind in report.kinds],
        "arms": list(structure.arms),
        "digest": structure.digest,
        "file": None if out is None else str(out),
    }
