"""A structure as one line of text, as a DataFrame, or as HTML for a notebook."""

from __future__ import annotations

from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

from structuredbandits.structure._grids import Box, Interval

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from structuredbandits.structure.structure import Structure

_MOST_ROWS = 10


def structure_line(structure: Structure) -> str:
    """Return the size of a structure in one line."""
    parameters = structure.parameters
    where = ""
    if isinstance(parameters, Interval):
        where = f" in [{parameters.low:g}, {parameters.high:g}]"
    elif isinstance(parameters, Box):
        where = " in " + " × ".join(f"[{low:g}, {high:g}]" for low, high in parameters.sides)
    low, high = structure.sigma.min(), structure.sigma.max()
    sigma = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    kind = "" if structure.exact else ", bounds"
    family = f", {structure.rewards} rewards" if structure.rewards.limited else ""
    costs = ", costs" if structure.minimize else ""
    size = f"{structure.n_arms} arms, {structure.n_parameters} θ{where}"
    return f"{size}, sigma {sigma}{family}{kind}{costs}"


def structure_frame(structure: Structure) -> pd.DataFrame:
    """Return the means as a table: one row per θ, one column per arm."""
    import pandas as pd

    parameters = structure.parameters
    names = list(parameters.names)
    members = list(parameters)
    tuples = [member for member in members if isinstance(member, tuple)]
    index: pd.Index[Any]
    if tuples:
        index = pd.MultiIndex.from_tuples(tuples, names=names)
    else:
        index = pd.Index(members, name=names[0])
    columns = pd.Index(structure.arms, name="arm")
    return pd.DataFrame(structure.means.copy(), index=index, columns=columns)


def structure_html(structure: Structure, picture: str) -> str:
    """Return a table of at most ten rows, with the best arm of each in bold, above a picture."""
    number = structure.n_parameters
    rows = list(range(number))
    if number > _MOST_ROWS:
        rows = sorted({round(i * (number - 1) / (_MOST_ROWS - 1)) for i in range(_MOST_ROWS)})
    title = structure.name or "Structure"
    head = "".join(f"<th>{escape(arm)}</th>" for arm in structure.arms)
    body = "".join(_row(structure, i) for i in rows)
    shown = f"; {len(rows)} of {number} rows shown" if len(rows) < number else ""
    caption = f"<b>{escape(title)}</b>: {escape(structure_line(structure))}{shown}"
    return (
        f"<div><p>{caption}</p><table><thead><tr><th>θ</th>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{picture}</div>"
    )


def _row(structure: Structure, i: int) -> str:
    columns = []
    for k in range(structure.n_arms):
        low, high = structure.lower[i, k], structure.upper[i, k]
        text = f"{low:.4g}" if structure.exact else f"{low:.4g} … {high:.4g}"
        best = structure.optimal[i, k]
        columns.append(f"<td><b>{text}</b></td>" if best else f"<td>{text}</td>")
    return f"<tr><th>{escape(structure.label(i))}</th>{''.join(columns)}</tr>"


def figure_svg(figure: Figure) -> str:
    """Return a Matplotlib figure as an SVG element."""
    drawn = StringIO()
    figure.savefig(drawn, format="svg")
    text = drawn.getvalue()
    return text[text.index("<svg") :]
