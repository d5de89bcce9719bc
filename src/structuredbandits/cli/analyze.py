"""`structuredbandits analyze`: what a structure allows before any pull, as tables and pictures.

This module knows the options and the order of the work. It must not know how arms compete.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from structuredbandits.cli.examples import examples
from structuredbandits.cli.simulate import folder_name, whole_number

if TYPE_CHECKING:
    from structuredbandits.structure import Structure
    from structuredbandits.theory import Analysis, AnalysisTable

_COMMAND = "structuredbandits analyze"
EXAMPLES = examples(
    f"{_COMMAND} three-arms",
    f"{_COMMAND} three-arms --theta 0.5 --theta 2.6 --horizon 50000",
    f"{_COMMAND} movielens --epsilon 0.05 --epsilon 0.1 --out pictures",
    f"{_COMMAND} linear --theta 0.5,0.5 --json",
)
REGIONS, COUNTS = "regions.png", "competitive.png"
# For a finite Θ: about so large a share of the range of the means, if no ε is given.
_USUAL_RADIUS = 1 / 30
_MOST_ROWS = 20


def analyze(
    structure: Annotated[
        str,
        typer.Argument(
            metavar="STRUCTURE",
            show_default=False,
            help="The name of an embedded problem (see 'structuredbandits problems') or a "
            ".structure file.",
        ),
    ],
    theta: Annotated[
        list[str] | None,
        typer.Option(
            metavar="θ",
            show_default="all of Θ, in short",
            help="A hidden parameter to look at closely: a number (0.5), a vector (0.9,0.2), or a "
            "label or a part of one (18-24 artist). Repeat the option for several.",
        ),
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            metavar="T",
            parser=whole_number,
            show_default=False,
            help="Also print the theorems' bounds for T rounds.",
        ),
    ] = None,
    alpha: Annotated[
        float, typer.Option(metavar="α", help="The α of UCB-C that the bounds are for.")
    ] = 3.0,
    epsilon: Annotated[
        list[float] | None,
        typer.Option(
            metavar="ε",
            show_default="a few for a finite Θ",
            help="Also count the arms that are the best within ε of θ. Repeat it for several.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=folder_name,
            show_default=False,
            help=f"Write two pictures, {REGIONS} and {COUNTS}, and a table (CSV) to this folder.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON in place of the tables.")
    ] = False,
) -> None:
    """Say what a structure allows before any pull: which arms compete, and what regret to expect.

    An arm is competitive at θ if it is the best at some θ' that the best arm's rewards cannot
    tell from θ. Only competitive arms cost more the longer one plays.
    """
    from structuredbandits.cli.choices import read_thetas
    from structuredbandits.problems import load_structure
    from structuredbandits.theory import analyze as find

    known = load_structure(structure)
    thetas = read_thetas(theta or [], known.parameters)
    radii = tuple(epsilon or _usual_radii(known))
    settings: Any = {"horizon": horizon, "alpha": alpha, "epsilon": radii}
    reports = [find(known, value, **settings) for value in thetas]
    # All of Θ takes longer than a few of its members, and is not always asked for.
    table = None if reports and out is None else find(known, **settings)
    files = [] if table is None or out is None else _write(table, out)
    if as_json:
        from structuredbandits.cli.display import print_json

        print_json(_plain_data(known, table, reports, files))
        return
    for report in reports:
        _print_report(report)
    if table is not None and not reports:
        _print_table(table)
    for path in files:
        print(f"Wrote {path}")


def _usual_radii(structure: Structure) -> tuple[float, ...]:
    """Some ε for a finite Θ, where C itself says little; none for a continuous one."""
    if structure.parameters.continuous:
        return ()
    wanted = _USUAL_RADIUS * float(structure.upper.max() - structure.lower.min())
    if wanted <= 0:
        return ()
    power = 10.0 ** math.floor(math.log10(wanted))
    middle = min((1, 2, 5, 10), key=lambda digit: abs(digit * power - wanted)) * power
    return tuple(float(f"{factor * middle:.3g}") for factor in (0.5, 1, 2))


def _write(table: AnalysisTable, out: Path) -> list[Path]:
    from structuredbandits.cli.folder import whole_folder
    from structuredbandits.plots import competitive_plot, regions_plot, save

    names = [REGIONS, COUNTS, "analysis.csv"]
    with whole_folder(out) as folder:
        save(regions_plot(table), folder / REGIONS)
        save(competitive_plot(table), folder / COUNTS)
        table.to_frame().to_csv(folder / "analysis.csv")
    return [out / name for name in names]


def _plain_data(
    structure: Structure, table: AnalysisTable | None, reports: list[Analysis], files: list[Path]
) -> dict[str, Any]:
    data: dict[str, Any] = {
        "structure": structure.name,
        "arms": list(structure.arms),
        "files": [str(path) for path in files],
    }
    if table is None or reports:
        return data | {"thetas": [report.to_dict() for report in reports]}
    rows = table.to_frame().reset_index().astype(object).to_dict("records")
    regions = [region._asdict() for region in table.regions]
    return data | {"exact": table.exact, "note": table.note, "regions": regions, "rows": rows}


def _print_report(report: Analysis) -> None:
    from structuredbandits.cli.display import print_table
    from structuredbandits.theory.display import arm_rows, header_of, summary_lines, title_of

    header = header_of(report)
    print(title_of(report))
    print_table(header, arm_rows(report), right=("mean", "gap Δ", "ε", "η", *header[6:]))
    for line in summary_lines(report):
        print(line)
    print()


def _print_table(table: AnalysisTable) -> None:
    from structuredbandits.cli.display import print_table
    from structuredbandits.theory.display import table_lines

    print(table.structure.name or "structure")
    if 0 < len(table.regions) <= _MOST_ROWS:
        rows = [
            (f"{region.low:.6g} to {region.high:.6g}", ", ".join(region.arms), f"{region.C}")
            for region in table.regions
        ]
        print_table(["θ", "best arm", "C"], rows, right=("C",))
    else:
        radii = [f"C({radius:g})" for radius in table.radii]
        names = ["optimal_arm", "C", "C_tilde", *radii]
        frame = table.to_frame()[names]
        step = -(-len(frame) // _MOST_ROWS)
        shown = [
            (table.structure.label(i), *(f"{cell}" for cell in frame.iloc[i]))
            for i in range(0, len(frame), step)
        ]
        header = ["θ", "best arm", "C", "C̃", *radii]
        print_table(header, shown, right=tuple(header[2:]))
        if step > 1:
            print(f"{len(shown)} of {len(frame):,} θ are shown; --out writes all.")
    for line in table_lines(table):
        print(line)
