"""`structuredbandits learn`: learns a structure from a log, and reports its weak points."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from structuredbandits.cli.help_examples import examples

if TYPE_CHECKING:
    from structuredbandits.learning import LearningReport
    from structuredbandits.structure import Structure

_COMMAND = "structuredbandits learn"
LEARN_EXAMPLES = examples(
    f"{_COMMAND} ratings.csv --arm genre --segment age,occupation --reward rating "
    "-o movies.structure",
    f"{_COMMAND} clicks.csv --arm banner --reward clicked --subject visitor -o visitors.structure",
    f"{_COMMAND} 'logs/*.parquet' --arm offer --segment region --reward paid --estimate shrink",
    f"{_COMMAND} survey.csv --arm drug --segment sex,age --reward days --minimize --weight w",
    f"{_COMMAND} counts.csv --arm page --segment country --reward clicked --weight n "
    "--weight-kind frequency",
)
_ARMS_SHOWN = 30
_THIN_SHOWN = 5


def learn(
    log: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            show_default=False,
            help="CSV, Parquet or JSON lines: files, a folder, or a pattern in quotes. One row is "
            "one reward.",
        ),
    ],
    arm: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column of the option that was shown.")
    ],
    reward: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the reward.")],
    segment: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS",
            show_default=False,
            help="Columns that define the segment (visitor type), which is known in the log and "
            "hidden later; separate several by commas, or repeat the option.",
        ),
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            help="Column that identifies a person: learns hidden kinds of visitors from who liked "
            "what, and compares them with the segments if they are given.",
        ),
    ] = None,
    kinds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            show_default="chosen on held-out subjects",
            help="Number of hidden kinds, with --subject.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", show_default=False, help="File for the structure."
        ),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", show_default=False, help="Column of the weight of each row."
        ),
    ] = None,
    weight_kind: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="importance (survey weights) or frequency (number of rewards per row).",
        ),
    ] = "importance",
    probability: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default="probability, if there is one and no --weight",
            help="Column of the probability with which the arm was chosen, in the log of a bandit: "
            "rewards are weighted by its inverse, which removes the bias of such logs.",
        ),
    ] = None,
    ignore_probability: Annotated[
        bool,
        typer.Option(
            "--ignore-probability", help="Ignore probabilities; all rewards have equal weight."
        ),
    ] = False,
    estimate: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="raw: sample means. shrink: noisy means moved towards the arm's mean. bounds: "
            "confidence bounds instead of means.",
        ),
    ] = "raw",
    level: Annotated[
        float, typer.Option(metavar="P", help="Confidence level of each bound.")
    ] = 0.95,
    sigma: Annotated[
        str,
        typer.Option(
            metavar="SIGMA",
            help="Standard deviation of rewards: estimate, per-arm, range (half of it), a number, "
            "or auto (range for Bernoulli and bounded rewards, else estimate).",
        ),
    ] = "auto",
    rewards: Annotated[
        str | None,
        typer.Option(
            metavar="FAMILY",
            show_default="detected",
            help="What a reward is: gaussian, bernoulli (0 or the largest reward of the option) or "
            "bounded (by the smallest and the largest reward).",
        ),
    ] = None,
    empty: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="What to do if a segment has no rewards for an arm: drop-segment, arm-mean or "
            "error.",
        ),
    ] = "drop-segment",
    min_count: Annotated[
        float, typer.Option(metavar="N", help="Fewer rewards per segment and arm count as none.")
    ] = 1.0,
    minimize: Annotated[bool, typer.Option("--minimize", help="Rewards are costs.")] = False,
    engine: Annotated[
        str, typer.Option(metavar="ENGINE", help="auto, pandas, or ibis (DuckDB).")
    ] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only errors, or JSON.")
    ] = False,
) -> None:
    """Learn from a log how each option's mean reward depends on the visitor's segment.

    A policy does not know the segment of a visitor: it learns from rewards which segments are still
    possible.
    """
    import sys
    import warnings

    from structuredbandits.errors import InvalidInput, StructureWarning
    from structuredbandits.learning import (
        KindsReport,
        doubtful_segments,
        learn_structure_with_report,
    )

    if ignore_probability and probability is not None:
        raise InvalidInput("--probability and --ignore-probability exclude each other; give one.")
    options: dict[str, Any] = {
        "weight": weight,
        "weight_kind": weight_kind,
        "probability": False if ignore_probability else probability,
        "estimate": estimate,
        "level": level,
        "sigma": _sigma(sigma),
        "rewards": None if rewards is None else rewards.strip().lower(),
        "empty": empty,
        "min_count": min_count,
        "minimize": minimize,
        "engine": engine,
        "progress": "off" if quiet else "lines",
    }
    source = log if len(log) > 1 else log[0]
    if not (quiet or as_json):
        for doubt in doubtful_segments(source, _columns(segment or [])):
            print(f"warning: {doubt}", file=sys.stderr)
    with warnings.catch_warnings():
        if not (quiet or as_json):  # the report and the lines above say the same
            warnings.simplefilter("ignore", StructureWarning)
        structure, report = learn_structure_with_report(
            source,
            arm=arm,
            segment=_columns(segment) if segment else None,
            reward=reward,
            subject=subject,
            kinds=kinds,
            name=None if out is None else out.stem,
            **options,
        )
    if out is not None:
        structure.save(out)
    if isinstance(report, KindsReport):
        from structuredbandits.cli.learned_kinds import print_kinds

        print_kinds(structure, report, out, as_json=as_json, quiet=quiet)
        return
    if as_json:
        from structuredbandits.cli.output import print_json

        print_json(as_plain_data(structure, report, out))
    elif not quiet:
        _print_report(structure, report, out)


def _columns(texts: list[str]) -> list[str]:
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def _sigma(text: str) -> float | str | None:
    try:
        return float(text)
    except ValueError:
        rule = text.strip().lower()
        return None if rule == "auto" else rule


def _print_report(structure: Structure, report: LearningReport, out: Path | None) -> None:
    from structuredbandits.cli.output import console, print_table

    sigma = structure.sigma
    one = len(set(sigma.tolist())) == 1
    print_table(
        ["arm", "rewards", "mean", "best in segments", *([] if one else ["sigma"])],
        [row[:-1] if one else row for row in _arm_rows(structure)],
        right=("rewards", "mean", "best in segments", "sigma"),
    )
    if report.thin_cells:
        print_table(
            ["few rewards: segment", "arm", "rewards", "mean", "± standard error"],
            [
                (c.segment, c.arm, f"{c.rewards:.3g}", f"{c.mean:.3g}", f"{c.standard_error:.2g}")
                for c in report.thin_cells[:_THIN_SHOWN]
            ],
            right=("rewards", "mean", "± standard error"),
        )
    screen = console()
    for line in report.lines():
        screen.print(line, markup=False)
    noise = f"sigma {sigma[0]:.3g}" if one else "sigma per arm"
    screen.print(
        f"{structure.n_parameters:,} segments, {structure.n_arms} arms, {noise}.", markup=False
    )
    if out is not None:
        screen.print(f"Structure: {out}", markup=False, soft_wrap=True)
        screen.print(f"Try it: structuredbandits recommend {out}", markup=False, soft_wrap=True)


def _arm_rows(structure: Structure) -> list[tuple[str, ...]]:
    """One row per arm, sorted by how often it is best; at most the first 30."""
    assert structure.counts is not None
    assert structure.prior is not None
    best = structure.optimal.sum(axis=0)
    means = structure.prior @ structure.means
    order = sorted(range(structure.n_arms), key=lambda k: (-best[k], -structure.sign * means[k], k))
    rows: list[tuple[str, ...]] = [
        (
            structure.arms[k],
            f"{structure.counts[:, k].sum():,.0f}",
            f"{means[k]:.3g}",
            f"{best[k]}",
            f"{structure.sigma[k]:.3g}",
        )
        for k in order[:_ARMS_SHOWN]
    ]
    rest = structure.n_arms - _ARMS_SHOWN
    return rows if rest <= 0 else [*rows, (f"and {rest} more", "", "", "", "")]


def as_plain_data(structure: Structure, report: LearningReport, out: Path | None) -> dict[str, Any]:
    """The report as plain data for `--json`."""
    rows, repairs = report.rows, report.repairs
    return {
        "segments": structure.n_parameters,
        "arms": list(structure.arms),
        "sigma": structure.sigma.tolist(),
        "rewards": structure.rewards.name,
        "rows": None if rows is None else rows._asdict(),
        "weighted_by": report.weighting.column,
        "bias": report.weighting.doubt,
        "dropped_segments": [] if repairs is None else [s for s, _ in repairs.dropped_segments],
        "filled_cells": 0 if repairs is None else len(repairs.filled_cells),
        "thin_cells": [thin._asdict() for thin in report.thin_cells],
        "never_best": list(report.never_best),
        "segments_with_a_lookalike": int((report.lookalikes > 0).sum()),
        "segments_with_a_confusable_lookalike": int((report.confusable > 0).sum()),
        "digest": structure.digest,
        "file": None if out is None else str(out),
    }
