"""`structuredbandits analyze`: competitive arms and bounds of a structure, before any pull."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from structuredbandits.cli.help_examples import examples
from structuredbandits.cli.simulate import folder_name, whole_number

if TYPE_CHECKING:
    from structuredbandits.recommendation import RoundsToKnow
    from structuredbandits.structure import Structure
    from structuredbandits.theory import Analysis, AnalysisTable

_COMMAND = "structuredbandits analyze"
ANALYZE_EXAMPLES = examples(
    f"{_COMMAND} three-arms",
    f"{_COMMAND} three-arms --theta 0.5 --theta 2.6 --horizon 50000",
    f"{_COMMAND} movielens --epsilon 0.05 --epsilon 0.1 --out pictures",
    f"{_COMMAND} linear --theta 0.5,0.5 --json",
)
REGIONS, COUNTS = "regions.png", "competitive.png"
# For a finite Θ, if no ε is given: about this share of the range of the means.
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
            show_default="a summary of all",
            help="A hidden parameter to show in detail: a number (0.5), a vector (0.9,0.2), or a "
            "label or part of one (18-24 artist). Repeat the option for several.",
        ),
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            metavar="T",
            parser=whole_number,
            show_default=False,
            help="Also print the theoretical bounds for T rounds.",
        ),
    ] = None,
    alpha: Annotated[float, typer.Option(metavar="α", help="The α of UCB-C in the bounds.")] = 3.0,
    epsilon: Annotated[
        list[float] | None,
        typer.Option(
            metavar="ε",
            show_default="a few for a finite Θ",
            help="Also count the arms that are best within ε of θ. Repeat the option for several.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=folder_name,
            show_default=False,
            help=f"Write two figures, {REGIONS} and {COUNTS}, and a table (CSV) to this folder.",
        ),
    ] = None,
    fast: Annotated[
        bool,
        typer.Option("--fast", help="Do not simulate how many interactions tell types apart."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of the tables.")
    ] = False,
) -> None:
    """Analyse a structure before any pull: which arms compete, and which regret to expect.

    An arm is competitive at θ if it is the best at some θ' that the rewards of the best arm cannot
    distinguish from θ. Only the regret of competitive arms grows with the horizon.
    """
    from structuredbandits import theory
    from structuredbandits.cli.choices import read_thetas
    from structuredbandits.problems import load_structure

    known = load_structure(structure)
    thetas = read_thetas(theta or [], known.parameters)
    radii = tuple(epsilon or _usual_radii(known))
    settings: Any = {"horizon": horizon, "alpha": alpha, "epsilon": radii}
    reports = [theory.analyze(known, value, **settings) for value in thetas]
    # An analysis of all of Θ takes longer than of a few θ, and is not always needed.
    table = None if reports and out is None else theory.analyze(known, **settings)
    files = [] if table is None or out is None else _write(table, out)
    if as_json:
        from structuredbandits.cli.output import print_json

        data = _plain_data(known, table, reports, files)
        if not fast:
            places = thetas or [None]
            data["rounds_to_know"] = [
                {key: found._asdict() for key, found in _rounds(known, place).items()}
                for place in places
            ]
        print_json(data)
        return
    for report, place in zip(reports, thetas, strict=True):
        _print_report(report)
        if not fast:
            _print_rounds(known, place)
        print()
    if table is not None and not reports:
        _print_table(table)
        if not fast:
            _print_rounds(known, None)
    for path in files:
        print(f"Wrote {path}")


def _rounds(structure: Structure, theta: object) -> dict[str, RoundsToKnow]:
    """How many interactions it takes under the default policy and under uniform sampling."""
    from structuredbandits.recommendation import rounds_to_know

    return {
        "default": rounds_to_know(structure, theta=theta),
        "uniform": rounds_to_know(structure, "uniform", theta=theta),
    }


def _print_rounds(structure: Structure, theta: object) -> None:
    found = _rounds(structure, theta)
    default, uniform = found["default"], found["uniform"]
    print(
        "Interactions until the best arm of a visitor is known with 90 % (median of "
        f"{default.runs} simulated visitors): {default} under {default.policy}, {uniform} under "
        "uniform sampling."
    )


def _usual_radii(structure: Structure) -> tuple[float, ...]:
    """Default ε for a finite Θ, where C alone is not informative; none for a continuous Θ."""
    if structure.parameters.continuous:
        return ()
    wanted = _USUAL_RADIUS * float(structure.upper.max() - structure.lower.min())
    if wanted <= 0:
        return ()
    power = 10.0 ** math.floor(math.log10(wanted))
    middle = min((1, 2, 5, 10), key=lambda digit: abs(digit * power - wanted)) * power
    return tuple(float(f"{factor * middle:.3g}") for factor in (0.5, 1, 2))


def _write(table: AnalysisTable, out: Path) -> list[Path]:
    from structuredbandits.cli.output_folder import output_folder
    from structuredbandits.plots import competitive_plot, regions_plot, save

    names = [REGIONS, COUNTS, "analysis.csv"]
    with output_folder(out) as folder:
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
    from structuredbandits.cli.output import print_table
    from structuredbandits.theory.analysis_text import arm_rows, header_of, summary_lines, title_of

    header = header_of(report)
    print(title_of(report))
    print_table(header, arm_rows(report), right=("mean", "gap Δ", "ε", "η", *header[6:]))
    for line in summary_lines(report):
        print(line)


def _print_table(table: AnalysisTable) -> None:
    from structuredbandits.cli.output import print_table
    from structuredbandits.theory.analysis_text import table_lines

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
            (table.structure.label(i), *(f"{value}" for value in frame.iloc[i]))
            for i in range(0, len(frame), step)
        ]
        header = ["θ", "best arm", "C", "C̃", *radii]
        print_table(header, shown, right=tuple(header[2:]))
        if step > 1:
            print(f"{len(shown)} of {len(frame):,} θ are shown; use --out to write all.")
    for line in table_lines(table):
        print(line)
