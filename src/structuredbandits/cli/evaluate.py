"""`structuredbandits evaluate`: estimates from a log what other policies would have earned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from structuredbandits.cli.help_examples import examples
from structuredbandits.cli.simulate import whole_number
from structuredbandits.policies.labels import split_labels

if TYPE_CHECKING:
    from structuredbandits.evaluation import Difference, Estimate

_COMMAND = "structuredbandits evaluate"
_LOGGED = "logged"
EVALUATE_EXAMPLES = examples(
    f"{_COMMAND} log.csv --policy uniform",
    f"{_COMMAND} log.parquet --policy ts-c,ucb-c --structure movies.structure",
    f'{_COMMAND} log.csv --policy "always Film-Noir" --method ips --level 0.9',
    f"{_COMMAND} random.csv --policy ts-c --structure movielens --method replay",
    f"{_COMMAND} shop.csv --policy uniform --arm offer --reward paid --probability p",
    f"{_COMMAND} events.jsonl --policy ts-c --structure new.structure --structure-version 2",
    f"{_COMMAND} log.csv --policy ts-c,ucb-c --structure movies.structure --against uniform",
    f"{_COMMAND} train.dat --format vw --policy uniform",
    f"{_COMMAND} old.csv --policy uniform --probability estimate --context country,device",
)


def evaluate(
    log: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            show_default=False,
            help="CSV, Parquet or JSON lines: files, a folder, or a pattern in quotes. One row is "
            "one decision, with columns arm, reward and probability, and for subjects "
            "subject and decision.",
        ),
    ],
    policy: Annotated[
        list[str],
        typer.Option(
            metavar="NAMES",
            help="Policies, separated by commas: uniform, 'always NAME', or as in "
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
    level: Annotated[
        float, typer.Option(metavar="P", help="Confidence level of the intervals.")
    ] = 0.95,
    bootstrap: Annotated[
        bool, typer.Option("--bootstrap", help="Bootstrap intervals: resample subjects.")
    ] = False,
    limits: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,HIGH",
            show_default="0,1 if all rewards are 0 or 1",
            help="Limits of the rewards, which allow intervals from few decisions.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Seed of the bootstrap and of replay.")
    ] = 0,
    arm: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column of the option that was shown.")
    ] = "arm",
    reward: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the reward.")] = "reward",
    probability: Annotated[
        str,
        typer.Option(
            metavar="COLUMN",
            help="Column of the probability with which it was chosen; 'estimate' for a log "
            "without one.",
        ),
    ] = "probability",
    context: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            show_default=False,
            help="Columns that explain the choices, separated by commas, for estimated "
            "probabilities.",
        ),
    ] = None,
    against: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            show_default="the logged policy",
            help="Policy with which the others are compared.",
        ),
    ] = "logged",
    subject: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default="subject, if present",
            help="Column of the subject.",
        ),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default="decision or round, if present",
            help="Column that sorts the decisions of a subject.",
        ),
    ] = None,
    allowed: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default="allowed, if present",
            help="Column of the allowed arms, written as a|b.",
        ),
    ] = None,
    log_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            show_default=False,
            help="vw or dsjson (Vowpal Wabbit), or obp (Open Bandit Pipeline), for a log in one "
            "file.",
        ),
    ] = None,
    structure_version: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole_number,
            show_default=False,
            help="Only decisions made with this version of the structure.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of the table.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only errors, or JSON.")
    ] = False,
) -> None:
    """Estimate from a log what other policies would have earned.

    The log contains the option that was shown, its probability, and its reward. Each policy is
    evaluated on the same decisions, after the same history.
    """
    from structuredbandits import evaluation

    options: dict[str, Any] = {
        "structure": structure,
        "method": method,
        "level": level,
        "interval": "bootstrap" if bootstrap else "auto",
        "limits": _limits(limits),
        "seed": seed,
        "arm": arm,
        "reward": reward,
        "probability": probability,
        "subject": subject,
        "order": order,
        "allowed": allowed,
        "context": [name.strip() for name in (context or "").split(",") if name.strip()],
        "structure_version": structure_version,
        "progress": "off" if quiet else "lines",
    }
    source: Any = log if len(log) > 1 else log[0]
    if log_format is not None:
        source = _foreign(log, log_format)
    names = _names(policy)
    if against != _LOGGED:
        names = [_LOGGED, *(name for name in names if name != against)]
    found = evaluation.compare_policies(source, names, against=against, **options)
    # The log's own policy comes first.
    estimates = sorted(found.estimates, key=lambda estimate: estimate.policy != _LOGGED)
    if as_json:
        import dataclasses

        from structuredbandits.cli.output import print_json

        paired = {one.policy: dataclasses.asdict(one) for one in found.differences}
        print_json(
            [
                _with_bounds(dataclasses.asdict(one), one) | {"difference": paired.get(one.policy)}
                for one in estimates
            ]
        )
    elif not quiet:
        _print_estimates(estimates)
        _print_differences(found.differences)
        _print_sensitivity(estimates)


def _with_bounds(data: dict[str, Any], estimate: Estimate) -> dict[str, Any]:
    return data | {"sensitivity": [one._asdict() for one in estimate.sensitivity]}


def _print_differences(differences: tuple[Difference, ...]) -> None:
    from structuredbandits.cli.output import print_table

    first = differences[0]
    base = "the logged policy" if first.against == _LOGGED else first.against
    print_table(
        ["policy", f"minus {base}", f"{100 * first.level:g} % interval", "clear"],
        [
            (
                "logged policy" if one.policy == _LOGGED else one.policy,
                f"{one.value:+.4g}",
                "none" if one.interval == "none" else f"{one.low:+.4g} to {one.high:+.4g}",
                "yes" if one.clear else "no",
            )
            for one in differences
        ],
        right=(f"minus {base}",),
    )


def _print_sensitivity(estimates: list[Estimate]) -> None:
    from structuredbandits.cli.output import print_table

    rows = [one for one in estimates if one.sensitivity]
    if not rows:
        return
    factors = [f"odds wrong by {bounds.factor:g}" for bounds in rows[0].sensitivity]
    print_table(
        ["policy", *factors],
        [(one.policy, *(f"{b.low:.4g} to {b.high:.4g}" for b in one.sensitivity)) for one in rows],
    )


def _foreign(log: list[str], log_format: str) -> Any:
    from structuredbandits.errors import InvalidInput
    from structuredbandits.evaluation import read_log

    if len(log) > 1:
        raise InvalidInput(f"--format {log_format} reads one file, not {len(log)}; join them.")
    return read_log(log[0], log_format)  # type: ignore[arg-type]  # it checks the format


def _limits(text: str | None) -> tuple[float, float] | None:
    from structuredbandits.errors import InvalidInput

    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput(f"--limits {text!r} are not two numbers; write 1,5 or so.") from None
    return low, high


def _names(texts: list[str]) -> list[str]:
    from structuredbandits.errors import InvalidPolicy

    names = [name for text in texts for name in split_labels(text)]
    if not names:
        raise InvalidPolicy("--policy is empty; give some policies, for example uniform,ts-c.")
    return names


def _print_estimates(estimates: list[Estimate]) -> None:
    from structuredbandits.cli.output import console, print_table

    logged = estimates[0]
    print_table(
        [
            "policy",
            "reward per decision",
            f"{100 * logged.level:g} % interval",
            "method",
            "effective sample size",
        ],
        [
            (
                "logged policy" if e is logged else e.policy,
                f"{e.value:.4g}",
                "none" if e.interval == "none" else f"{e.low:.4g} to {e.high:.4g}",
                e.method,
                f"{e.effective_sample_size:,.0f}",
            )
            for e in estimates
        ],
        right=("reward per decision", "effective sample size"),
    )
    screen = console()
    who = f" of {logged.subjects:,} subjects" if logged.subjects != logged.n else ""
    screen.print(f"{logged.n:,} decisions{who}", style="dim", markup=False)
    screen.print(
        "effective sample size: number of the policy's own decisions with the same precision",
        style="dim",
        markup=False,
    )
    for estimate in estimates:
        for remark in _remarks(estimate):
            screen.print(remark, markup=False)


def _remarks(estimate: Estimate) -> list[str]:
    """Warnings about an estimate."""
    remarks = []
    if estimate.uncovered > 0:
        remarks.append(
            f"{estimate.policy} makes {estimate.uncovered:.1%} of its choices among arms that the "
            "log never shows: their rewards are missing, or come from the structure only."
        )
    if estimate.interval == "none":
        remarks.append(f"No interval for {estimate.policy}: {estimate.reason}.")
    if estimate.interval == "betting":
        remarks.append(
            f"The interval for {estimate.policy} is by betting, which holds for few decisions: "
            f"{estimate.reason}."
        )
    return remarks
