"""Mean regret against the round: one panel per θ, each curve labelled at its end."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath
from matplotlib.ticker import FuncFormatter, MaxNLocator

from structuredbandits.errors import InvalidInput
from structuredbandits.plots import style
from structuredbandits.plots.titles import regret_finding, theta_title

if TYPE_CHECKING:
    from structuredbandits.simulation import Results

# In inches: the axes of a panel, and the margins for tick labels, titles and names.
_WIDTH, _HEIGHT = 3.4, 2.6
_ALONE = 5.0, 3.2
_LEFT, _BELOW, _ABOVE = 0.95, 0.62, 0.4
_HEAD, _FURTHER_LINE = 0.42, 0.24
_MOST_COLUMNS = 4
_POINTS_PER_INCH = 72.0
# From the end of a curve to its name, in points.
_LEADER = 14.0
_LINE_HEIGHT = 1.2
_MARKS_PER_CURVE = 6


class _Layout(NamedTuple):
    """The positions of the panels, in inches."""

    panels: int
    columns: int
    panel: tuple[float, float]
    slot: tuple[float, float]
    """The panel with its margins."""
    head: float = _HEAD

    @property
    def rows(self) -> int:
        """The number of rows of panels."""
        return math.ceil(self.panels / self.columns)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the whole figure."""
        return self.columns * self.slot[0], self.rows * self.slot[1] + self.head

    def place(self, number: int) -> tuple[float, float, float, float]:
        """Return left, bottom, width and height of a panel, as shares of the figure."""
        row, column = divmod(number, self.columns)
        width, height = self.size
        return (
            (column * self.slot[0] + _LEFT) / width,
            ((self.rows - 1 - row) * self.slot[1] + _BELOW) / height,
            self.panel[0] / width,
            self.panel[1] / height,
        )


def regret_plot(results: Results) -> Figure:
    """Draw the mean regret of every policy with its 95 % band, one panel per θ.

    Parameters
    ----------
    results
        The results of `simulate`.

    Returns
    -------
    Figure
        A figure without a window; `save` writes it.

    Examples
    --------
    >>> from structuredbandits.simulation import simulate
    >>> results = simulate("three-arms", ["ucb", "ucb-c"], theta=[0.5, 2.6], horizon=50, runs=3)
    >>> len(regret_plot(results).axes)
    2
    """
    # Up to three in a row, four as a square, more in rows of at most four.
    panels = len(results.thetas)
    columns = panels if panels <= 3 else min(_MOST_COLUMNS, math.ceil(math.sqrt(panels)))
    layout, heading = _layout(panels, columns, [results])
    drawn = style.figure(*layout.size)
    for number in range(panels):
        _draw_panel(drawn, layout, number, results, number)
    style.heading(drawn, heading)
    return drawn


def regret_grid_plot(rows: Mapping[str, Results]) -> Figure:
    """Draw several results at the same θ: one row per results, one column per θ.

    Parameters
    ----------
    rows
        Results by the name of their row.

    Examples
    --------
    >>> from structuredbandits.simulation import simulate
    >>> options = {"theta": [0.5, 2.6], "horizon": 50, "runs": 3}
    >>> ucb = simulate("three-arms", ["ucb", "ucb-c"], **options)
    >>> ts = simulate("three-arms", ["ts", "ts-c"], **options)
    >>> len(regret_grid_plot({"UCB": ucb, "Thompson sampling": ts}).axes)
    4
    """
    found = list(rows.values())
    columns = len(found[0].thetas)
    if any(results.thetas != found[0].thetas for results in found):
        raise InvalidInput("the rows have different θ; simulate all of them at the same θ.")
    layout, heading = _layout(columns * len(found), columns, found)
    drawn = style.figure(*layout.size)
    for row, (name, results) in enumerate(rows.items()):
        for number in range(columns):
            _draw_panel(drawn, layout, row * columns + number, results, number, name)
    style.heading(drawn, heading)
    return drawn


def _draw_panel(
    drawn: Figure, layout: _Layout, place: int, results: Results, theta: int, row: str = ""
) -> None:
    axes = drawn.add_axes(layout.place(place))
    _draw_curves(axes, results, theta)
    prefix = f"{row}, " if row else ""
    text = prefix + theta_title(results.thetas[theta])
    fitting = _shortened(text, style.TITLE_SIZE, layout.slot[0] - _LEFT)
    # Text between two dollar signs would be read as a formula.
    style.title(axes, fitting.replace("$", r"\$"))
    if place % layout.columns == 0:
        axes.set_ylabel("mean regret (reward)" if results.runs > 1 else "regret (reward)")
    if place + layout.columns >= layout.panels:
        axes.set_xlabel("round")
    _name_curves(axes, results, theta, layout.panel[1])


