"""Draw the recorded times per round on logarithmic scales, with a label on each curve."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from structuredbandits.plots import save, style
from structuredbandits.plots.structure_figure import name_curves

_OURS = "structuredbandits"
# One colour per library; this library is the thick blue line.
_COLOURS = {
    _OURS: style.BLUE,
    "River": style.VERMILLION,
    "MABWiser": style.GREEN,
    "SMPyBandits": style.ORANGE,
    "PyBandits": style.PURPLE,
    "bayesianbandits": style.WINE,
    "Vowpal Wabbit": style.OLIVE,
    "floor": style.BLACK,
    "NumPy, dense": style.VERMILLION,
    "NumPy, narrowing": style.ORANGE,
    "NumPy, sorted": style.GREEN,
    "NumPy, batched": style.VERMILLION,
}
_UNITS = {0: "ns", 3: "µs", 6: "ms", 9: "s"}
Point = dict[str, Any]


def _for_ucb(point: Point) -> bool:
    """UCB of every library; Beta Thompson sampling if it has no UCB."""
    wanted = "ts-beta" if point["who"] == "PyBandits" else "ucb"
    structured = point["who"] == _OURS and point["policy"] == "ucb-c"
    return structured or point["who"] == "floor" or point["policy"] == wanted


# Title, label of the x axis, and selection of points.
_PANELS: list[tuple[str, str, Callable[[Point], bool]]] = [
    (
        "One pull and update from Python, UCB",
        "arms",
        lambda p: p["kind"] == "interactive" and _for_ucb(p),
    ),
    (
        "Simulators, UCB",
        "arms",
        lambda p: p["kind"] == "simulator" and p["against"] == "K" and _for_ucb(p),
    ),
    ("UCB-C, 18 arms", "size of Θ", lambda p: p["against"] == "parameters"),
    ("UCB, 3 arms", "runs at once", lambda p: p["against"] == "runs"),
    ("UCB and UCB-C, 18 arms", "rounds T", lambda p: p["against"] == "T"),
]


def draw(data: dict[str, Any], path: Path) -> Path:
    """Draw the time per round against K, |Θ|, runs and T."""
    drawn = style.figure(15.0, 8.6)
    for number, (title, below, wanted) in enumerate(_PANELS):
        row, column = divmod(number, 3)
        axes = drawn.add_axes((0.055 + 0.333 * column, 0.575 - 0.5 * row, 0.165, 0.35))
        _panel(axes, [p for p in data["points"] if wanted(p)])
        style.title(axes, title)
        axes.set_xlabel(below)
    drawn.text(
        0.72,
        0.42,
        f"Time per round on one core\nof one machine, {data['date']}.\n\nBlue is this library:\n"
        "solid with a structure (-c),\ndashed without.\n\nPyBandits has Beta Thompson\n"
        "sampling only, which is shown.\n\nThe floor is noise and the largest\n"
        "of K numbers, compiled.",
        fontsize=style.LABEL_SIZE,
        color=style.INK,
        va="top",
    )
    return save(drawn, path)


def _panel(axes: Axes, points: list[Point]) -> None:
    curves: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for p in points:
        # Exponents of ten as plain numbers, so that labels can be placed.
        curves[p["who"], p["policy"]].append((np.log10(p["at"]), np.log10(p["seconds"] * 1e9)))
    ends = []
    for (who, policy), places in curves.items():
        x, y = zip(*sorted(places), strict=True)
        ours = who == _OURS
        plain = ours and not policy.endswith("-c")
        axes.plot(
            x,
            y,
            color=_COLOURS[who],
            linestyle=style.look_of("ucb" if plain else "ucb-c").line,
            linewidth=3.0 if ours else 1.6,
            marker="o",
            markersize=3.5,
        )
        ends.append((policy if ours else who, _COLOURS[who], float(y[-1])))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{10**value:,.0f}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _time(value)))
    values = [value for places in curves.values() for value, _ in places]
    step = 1 if max(values) - min(values) < 3.5 else 2
    axes.set_xticks(np.arange(np.ceil(min(values)), max(values) + 0.01, step))
    low, high = np.floor(axes.get_ylim()[0]), np.ceil(axes.get_ylim()[1])
    axes.set_yticks(np.arange(low, high + 1))
    axes.set_ylim(low, high)
    axes.grid(color=style.PALE, linewidth=0.5, alpha=0.6)
    name_curves(axes, ends)


def _time(power: float) -> str:
    """A power of ten of nanoseconds as text."""
    unit = min(9, round(power) // 3 * 3)
    return f"{10 ** (power - unit):g} {_UNITS[unit]}"
