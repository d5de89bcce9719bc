"""An analysis as text, as a table and as HTML for a notebook."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from structuredbandits.theory._analysis import Analysis

if TYPE_CHECKING:
    import pandas as pd

    from structuredbandits.theory._analysis_table import AnalysisTable

_MOST_ROWS = 10
HEADER = ("arm", "mean", "gap Δ", "ε", "role", "η")


def arm_rows(report: Analysis) -> list[tuple[str, ...]]:
    """Return one row of text per arm; with a horizon also the bound on its pulls."""
    pulls = {} if report.horizon is None else report.pulls_bound(report.horizon)
    rows = []
    for arm in report.arms:
        row = [
            arm,
            f"{report.means[arm]:.4g}",
            f"{report.gaps[arm]:.4g}",
            number(report.epsilon[arm]),
            role(report, arm),
            f"{report.exploration_rates[arm]:.4g}" if report.exploration_rates[arm] else "–",
        ]
        if report.horizon is not None:
            bound = pulls.get(arm)
            text = "–" if bound is None else f"{bound.pulls:,.0f} (Theorem {bound.theorem})"
            row.append("vacuous" if bound is not None and bound.vacuous else text)
        rows.append(tuple(row))
    return rows


def header_of(report: Analysis) -> tuple[str, ...]:
    """Return the titles of the columns of `arm_rows`."""
    return HEADER if report.horizon is None else (*HEADER, f"pulls in {report.horizon:,} ≤")


def role(report: Analysis, arm: str) -> str:
    """Return the role of an arm at θ in one or two words."""
    if arm in report.optimal_arms:
        return "best"
    if arm in report.competitive_arms:
        return "competitive"
    return "never best" if math.isinf(report.epsilon[arm]) else "not competitive"


def number(value: float) -> str:
    """Return a number of at most four digits, or ∞."""
    return "∞" if math.isinf(value) else f"{value:.4g}"


def summary_lines(report: Analysis) -> list[str]:
    """Return the meaning of the numbers, one sentence per line."""
    lines = []
    if not report.unique:
        tied = ", ".join(report.optimal_arms)
        lines.append(f"The best arm is not unique: {tied} are equally good.")
    more = "".join(f", C_ε = {count} for ε = {e:g}" for e, count in report.C_epsilon.items())
    lines.append(f"C = {report.C} of {len(report.arms)} arms compete, C̃ = {report.C_tilde}{more}.")
    lines.append(report.note)
    if report.bounded_regret_possible and len(report.optimal_arms) == report.C:
        lines.append("Bounded regret is possible: no arm has to be explored forever.")
    elif report.bounded_regret_possible:
        lines.append(
            "Bounded regret is not excluded, but Algorithm-C does not guarantee it: other arms "
            "compete arbitrarily close to θ."
        )
    elif report.lower_bound == 0:
        lines.append("Bounded regret cannot be guaranteed from these bounds on the means.")
    else:
        lines.append(
            f"Regret grows without bound: at least like {report.lower_bound:.4g} · log T for every "
            "good policy, with η · log T pulls per arm."
        )
    return lines if report.horizon is None else lines + _bound_lines(report, report.horizon)


def _bound_lines(report: Analysis, horizon: int) -> list[str]:
    bound = report.regret_bound(horizon)
    text = (
        f"UCB-C with α = {report.alpha:g} has a regret of at most {bound.regret:,.4g} in "
        f"T = {horizon:,} rounds."
    )
    if bound.vacuous:
        text = (
            f"For UCB-C with α = {report.alpha:g} the bound on the regret is vacuous at "
            f"T = {horizon:,} rounds."
        )
    lines = [text]
    for arm, pulls in report.thompson_bound(horizon).items() if report.fits_thompson_bound else ():
        size = "is vacuous" if pulls.vacuous else f"is {pulls.pulls:,.4g} plus a constant"
        lines.append(
            f"For TS-C with a Beta prior and rewards 0 and 1 the bound on the pulls of arm {arm} "
            f"{size}."
        )
    return lines


def title_of(report: Analysis) -> str:
    """Return the structure, θ and the best arm in one line."""
    name = "" if report.structure_name is None else f"{report.structure_name}, "
    return f"{name}θ = {report.label}: the best arm is {report.optimal_arm}"


def analysis_text(report: Analysis) -> str:
    """Return an analysis as plain text."""
    table = [header_of(report), *arm_rows(report)]
    widths = [max(len(row[j]) for row in table) for j in range(len(table[0]))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    return "\n".join([title_of(report), "", *lines, "", *summary_lines(report)])


def analysis_html(report: Analysis) -> str:
    """Return an analysis as a table for a notebook, with the best arm in bold."""
    head = "".join(f"<th>{escape(text)}</th>" for text in header_of(report))
    body = ""
    for row in arm_rows(report):
        tag = "th" if row[0] in report.optimal_arms else "td"
        body += "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in row) + "</tr>"
    lines = "<br>".join(escape(line) for line in summary_lines(report))
    return (
        f"<div><p><b>{escape(title_of(report))}</b></p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table><p>{lines}</p></div>"
    )


def table_frame(table: AnalysisTable) -> pd.DataFrame:
    """Return one row per θ."""
    import pandas as pd

    arms = np.array(table.structure.arms, dtype=object)
    competitive = table.competitive
    columns: dict[str, object] = {
        "optimal_arm": arms[table.optimal.argmax(axis=1)],
        "unique": table.unique,
        "C": table.C,
        "C_tilde": table.C_tilde,
        "bounded_regret_possible": table.bounded_regret_possible,
        "competitive_arms": [", ".join(arms[flags]) for flags in competitive],
        "least_gap": np.where(table.optimal, np.inf, table.gaps).min(axis=1),
        "least_epsilon": np.where(competitive, np.inf, table.epsilon).min(axis=1),
    }
    for radius in table.radii:
        columns[f"C({radius:g})"] = table.C_epsilon(radius)
    if table.horizon is not None:
        bounds = table.regret_bounds(table.horizon)
        columns["regret_bound"] = [bound.regret for bound in bounds]
        columns["vacuous"] = [bound.vacuous for bound in bounds]
    return pd.DataFrame(columns, index=table.structure.to_frame().index)


def counts_line(table: AnalysisTable) -> str:
    """Return the number of θ for each number of competitive arms."""
    values, counts = np.unique(table.C, return_counts=True)
    shares = zip(values.tolist(), counts.tolist(), strict=True)
    listed = ", ".join(f"{value} at {count:,}" for value, count in shares)
    return f"C is {listed} of {len(table):,} θ."


def table_lines(table: AnalysisTable) -> list[str]:
    """Return what the table shows, one sentence per line."""
    possible = int(table.bounded_regret_possible.sum())
    lines = [
        counts_line(table),
        f"Bounded regret is possible at {possible:,} of them.",
        table.note,
    ]
    for radius in table.radii:
        values = table.C_epsilon(radius)
        lines.append(f"C_ε for ε = {radius:g} is {values.min()} to {values.max()}.")
    return lines


def table_text(table: AnalysisTable) -> str:
    """Return the regions, or some rows, as plain text."""
    title = table.structure.name or "Structure"
    lines = [f"{title}: {table.structure.n_arms} arms", ""]
    if table.regions and len(table.regions) <= 2 * _MOST_ROWS:
        for region in table.regions:
            best = ", ".join(region.arms)
            span = f"[{region.low:.6g}, {region.high:.6g}]"
            lines.append(f"{span:<22} best arm {best:<12} C = {region.C}")
    else:
        shown = table_frame(table).drop(columns=["competitive_arms", "bounded_regret_possible"])
        lines.append(shown.iloc[_some_rows(len(table))].to_string())
    return "\n".join([*lines, "", *table_lines(table)])


def table_html(table: AnalysisTable) -> str:
    """Return at most ten rows as a table for a notebook."""
    frame = table_frame(table).iloc[_some_rows(len(table))]
    lines = "<br>".join(escape(line) for line in table_lines(table))
    return f"<div>{frame.to_html()}<p>{lines}</p></div>"


def _some_rows(length: int) -> list[int]:
    if length <= _MOST_ROWS:
        return list(range(length))
    return sorted({round(i * (length - 1) / (_MOST_ROWS - 1)) for i in range(_MOST_ROWS)})
