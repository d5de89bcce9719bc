"""`structuredbandits evaluate`: what other policies would have earned on a log.

This module knows the options and what is printed. It must not know how anything is estimated.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from structuredbandits.cli.examples import examples
from structuredbandits.cli.simulate import whole_number

if TYPE_CHECKING:
    from structuredbandits.evaluation import Estimate

_COMMAND = "structuredbandits evaluate"
EVALUATE_EXAMPLES = examples(
    f"{_COMMAND} log.csv --policy uniform",
    f"{_COMMAND} log.parquet --policy ts-c,ucb-c --structure movies.structure",
    f'{_COMMAND} log.csv --policy "always Film-Noir" --method ips --level 0.9',
    f"{_COMMAND} random.csv --policy ts-c --structure movielens --method replay",
    f"{_COMMAND} shop.csv --policy uniform --arm offer --reward paid --probability p",
    f"{_COMMAND} events.jsonl --policy ts-c --structure new.structure --structure-version 2",
)
# A comma that is not inside parentheses.
_BETWEEN_POLICIES = re.compile(r",(?![^()]*\))")
# Below this share of the log's decisions, an estimate stands on few of them.
_FEW = 0.01


def evaluate(
    log: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            show_default=False,
            help="CSV, Parquet or JSON lines: files, a folder, or a pattern in quotes. One row is "
            "one decision, with columns arm, reward and probability, and if there are subjects, "
            "subject and decision.",
        ),
    ],
    policy: Annotated[
        list[str],
        typer.Option(
            metavar="NAMES",
            help="Policies, with commas between: uniform, 'always NAME', or as in "
            "'structuredbandits policies'.",
        ),
    ],
    structure: Annotated[
        str | None,
        typer.Option(
            metavar="STRUCTURE",
            show_default=False,
            help="A .structure file or the name of an embedded problem; dr and algorithms need it.",
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            show_default="dr with a structure, otherwise snips",
            help="dr (doubly robust), ips, snips (self-normalised), or replay for logs of "
            "uniformly random choices.",
        ),
    ] = None,
    level: Annotated[float, typer.Option(metavar="P", help="Of the intervals.")] = 0.95,
    bootstrap: Annotated[
        bool, typer.Option("--bootstrap", help="Intervals by drawing subjects anew.")
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="For the bootstrap and replay.")] = 0,
    arm: Annotated[str, typer.Option(metavar="COLUMN", help="The arm shown.")] = "arm",
    reward: Annotated[str, typer.Option(metavar="COLUMN", help="What it earned.")] = "reward",
    probability: Annotated[
        str, typer.Option(metavar="COLUMN", help="With which it had been chosen.")
    ] = "probability",
    subject: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", show_default="subject, if there is one", help="Who."),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default="decision or round, if there is one",
            help="What sorts a subject's decisions.",
        ),
    ] = None,
    allowed: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default="allowed, if there is one",
            help="The arms that could be shown, as a|b.",
        ),
    ] = None,
    structure_version: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole_number,
            show_default=False,
            help="Only a service's decisions on this version of its structure.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON in place of the table.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but errors, or JSON.")
    ] = False,
) -> None:
    """Estimate from a log what other policies would have earned.

    The log says which arm was shown, with which probability, and what it earned. Each policy is
    asked what it would have done in the same decisions, after the same history.
    """
    from structuredbandits.evaluation import evaluate as run

    options: dict[str, Any] = {
        "structure": structure,
        "method": method,
        "level": level,
        "interval": "bootstrap" if bootstrap else "normal",
        "seed": seed,
        "arm": arm,
        "reward": reward,
        "probability": probability,
        "subject": subject,
        "order": order,
        "allowed": allowed,
        "structure_version": structure_version,
        "progress": "off" if quiet else "lines",
    }
    source = log if len(log) > 1 else log[0]
    estimates = [run(source, name, **options) for name in ["logged", *_names(policy)]]
    if as_json:
        import dataclasses

        from structuredbandits.cli.display import print_json

        print_json([dataclasses.asdict(estimate) for estimate in estimates])
    elif not quiet:
        _print_estimates(estimates)


def _names(texts: list[str]) -> list[str]:
    from structuredbandits.errors import InvalidPolicy

    parts = [part.strip() for text in texts for part in _BETWEEN_POLICIES.split(text)]
    names = [part for part in parts if part]
    if not names:
        raise InvalidPolicy("--policy names no policy; give some, for example uniform,ts-c.")
    return names


def _print_estimates(estimates: list[Estimate]) -> None:
    from structuredbandits.cli.display import console, print_table

    logged = estimates[0]
    print_table(
        ["policy", "reward a decision", f"{100 * logged.level:g} % interval", "method", "worth"],
        [
            (
                "the log's own" if e is logged else e.policy,
                f"{e.value:.4g}",
                f"{e.low:.4g} to {e.high:.4g}",
                e.method,
                f"{e.effective_sample_size:,.0f}",
            )
            for e in estimates
        ],
        right=("reward a decision", "worth"),
    )
    screen = console()
    who = f" of {logged.subjects:,} subjects" if logged.subjects != logged.n else ""
    screen.print(f"{logged.n:,} decisions{who}", style="dim", markup=False)
    screen.print(
        "worth: so many decisions made by the policy itself would tell as much",
        style="dim",
        markup=False,
    )
    for estimate in estimates[1:]:
        for remark in _remarks(estimate):
            screen.print(remark, markup=False)


def _remarks(estimate: Estimate) -> list[str]:
    """What a reader should know before believing an estimate."""
    remarks = []
    if estimate.uncovered > 0:
        remarks.append(
            f"{estimate.policy} gives {estimate.uncovered:.1%} of its choices to arms that the log "
            "never shows: their rewards are not in the estimate, or come from the structure only."
        )
    if estimate.method != "replay" and estimate.effective_sample_size < _FEW * estimate.n:
        remarks.append(
            f"{estimate.policy} differs so much from the log that few decisions tell about it: "
            "do not trust the interval."
        )
    return remarks