def _layout(panels: int, columns: int, found: Sequence[Results]) -> tuple[_Layout, str]:
    """Return the positions of the panels, and the heading in as many lines as it needs."""
    policies = [policy for results in found for policy in results.policies]
    names = _LEADER + max(_text_width(policy, style.LABEL_SIZE) for policy in policies)
    # High enough for all names, one below the other.
    most = max(len(results.policies) for results in found)
    tall = most * _LINE_HEIGHT * style.LABEL_SIZE / _POINTS_PER_INCH
    width, height = (_WIDTH, _HEIGHT) if panels > 1 else _ALONE
    panel = (width, max(height, tall))
    slot = (_LEFT + panel[0] + names / _POINTS_PER_INCH + 0.1, _BELOW + panel[1] + _ABOVE)
    lines = _wrapped(_heading(found), (columns * slot[0] - 0.36) * _POINTS_PER_INCH)
    head = _HEAD + _FURTHER_LINE * (len(lines) - 1)
    return _Layout(panels, columns, panel, slot, head), "\n".join(lines)


def _wrapped(text: str, width: float) -> list[str]:
    """Break bold text into lines of at most a width in points."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        # Bold letters are about an eighth wider.
        if lines[-1] and 1.13 * _text_width(longer, style.TITLE_SIZE) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _text_width(text: str, size: float) -> float:
    """Return the width of a text in points, with a margin for the rounding of its letters."""
    with warnings.catch_warnings():
        # A letter that the font lacks becomes a box, which also has a width.
        warnings.simplefilter("ignore", UserWarning)
        return 1.03 * float(TextPath((0, 0), text.replace("$", "S"), size=size).get_extents().x1)


def _shortened(text: str, size: float, inches: float) -> str:
    """Return the text, or its beginning and its end if it is too wide."""
    share = inches * _POINTS_PER_INCH / max(_text_width(text, size), 1.0)
    if share >= 1:
        return text
    # Letters differ in width, hence the margin.
    half = max(1, int(0.46 * share * len(text)))
    return f"{text[:half]}…{text[-half:]}"


def _heading(found: Sequence[Results]) -> str:
    results = found[0]
    name = "" if results.problem is None else f"{results.problem}: "
    runs = f"mean of {results.runs:,} runs, 95 % band" if results.runs > 1 else "one run"
    return f"{name}{regret_finding(found)} ({runs})"


def _draw_curves(axes: Axes, results: Results, number: int) -> None:
    """Draw all policies at one θ, starting with regret 0 at round 0."""
    rounds = np.concatenate(([0], results.rounds))
    means = np.pad(results.mean()[:, number], ((0, 0), (1, 0)))
    low, high = (np.pad(side[:, number], ((0, 0), (1, 0))) for side in results.band())
    step = max(1, len(rounds) // _MARKS_PER_CURVE)
    for i, policy in enumerate(results.policies):
        look = style.look_of(policy)
        axes.plot(
            rounds,
            means[i],
            color=look.colour,
            linestyle=look.line,
            linewidth=style.LINE_WIDTH,
            marker=look.marker or None,
            markevery=(i % step, step),
            markersize=5,
            label=policy,
            clip_on=False,
        )
        if results.runs > 1:
            axes.fill_between(
                rounds, low[i], high[i], color=look.colour, alpha=0.2, linewidth=0, zorder=1
            )
    top = max(means.max(), np.nanmax(high)) if results.runs > 1 else means.max()
    axes.set_xlim(0, results.horizon)
    axes.set_ylim(0, 1.03 * top if top > 0 else 1.0)
    axes.set_xticks([0, results.horizon // 2, results.horizon])
    axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(_with_commas))
    axes.grid(axis="y", color=style.PALE, linewidth=0.5, alpha=0.6)
    axes.set_axisbelow(True)


def _with_commas(value: float, _position: int | None = None) -> str:
    return f"{value:,.10g}"


def _name_curves(axes: Axes, results: Results, number: int, height: float) -> None:
    """Write each policy's name beside the end of its curve, moved up or down if they overlap."""
    ends = results.mean()[:, number, -1] / axes.get_ylim()[1]
    least = _LINE_HEIGHT * style.LABEL_SIZE / _POINTS_PER_INCH / height
    half = least / 2
    for policy, end, place in zip(
        results.policies, ends, style.spread(ends, least, half, 1 - half), strict=True
    ):
        look = style.look_of(policy)
        axes.annotate(
            policy,
            xy=(1.0, float(end)),
            xycoords="axes fraction",
            xytext=(_LEADER, (place - end) * height * _POINTS_PER_INCH),
            textcoords="offset points",
            va="center",
            fontsize=style.LABEL_SIZE,
            color=style.readable(look.colour),
            annotation_clip=False,
            parse_math=False,
            arrowprops={
                "arrowstyle": "-",
                "color": look.colour,
                "linewidth": 0.8,
                "shrinkA": 1,
                "shrinkB": 2,
                "relpos": (0.0, 0.5),
                "patchA": None,  # otherwise a steep line would stop above the name
            },
        )
