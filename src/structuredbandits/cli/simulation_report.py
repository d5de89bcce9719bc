"""The output of `simulate`: a table on the terminal, plain data, and files."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from structuredbandits._version import __version__
from structuredbandits.cli.output import console
from structuredbandits.cli.summary_rows import (
    Row,
    mean_rows,
    number_with_error,
    summary_rows,
)
from structuredbandits.plots.titles import theta_title
from structuredbandits.policies.registry import make_algorithm
from structuredbandits.simulation import Results
from structuredbandits.structure.parameters import show_theta

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from structuredbandits.cli.choices import SimulationTarget

PICTURE, CURVES, SUMMARY, EVERYTHING = "regret.png", "regret.csv", "summary.csv", "results.parquet"


def print_report(
    target: SimulationTarget, results: Results, left_out: Mapping[str, str], files: Sequence[Path]
) -> None:
    """Print a heading, the table, its legend, the best policy, and the files."""
    from rich.text import Text

    screen = console()
    for line in _heading(target, results, left_out):
        screen.print(Text(line))
    sections = summary_rows(results)
    shares = len(results.policies) > 1 and any(
        np.isfinite(row.share_of_best_base) for rows in sections for row in rows
    )
    empty = any(row.empty_rounds >= 1 for rows in sections for row in rows)
    screen.print(_table(results, shares, empty))
    for line in _legend(results, shares, empty):
        screen.print(Text(line, style="dim"))
    screen.print(Text(_winner(sections)))
    if files:
        screen.print(Text(_where(files)), soft_wrap=True)


def _heading(target: SimulationTarget, results: Results, left_out: Mapping[str, str]) -> list[str]:
    lines = [
        f"{target.name}: {target.title}",
        f"{_count(len(results.policies), 'policy', 'policies')}, {len(results.thetas)} θ, "
        f"{_count(results.runs, 'run')} of {_count(results.horizon, 'round')}",
    ]
    if target.remark is not None:
        lines.append(target.remark)
    by_reason: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        by_reason.setdefault(reason, []).append(name)
    lines += [f"left out: {', '.join(names)} ({why})" for why, names in by_reason.items()]
    return lines


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _table(results: Results, shares: bool, empty: bool) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    sections = [(theta_title(rows[0].theta), rows) for rows in summary_rows(results)]
    if len(sections) > 1:
        sections.append((f"mean of the {len(sections)} θ", mean_rows(results)))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("policy")
    for name, wanted in (("regret", True), ("of best base", shares), ("empty rounds", empty)):
        if wanted:
            table.add_column(name, justify="right")
    for heading, rows in sections:
        table.add_row(Text(heading, style="bold"))
        least = min(row.regret for row in rows)
        for row in rows:
            columns = _columns(row, shares, empty)
            table.add_row(*map(Text, columns), style="green" if row.regret == least else None)
        table.add_section()
    return table


def _columns(row: Row, shares: bool, empty: bool) -> list[str]:
    columns = [f"  {row.policy}", number_with_error(row.regret, row.standard_error)]
    if shares:
        share = row.share_of_best_base
        columns.append(f"{100 * share:,.0f} %" if np.isfinite(share) else "")
    if empty:
        rounds = row.empty_rounds
        columns.append(f"{rounds:,.0f}" if rounds >= 1 else "< 1" if rounds > 0 else "")
    return columns


def _legend(results: Results, shares: bool, empty: bool) -> list[str]:
    error = ", mean ± standard error" if results.runs > 1 else ""
    rounds = _count(results.horizon, "round")
    lines = [f"regret: reward lost compared with the best arm in {rounds}{error}"]
    if shares:
        base = [policy for policy in results.policies if make_algorithm(policy).classical]
        which = f"better of {' and '.join(base)}" if len(base) == 2 else "best base policy"
        which = base[0] if len(base) == 1 else f"the {which}"
        lines.append(f"of best base: regret divided by that of {which} at the same θ")
    if empty:
        lines.append(
            "empty rounds: no θ was plausible; many of them mean that the structure is wrong"
        )
    return lines


def _winner(sections: list[list[Row]]) -> str:
    """The policy with the least regret, and at how many θ."""
    winners = [min(rows, key=lambda row: row.regret).policy for rows in sections]
    best = max(dict.fromkeys(winners), key=winners.count)
    often = "" if len(winners) == 1 else f" at {winners.count(best)} of {len(winners)} θ"
    return f"{best} has the least mean regret{often}."


def _where(files: Sequence[Path]) -> str:
    picture, *others = files
    return f"Figure: {picture}   (in the same folder: {', '.join(path.name for path in others)})"


def as_plain_data(
    target: SimulationTarget, results: Results, left_out: Mapping[str, str], files: Sequence[Path]
) -> dict[str, Any]:
    """The report as plain data for `--json`."""
    rows = [row for section in summary_rows(results) for row in section]
    return {
        "version": __version__,
        "problem": target.name,
        "horizon": results.horizon,
        "runs": results.runs,
        "seed": results.seed,
        "policies": list(results.policies),
        "left_out": dict(left_out),
        "results": [{**row._asdict(), "theta_label": show_theta(row.theta)} for row in rows],
        "files": [str(path) for path in files],
    }


def write_files(results: Results, folder: Path) -> list[str]:
    """Write the figure, the tables behind it and all runs; return the file names."""
    with warnings.catch_warnings():
        # The font of the figure may lack letters of a label; the tables have them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        results.plot(folder / PICTURE)
    curves_frame(results).to_csv(folder / CURVES, index=False)
    summary_frame(results).to_csv(folder / SUMMARY, index=False)
    results.save(folder / EVERYTHING)
    return [PICTURE, CURVES, SUMMARY, EVERYTHING]


def summary_frame(results: Results) -> pd.DataFrame:
    """The numbers of the printed table."""
    import pandas as pd

    rows = [row for section in summary_rows(results) for row in section]
    frame = pd.DataFrame(rows, columns=list(Row._fields))
    frame["theta"] = [show_theta(row.theta) for row in rows]
    return frame


def curves_frame(results: Results) -> pd.DataFrame:
    """The numbers of the figure: mean regret with its 95 % band at every checkpoint."""
    import pandas as pd

    low, high = results.band()
    n_policies, n_thetas, n_rounds = low.shape
    labels = [show_theta(theta) for theta in results.thetas]
    return pd.DataFrame(
        {
            "policy": np.repeat(np.array(results.policies, dtype=object), n_thetas * n_rounds),
            "theta": np.tile(np.repeat(np.array(labels, dtype=object), n_rounds), n_policies),
            "round": np.tile(results.rounds, n_policies * n_thetas),
            "regret": results.mean().ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }
    )
