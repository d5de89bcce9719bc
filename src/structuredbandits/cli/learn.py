"""`structuredbandits learn`: from a log to a structure file, with a report of its weak places.

This module knows the options and what is printed. It must not know how anything is learned.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from structuredbandits.cli.examples import examples

if TYPE_CHECKING:
    from structuredbandits.learning import LearningReport
    from structuredbandits.structure import Structure

_COMMAND = "structuredbandits learn"
LEARN_EXAMPLES = examples(
    f"{_COMMAND} ratings.csv --arm genre --segment age,occupation --reward rating "
    "-o movies.structure",
    f"{_COMMAND} 'logs/*.parquet' --arm offer --segment region --reward paid --estimate shrink",
    f"{_COMMAND} survey.csv --arm drug --segment sex,age --reward days --minimize --weight w",
    f"{_COMMAND} counts.csv --arm page --segment country --reward clicked --weight n "
    "--weight-kind frequency",
)
_ARMS_SHOWN = 30
_CELLS_SHOWN = 5


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
    arm: Annotated[str, typer.Option(metavar="COLUMN", help="What was shown.")],
    segment: Annotated[
        list[str],
        typer.Option(
            metavar="COLUMNS",
            help="What is known of people in the log and hidden later; several with commas "
            "between, or repeat the option.",
        ),
    ],
    reward: Annotated[str, typer.Option(metavar="COLUMN", help="What it earned.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", show_default=False, help="Write the structure here."
        ),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", show_default=False, help="How much each row counts."),
    ] = None,
    weight_kind: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="importance (weights of a survey) or frequency (a row stands for so many).",
        ),
    ] = "importance",
    estimate: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="raw: plain means. shrink: noisy means moved towards the arm's mean. bounds: "
            "confidence bounds in place of means.",
        ),
    ] = "raw",
    level: Annotated[float, typer.Option(metavar="P", help="Confidence of each bound.")] = 0.95,
    sigma: Annotated[
        str,
        typer.Option(
            metavar="SIGMA",
            help="How widely rewards vary: estimate, per-arm, range (half of it), or a number.",
        ),
    ] = "estimate",
    empty: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="A segment without rewards of some arm: drop-segment, arm-mean or error.",
        ),
    ] = "drop-segment",
    min_count: Annotated[
        float, typer.Option(metavar="N", help="Cells with fewer rewards count as empty.")
    ] = 1.0,
    minimize: Annotated[bool, typer.Option("--minimize", help="Rewards are costs.")] = False,
    engine: Annotated[
        str, typer.Option(metavar="ENGINE", help="auto, pandas, or ibis (DuckDB).")
    ] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of tables.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but errors, or JSON.")
    ] = False,
) -> None:
    """Learn from a log how each arm's mean reward depends on who sees it.

    The segments of the log become what a policy does not know: it finds out from rewards which of
    them fits a visitor.
    """
    from structuredbandits.learning import learn_structure

    options: dict[str, Any] = {
        "weight": weight,
        "weight_kind": weight_kind,
        "estimate": estimate,
        "level": level,
        "sigma": _sigma(sigma),
        "empty": empty,
        "min_count": min_count,
        "minimize": minimize,
        "engine": engine,
        "progress": "off" if quiet else "lines",
    }
    structure, report = learn_structure(
        log if len(log) > 1 else log[0],
        arm=arm,
        segment=_columns(segment),
        reward=reward,
        name=None if out is None else out.stem,
        return_report=True,
        **options,
    )
    if out is not None:
        structure.save(out)
    if as_json:
        from structuredbandits.cli.display import print_json

        print_json(as_plain_data(structure, report, out))
    elif not quiet:
        _print_report(structure, report, out)


def _columns(texts: list[str]) -> list[str]:
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def _sigma(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text.strip().lower()


def _print_report(structure: Structure, report: LearningReport, out: Path | None) -> None:
    from structuredbandits.cli.display import console, print_table

    sigma = structure.sigma
    one = len(set(sigma.tolist())) == 1
    print_table(
        ["arm", "rewards", "mean", "best in segments", *([] if one else ["sigma"])],
        [row[:-1] if one else row for row in _arm_rows(structure)],
        right=("rewards", "mean", "best in segments", "sigma"),
    )
    if report.thin_cells:
        print_table(
            ["thin cells: segment", "arm", "rewards", "mean", "± standard error"],
            [
                (c.segment, c.arm, f"{c.rewards:.3g}", f"{c.mean:.3g}", f"{c.standard_error:.2g}")
                for c in report.thin_cells[:_CELLS_SHOWN]
            ],
            right=("rewards", "mean", "± standard error"),
        )
    screen = console()
    for line in report.lines():
        screen.print(line, markup=False)
    noise = f"sigma {sigma[0]:.3g}" if one else "sigma for each arm"
    screen.print(
        f"{structure.n_parameters:,} segments, {structure.n_arms} arms, {noise}.", markup=False
    )
    if out is not None:
        screen.print(f"Structure: {out}", markup=False, soft_wrap=True)
        screen.print(f"Try it: structuredbandits simulate {out}", markup=False, soft_wrap=True)


def _arm_rows(structure: Structure) -> list[tuple[str, ...]]:
    """One row for each arm, the most often best first; of very many only the first."""
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
        "rows": None if rows is None else rows._asdict(),
        "dropped_segments": [] if repairs is None else [s for s, _ in repairs.dropped_segments],
        "filled_cells": 0 if repairs is None else len(repairs.filled_cells),
        "thin_cells": [cell._asdict() for cell in report.thin_cells],
        "never_best": list(report.never_best),
        "segments_with_a_lookalike": int((report.lookalikes > 0).sum()),
        "segments_with_a_confusable_lookalike": int((report.confusable > 0).sum()),
        "digest": structure.digest,
        "file": None if out is None else str(out),
    }
