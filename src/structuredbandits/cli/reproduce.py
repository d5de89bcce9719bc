"""`structuredbandits reproduce`: the published figures, and a report that shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from structuredbandits.cli.help_examples import examples
from structuredbandits.cli.simulate import folder_name, whole_number

_COMMAND = "structuredbandits reproduce"
REPRODUCE_EXAMPLES = examples(
    f"{_COMMAND} three-arms",
    f"{_COMMAND} two-arms informative --runs 20 --out figures",
    f"{_COMMAND} all",
    f"{_COMMAND} people --movielens ml-100k",
)


def reproduce(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID ... | all]",
            show_default=False,
            help="IDs of figures; without one, all IDs are listed.",
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole_number,
            show_default="100 as in the paper; fewer for other figures",
            help="Runs per simulation.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", parser=whole_number, help="Equal seeds give equal results.")
    ] = 0,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR", parser=folder_name, help="Folder for figures, tables and the report."
        ),
    ] = Path("reproduced"),
    n_jobs: Annotated[
        int,
        typer.Option(metavar="N", parser=whole_number, help="Number of threads; -1 for all cores."),
    ] = -1,
    picture_format: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="png, svg or pdf.")
    ] = "png",
    movielens: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=folder_name,
            show_default=False,
            help="For people: your own folder of MovieLens 100K or 1M.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
) -> None:
    """Reproduce the figures of the paper, and check its claims.

    people is not part of all: it compares models on the rewards of real persons, from
    structuredbandits[data] and from a MovieLens folder.

    After an interruption, the same command continues: finished figures are kept.
    """
    from rich.console import Console

    from structuredbandits import experiments
    from structuredbandits.experiments.experiment import PAPER
    from structuredbandits.report import write_report
    from structuredbandits.report.wording import verdict

    console = Console(highlight=False, soft_wrap=True)
    if not ids:
        for name in (*experiments.experiment_ids(), *experiments.experiments_with_data()):
            console.print(f"{name:24}{experiments.load_experiment(name).title}", markup=False)
        return
    chosen = list(experiments.experiment_ids()) if "all" in ids else list(dict.fromkeys(ids))
    kept = experiments.reproduce(
        chosen,
        out,
        runs=runs,
        seed=seed,
        n_jobs=n_jobs,
        picture_format=picture_format,
        movielens=movielens,
        progress="off" if quiet else "lines",
    )
    report = write_report(kept, out / "report.html")
    if quiet:
        return
    for one in kept:
        for claim in one.claims:
            console.print(
                f"{one.experiment.id}: {verdict(claim)}: {claim.text} ({claim.statistic})",
                markup=False,
            )
    said = [claim for one in kept for claim in one.claims if claim.of == PAPER]
    if said:
        held = sum(claim.held for claim in said)
        console.print(f"{held} of {len(said)} claims of the paper held.", markup=False)
    console.print(f"The report is {report}.", markup=False)
