"""`structuredbandits sweep`: a grid of simulations from a TOML file, into a folder that resumes.

This module knows the options and what is said. It must not know how the work is shared out.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from structuredbandits.cli.examples import examples
from structuredbandits.cli.simulate import folder_name, whole_number

if TYPE_CHECKING:
    from structuredbandits.simulation.sweeps import SweepResults
    from structuredbandits.simulation.sweeps.plan import Plan

_COMMAND = "structuredbandits sweep"
SWEEP_EXAMPLES = examples(
    f"{_COMMAND} sweep.toml --check",
    f"{_COMMAND} sweep.toml --out results --n-jobs 4",
    f"{_COMMAND} sweep.toml --out results --until 2% --max-runs 5000",
    f"{_COMMAND} sweep.toml --out /shared/results --engine dask --address tcp://head:8786",
)
# Some work failed while the rest was done: neither success nor bad input.
_SOME_FAILED = 1


def sweep(
    file: Annotated[
        Path, typer.Argument(metavar="FILE.toml", show_default=False, help="What to simulate.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=folder_name,
            show_default="the file's name without .toml",
            help="Where the results are kept; give it again to continue.",
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(metavar="NAME", help="Who does the work: local (processes), dask or ray."),
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", show_default=False, help="Of the Dask or Ray cluster that runs."
        ),
    ] = None,
    n_jobs: Annotated[
        int,
        typer.Option(metavar="N", parser=whole_number, help="Workers; -1 for all that there are."),
    ] = -1,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            show_default=False,
            help="Add runs until the standard error of each regret is below this share of it, "
            "such as 2%.",
        ),
    ] = None,
    max_runs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole_number,
            show_default="10,000",
            help="With --until: runs of a policy at a θ at the most.",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Only say whether the file is right, and how much it is."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON in place of the table.")
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Print no progress and no table: only errors, or JSON."),
    ] = False,
) -> None:
    """Simulate every combination in a TOML file, on one machine or on many.

    The file is checked before anything runs. If the work is ended, by whatever, the same command
    continues where it stopped.
    """
    from structuredbandits.simulation.sweeps import sweep as run
    from structuredbandits.simulation.sweeps.engines import Engine
    from structuredbandits.simulation.sweeps.grid import make_plan
    from structuredbandits.simulation.sweeps.settings import read_settings

    Engine(engine, address, n_jobs)  # refuses what is none, before anything is said
    plan = make_plan(read_settings(file), until, max_runs)
    if not quiet:
        print(_size(plan), file=sys.stderr, flush=True)
    if check:
        return
    results = run(
        file,
        file.with_suffix("") if out is None else out,
        engine=engine,  # type: ignore[arg-type]  # refused there if it is none
        address=address,
        n_jobs=n_jobs,
        until=until,
        max_runs=max_runs,
        progress="off" if quiet else "lines",
    )
    if as_json:
        from structuredbandits.cli.display import print_json

        print_json(_plain_data(results))
    elif not quiet:
        _print(results)
    if results.failed:
        raise typer.Exit(_complain(results))


def _size(plan: Plan) -> str:
    runs = sum(cell.runs for cell in plan.cells)
    rounds = sum(cell.runs * cell.horizon for cell in plan.cells)
    pieces = sum(len(cell.pieces(0, cell.runs)) for cell in plan.cells)
    text = f"{len(plan.cells):,} cells, {runs:,} runs, {rounds:,} rounds in {pieces:,} pieces"
    if plan.until is not None:
        text += f", then more runs until {plan.until:.2%} or {plan.max_runs:,} runs a cell"
    return text


def _plain_data(results: SweepResults) -> dict[str, Any]:
    return {
        "folder": str(results.folder),
        "complete": results.complete,
        "failed": results.failed,
        "cells": results.summary().to_dict("records") if results.has_files else [],
    }


def _print(results: SweepResults) -> None:
    from structuredbandits.cli.display import print_table

    if not results.has_files:
        return
    columns = ["policy", "problem", "theta", "horizon", "seed", "runs", "regret"]
    rows = [
        [
            *(str(row[key]) for key in ("policy", "problem", "theta")),
            *(f"{row[key]:,}" for key in ("horizon", "seed", "runs")),
            f"{row['regret']:,.1f} ± {row['standard_error']:,.1f}",
        ]
        for row in results.summary().to_dict("records")
    ]
    print_table(columns, rows, right=columns[3:])
    print(f"Results: {results.folder}")


def _complain(results: SweepResults) -> int:
    for reason in results.failed.values():
        print(f"failed: {reason}", file=sys.stderr)
    print(
        f"error: {len(results.failed)} pieces failed and the rest is done; the same command tries "
        "them again.",
        file=sys.stderr,
    )
    return _SOME_FAILED
