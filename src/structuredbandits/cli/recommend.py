"""`structuredbandits recommend`: which policy to use on a structure.

This module knows the options and how the answer is shown. It must not know how it is found.
"""

from __future__ import annotations

from typing import Annotated

import typer

from structuredbandits.cli.examples import examples
from structuredbandits.cli.simulate import whole_number

_COMMAND = "structuredbandits recommend"
RECOMMEND_EXAMPLES = examples(
    f"{_COMMAND} movielens --horizon 5000",
    f"{_COMMAND} shop.structure --horizon 200 --runs 500",
    f"{_COMMAND} dose --horizon 1000 --policies ts-c,ucb-c,posterior --json",
)


def recommend(
    structure: Annotated[
        str,
        typer.Argument(
            metavar="STRUCTURE",
            show_default=False,
            help="A .structure file, or the name of an embedded problem.",
        ),
    ],
    horizon: Annotated[
        int,
        typer.Option(
            metavar="T",
            parser=whole_number,
            show_default=False,
            help="How many rounds one subject is served.",
        ),
    ],
    policies: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            show_default="the sensible ones",
            help="Candidates, with commas between; ts, which uses no structure, is always one.",
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option(metavar="N", parser=whole_number, help="Worlds to simulate.")
    ] = 200,
    seed: Annotated[
        int, typer.Option(metavar="N", parser=whole_number, help="Equal seeds give equal answers.")
    ] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON in place of the text.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Say which policy to use, what it should earn, and how sure that is.

    Candidates are simulated on the structure itself; each run draws what the structure leaves open:
    the hidden θ, and the true means within their standard errors or bounds.
    """
    from structuredbandits.cli import choices
    from structuredbandits.recommendation import CANDIDATES
    from structuredbandits.recommendation import recommend as find

    target = choices.read_target(structure, [], horizon)
    names = (
        list(CANDIDATES)
        if policies is None
        else list(choices.read_policies(policies, target).names)
    )
    answer = find(
        target.structure,
        horizon,
        candidates=names,
        runs=runs,
        seed=seed,
        progress="off" if quiet else "lines",
    )
    if as_json:
        from structuredbandits.cli.display import print_json

        print_json(
            {
                "policy": answer.policy,
                "horizon": answer.horizon,
                "runs": answer.runs,
                "seed": answer.seed,
                "exact": answer.exact,
                "candidates": [one._asdict() for one in answer.candidates],
                "left_out": answer.left_out,
            }
        )
        return
    from structuredbandits.cli.display import print_table

    columns = ["policy", "regret", "±", "1 in 20 above", "gain", "better than ts", "best"]
    print_table(
        columns,
        (
            [
                one.policy,
                f"{one.regret:,.1f}",
                f"{1.96 * one.standard_error:,.1f}",
                f"{one.worst:,.1f}",
                f"{one.gain:,.1f}",
                f"{one.wins:.0%}",
                f"{one.best:.2f}",
            ]
            for one in answer.candidates
        ),
        right=columns[1:],
    )
    print(answer)
    for name, reason in answer.left_out.items():
        print(f"{name} was left out: {reason}")
