"""`structuredbandits simulate`: compares policies on a problem, as a table, a figure and files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from structuredbandits.cli.help_examples import examples
from structuredbandits.errors import FileError

if TYPE_CHECKING:
    from structuredbandits.cli.choices import Policies, SimulationTarget
    from structuredbandits.simulation import Results


def whole_number(text: str | int) -> int:
    """Read a whole number; 10_000 and 1e4 are accepted as well."""
    try:
        number = float(text) if "e" in str(text).lower() else int(text)
        if number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise typer.BadParameter(f"{text!r} is not a whole number, such as 100.")


def folder_name(text: str | Path) -> Path:
    """Read the name of a folder; an empty name, as from an unset variable, is refused."""
    if not str(text).strip():
        raise typer.BadParameter("the name of the folder is empty; give one such as results.")
    return Path(text)


_COMMAND = "structuredbandits simulate"
SIMULATE_EXAMPLES = examples(
    f"{_COMMAND} three-arms",
    f"{_COMMAND} three-arms --theta 0.5,2.6 --policies ucb,ucb-c",
    f"{_COMMAND} linear --theta 0.9,0.9 --theta 0.5,0.5",
    f'{_COMMAND} movielens --theta "18-24 artist" --out results',
    f'{_COMMAND} dose --policies "ts,ts-c,ucb-c(alpha=2)"',
    f"{_COMMAND} shop.structure --policies all --runs 20",
)


def simulate(
    problem: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM",
            show_default=False,
            help="The name of an embedded problem (see 'structuredbandits problems') or a "
            ".structure file.",
        ),
    ],
    policies: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Policies, separated by commas (see 'structuredbandits policies'), or 'all'.",
        ),
    ] = "ucb,ucb-s,ucb-c,ts,ts-c",
    theta: Annotated[
        list[str] | None,
        typer.Option(
            metavar="θ",
            show_default="those of the problem",
            help="The hidden parameter, such as the visitor type: a number (0.5), a vector "
            "(0.9,0.2), or a label or part of one (18-24 artist). Several: repeat the option, or "
            "separate them by semicolons (or commas, unless θ is a vector).",
        ),
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            metavar="T",
            parser=whole_number,
            show_default="that of the problem",
            help="Rounds per run.",
        ),
    ] = None,
    runs: Annotated[
        int,
        typer.Option(metavar="N", parser=whole_number, help="Runs per policy and θ."),
    ] = 100,
    seed: Annotated[
        int, typer.Option(metavar="N", parser=whole_number, help="Equal seeds give equal results.")
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=folder_name,
            show_default=False,
            help="Also write a figure, two tables (CSV) and all runs (Parquet) to this folder.",
        ),
    ] = None,
    n_jobs: Annotated[
        int,
        typer.Option(metavar="N", parser=whole_number, help="Number of threads; -1 for all cores."),
    ] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of the table.")
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Print only errors, or JSON."),
    ] = False,
) -> None:
    """Simulate policies on a problem and compare their regret.

    Regret is the reward lost compared with always choosing the best arm. In each run all policies
    face identical simulated rewards.
    """
    from structuredbandits.cli import choices

    target = choices.read_target(problem, theta or [], horizon)
    named = choices.read_policies(policies, target)
    settings = {"runs": runs, "seed": seed, "n_jobs": n_jobs}

    def show(results: Results, files: list[Path]) -> None:
        from structuredbandits.cli import simulation_report as report
        from structuredbandits.cli.output import print_json

        if as_json:
            print_json(report.as_plain_data(target, results, named.left_out, files))
        elif not quiet:
            report.print_report(target, results, named.left_out, files)

    _simulate(target, named, settings, out, not quiet, show)


def _simulate(
    target: SimulationTarget,
    policies: Policies,
    settings: dict[str, Any],
    out: Path | None,
    progress: bool,
    show: Callable[[Results, list[Path]], None],
) -> None:
    from structuredbandits import simulation
    from structuredbandits.cli.output_folder import output_folder

    def do() -> Results:
        return simulation.simulate(
            target.source,
            policies.names,
            list(target.thetas),
            horizon=target.horizon,
            progress="lines" if progress else "off",
            **settings,
        )

    if out is None:
        show(do(), [])
        return
    from structuredbandits.cli.simulation_report import write_files

    results = None
    try:
        with output_folder(out) as folder:
            results = do()
            names = write_files(results, folder)
    except FileError:
        if results is not None:  # a full disk does not lose the computed results
            show(results, [])
        raise
    show(results, [out / name for name in names])
