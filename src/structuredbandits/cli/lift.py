"""`structuredbandits lift`: what a policy gains compared with a holdout group."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from structuredbandits.cli.help_examples import examples

if TYPE_CHECKING:
    from structuredbandits.holdout import Lift, LiftInterval

_COMMAND = "structuredbandits lift"
LIFT_EXAMPLES = examples(
    f"{_COMMAND} log.csv",
    f"{_COMMAND} events.jsonl --share 0.1 --name clicks --out lift.html",
    f"{_COMMAND} shop.parquet --group variant --holdout A --reward paid --subject customer",
    f'{_COMMAND} log.csv --baseline "always newest" --json',
)


def lift(
    log: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            show_default=False,
            help="CSV, Parquet or JSON lines: files, a folder, or a pattern in quotes. One row is "
            "one decision, with columns group, reward, subject and time.",
        ),
    ],
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default="group or holdout, if present",
            help="Column that tells the groups apart.",
        ),
    ] = None,
    holdout: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE",
            show_default="holdout, control, baseline, true or 1",
            help="Value of that column for the holdout group.",
        ),
    ] = None,
    reward: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the reward.")] = "reward",
    subject: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", show_default="subject, if present", help="Column of the subject."
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default="time, timestamp, rewarded or created, if present",
            help="Column of the time of a decision or of its reward.",
        ),
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            show_default=False,
            help="Planned share of subjects in the holdout group, to check the sample ratio.",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY",
            show_default=False,
            help="What the holdout group was shown, uniform or 'always NAME': uses the "
            "probabilities in the log for a narrower interval.",
        ),
    ] = None,
    arm: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column of the option, for --baseline.")
    ] = "arm",
    probability: Annotated[
        str,
        typer.Option(metavar="COLUMN", help="Column of its probability, for --baseline."),
    ] = "probability",
    name: Annotated[
        str, typer.Option(metavar="WORD", help="What the rewards are, such as clicks.")
    ] = "reward",
    level: Annotated[
        float, typer.Option(metavar="P", help="Confidence level of the intervals.")
    ] = 0.95,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False, help="Write one printable HTML page (.html)."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of the table.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only errors, or JSON.")
    ] = False,
) -> None:
    """Estimate what a policy gains compared with a holdout group.

    The intervals hold at every time: look as often as you like, and stop when the lift is clear.
    """
    from structuredbandits import holdout as holdouts

    found = holdouts.lift(
        log if len(log) > 1 else log[0],
        group=group,
        holdout=holdout,
        reward=reward,
        subject=subject,
        time=time,
        share=share,
        baseline=baseline,
        arm=arm,
        probability=probability,
        name=name,
        level=level,
    )
    if out is not None:
        from structuredbandits.report import write_lift_page

        write_lift_page(found, out)
    if as_json:
        from structuredbandits.cli.output import print_json

        print_json(found.as_dict() | {"file": None if out is None else str(out)})
    elif not quiet:
        _print_lift(found)
        if out is not None:
            print(f"Page: {out}")


def _print_lift(found: Lift) -> None:
    from structuredbandits.cli.output import console, print_table
    from structuredbandits.report.lift_wording import baseline_words, ratio_words

    rows = [_row("decision", found.per_decision)]
    if found.per_subject is not None:
        rows.append(_row("subject", found.per_subject))
    columns = ["per", "policy", "holdout", "difference", f"{100 * found.level:g} % interval"]
    print_table(
        [*columns, "relative", "interval", "clear since"],
        rows,
        right=("policy", "holdout", "difference", "relative"),
    )
    screen = console()
    ratio = found.sample_ratio
    screen.print(
        f"{found.decisions:,} decisions of {found.subjects:,} subjects, {ratio.holdout:,} in the "
        "holdout group; the intervals hold at every time",
        style="dim",
        markup=False,
    )
    for remark in (ratio_words(ratio), baseline_words(found.borrowed)):
        if remark:
            screen.print(remark, markup=False)
    screen.print(str(found), markup=False)


def _row(per: str, one: LiftInterval) -> tuple[str, ...]:
    from structuredbandits.holdout import readable_time
    from structuredbandits.report.lift_wording import interval_words, relative_words

    relative, reach = relative_words(one)
    return (
        per,
        f"{one.policy:.4g}",
        f"{one.holdout:.4g}",
        f"{one.difference:+.4g}",
        interval_words(one),
        relative,
        reach,
        "–" if one.clear_since is None else readable_time(one.clear_since),
    )
