"""`structuredbandits movielens`: counts from your own copy of the data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from structuredbandits.cli.help_examples import examples
from structuredbandits.cli.simulate import whole_number

MOVIELENS_EXAMPLES = examples(
    "structuredbandits movielens ml-1m",
    "structuredbandits movielens ml-1m --seed 3 -o counts.csv",
)


def movielens(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            show_default=False,
            help="The folder of MovieLens 1M: users.dat, movies.dat and ratings.dat.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The file for the counts.")
    ] = Path("movielens_counts.csv"),
    seed: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=whole_number,
            help="Seed that chooses one genre of a movie with several.",
        ),
    ] = 0,
) -> None:
    """Rebuild the counts of the problem 'movielens' from your own copy of the raw data.

    The counts are ratings by age group, occupation and genre; use them in Python with
    load_problem("movielens", counts=FILE).
    """
    from structuredbandits.problems.raw_movielens import count_ratings, write_counts

    counted = count_ratings(folder, seed=seed)
    write_counts(counted, out)
    print(
        f"{counted.ratings:,} ratings of {counted.movies:,} movies by {counted.users:,} users; "
        f"{counted.segments} segments with enough ratings."
    )
    print(f"The counts are in {out}.")
