"""`structuredbandits sweep`: a grid of simulations from a TOML file, which can be resumed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from structuredbandits.cli.help_examples import examples
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
# Some pieces failed and the rest is complete: neither success nor bad input.
_SOME_FAILED = 1


def sweep(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.toml", show_default=False, help="The settings of the sweep."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=folder_name,
            show_default="name of the file without .toml",
            help="Folder of the results; give the same folder to resume.",
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(metavar="NAME", help="local (processes), dask or ray."),
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", show_default=False, help="Address of a running Dask or Ray cluster."
        ),
    ] = None,
    n_jobs: Annotated[
        int,
        typer.Option(
            metavar="N", parser=whole_number, help="Number of workers; -1 for all available."
        ),
    ] = -1,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            show_default=False,
            help="Add runs until the standard error of each mean regret is below this share of it, "
            "such as 2%.",
        ),
    ] = None,
    max_runs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole_number,
            show_default="10,000",
            help="With --until: maximum number of runs per configuration.",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Only check the file and print the amount of work."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of the table.")
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Print only errors, or JSON."),
    ] = False,
) -> None:
    """Simulate every combination in a TOML file, on one machine or on many.

    The file is checked before anything runs. After an interruption, the same command continues
    where it stopped.
    """
    from structuredbandits.simulation import sweeps
    from structuredbandits.simulation.sweeps.build_plan import make_plan
    from structuredbandits.simulation.sweeps.engines import Engine
    from structuredbandits.simulation.sweeps.sweep_settings import read_settings

    Engine(
        engine, address, n_jobs
    )  # raises an error for an invalid engine, before anything is printed
    plan = make_plan(read_settings(file), until, max_runs)
    if not quiet:
        print(_size(plan), file=sys.stderr, flush=True)
    if check:
        return
    results = sweeps.sweep(
        file,
        file.with_suffix("") if out is None else out,
        engine=engine,  # type: ignore[arg-type]  # checked above
        address=address,
        n_jobs=n_jobs,
        until=until,
        max_runs=max_runs,
        progress="off" if quiet else "lines",
    )
    if as_json:
        from structuredbandits.cli.output import print_json

        print_json(_plain_data(results))
    elif not quiet:
        _print(results)
    if results.failed:
        raise typer.Exit(_complain(results))


def _size(plan: Plan) -> str:
    configurations = plan.configurations
    runs = sum(one.runs for one in configurations)
    rounds = sum(one.runs * one.horizon for one in configurations)
    pieces = sum(len(one.pieces(0, one.runs)) for one in configurations)
    text = (
        f"{len(configurations):,} configurations, {runs:,} runs, {rounds:,} rounds "
        f"in {pieces:,} pieces"
    )
    if plan.until is not None:
        text += (
            f", then more runs until {plan.until:.2%} or {plan.max_runs:,} runs per configuration"
        )
    return text


def _plain_data(results: SweepResults) -> dict[str, Any]:
    return {
        "folder": str(results.folder),
        "complete": results.complete,
        "failed": results.failed,
        "cells": results.summary().to_dict("records") if results.has_files else [],
    }


def _print(results: SweepResults) -> None:
    from structuredbandits.cli.output import print_table
    from structuredbandits.cli.summary_rows import number_with_error

    if not results.has_files:
        return
    columns = ["policy", "problem", "theta", "horizon", "seed", "runs", "regret"]
    rows = [
        [
            *(str(row[key]) for key in ("policy", "problem", "theta")),
            *(f"{row[key]:,}" for key in ("horizon", "seed", "runs")),
            number_with_error(row["regret"], row["standard_error"]),
        ]
        for row in results.summary().to_dict("records")
    ]
    print_table(columns, rows, right=columns[3:])
    print(f"Results: {results.folder}")


def _complain(results: SweepResults) -> int:
    for reason in results.failed.values():
        print(f"failed: {reason}", file=sys.stderr)
    print(
        f"error: {len(results.failed)} pieces failed and the rest is complete; run the same "
        "command again to retry them.",
        file=sys.stderr,
    )
    return _SOME_FAILED
