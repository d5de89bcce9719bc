"""The figure of a structure: mean rewards over θ, drawn according to the kind of Θ."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

from structuredbandits.errors import InvalidInput
from structuredbandits.plots import style
from structuredbandits.structure import Box, FloatArray, Structure

# The longest name at an axis, in characters.
_LONGEST_TICK = 24
# Bars are used up to this many labelled θ and arms, a heat map beyond.
_MOST_BARS = 6, 8
_MOST_TICKS = 24
# A map is interpolated to this many points per side, so that its borders are smooth.
_FINE = 241
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def structure_plot(structure: Structure, ax: Axes | None = None) -> Figure:
    """Draw the mean rewards of all arms.

    Numerical θ give one curve per arm, labels give bars or a heat map, a box in the plane gives a
    map of the best arm, and anything else gives the share of Θ in which each arm is best.

    Parameters
    ----------
    structure
        The structure.
    ax
        Axes to draw into; a new figure if None.

    Returns
    -------
    Figure
        The figure. It has no window; `save` writes it.

    Examples
    --------
    >>> table = Structure.from_table([[1, 2], [3, 1]], sigma=1)
    >>> len(structure_plot(table).axes)
    1
    """
    kind = kind_of(structure)
    figure = style.figure(*_size(structure, kind), arranged=True) if ax is None else None
    axes = figure.add_subplot() if figure is not None else ax
    assert axes is not None
    if kind == "curves":
        draw_curves(axes, structure)
    elif kind == "bars":
        _draw_bars(axes, structure)
    elif kind == "heat":
        draw_heat(axes, structure)
    elif kind == "map":
        _draw_map(axes, structure)
    else:
        _draw_shares(axes, structure)
    # On a map the remark is between the title and the axes.
    style.title(axes, _finding(structure), pad=20.0 if kind == "map" else 6.0)
    return _figure_of(axes) if figure is None else figure


def _finding(structure: Structure) -> str:
    """Return the title: how many of the arms are best somewhere."""
    best = int(structure.optimal.any(axis=0).sum())
    verb = "is best" if best == 1 else "are best"
    if not structure.exact:
        verb = "may be best"
    count = f"{best} of {structure.n_arms} arms {verb} for some θ"
    return count if structure.name is None else f"{structure.name}: {count}"


def _figure_of(axes: Axes) -> Figure:
    """Return the figure of axes; only removed axes have none."""
    found = axes.get_figure(root=True)
    if found is None:
        raise InvalidInput("these axes were removed from their figure; give axes of a figure.")
    return found


def kind_of(structure: Structure) -> str:
    """Return the kind of figure of a structure: "curves", "bars", "heat", "map" or "shares"."""
    parameters = structure.parameters
    if parameters.points is None or len(parameters) == 1:
        few_rows, few_arms = _MOST_BARS
        return "bars" if len(parameters) <= few_rows and structure.n_arms <= few_arms else "heat"
    if parameters.dimension == 1:
        return "curves"
    return "map" if isinstance(parameters, Box) and parameters.dimension == 2 else "shares"


def _size(structure: Structure, kind: str) -> tuple[float, float]:
    if kind == "heat":
        return 9.5, max(3.0, 1.6 + 0.24 * structure.n_arms)
    if kind == "map":
        return 5.6, 5.0
    return 6.8, max(4.0, 0.2 * structure.n_arms + 1.2)


def reward_name(structure: Structure) -> str:
    """Return the name of the axis of means."""
    return "mean cost" if structure.minimize else "mean reward"


def theta_name(structure: Structure, coordinate: int = 0) -> str:
    """Return the printed name of a coordinate of θ."""
    name = structure.parameters.names[coordinate]
    if name == "theta":
        return "θ"
    if name.startswith("theta_"):
        return "θ" + name.removeprefix("theta_").translate(_SUBSCRIPTS)
    return name


def arm_name(name: str) -> str:
    """Return the name of an arm for a label of its own: a number is prefixed with "arm"."""
    return f"arm {name}" if name.isdecimal() else name


def draw_curves(axes: Axes, structure: Structure) -> None:
    """Draw one curve per arm over a numerical Θ, each labelled at its end.

    With exact breakpoints jumps are gaps; with bounds the curve has a band.
    """
    theta = np.asarray(structure.parameters.points)[:, 0]
    order = np.argsort(theta)
    theta = theta[order]
    few = not structure.parameters.continuous and len(theta) <= 40
    ends = []
    for k, arm in enumerate(structure.arms):
        look = style.arm_look(k)
        x, y = _curve(structure, k, theta, order)
        axes.plot(
            x,
            y,
            color=look.colour,
            linestyle=look.line,
            linewidth=style.LINE_WIDTH,
            marker="o" if few else "",
            markersize=4,
            zorder=3,
        )
        if not structure.exact:
            low, high = structure.lower[order, k], structure.upper[order, k]
            axes.fill_between(theta, low, high, color=look.colour, alpha=0.2, linewidth=0)
        ends.append((arm_name(arm), look.colour, float(y[-1])))
    axes.set_xlim(float(theta[0]), float(theta[-1]))
    axes.set_xlabel(theta_name(structure))
    axes.set_ylabel(reward_name(structure))
    axes.margins(y=0.06)
    name_curves(axes, ends)


def _curve(
    structure: Structure, arm: int, theta: FloatArray, order: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    if structure.pieces is None:
        return theta, structure.means[order, arm]
    piece = structure.pieces[arm]
    # A gap at a jump: the function takes no value between its two limits.
    jumps = np.flatnonzero(np.diff(piece.theta) == 0) + 1
    return np.insert(piece.theta, jumps, np.nan), np.insert(piece.value, jumps, np.nan)


def name_curves(axes: Axes, ends: Sequence[tuple[str, str, float]]) -> None:
    """Write (name, colour, last value) to the right of axes, moved apart to avoid overlaps."""
    size = style.LABEL_SIZE if len(ends) <= 10 else style.SMALL_SIZE
    low, high = axes.get_ylim()
    height = axes.get_window_extent().height / _figure_of(axes).dpi * 72
    share = [(value - low) / (high - low) for _, _, value in ends]
    for (name, colour, _), place in zip(
        ends, style.spread(share, 1.25 * size / height, 0.0, 1.0), strict=True
    ):
        axes.annotate(
            name,
            (1.0, place),
            xytext=(5, 0),
            textcoords="offset points",
            xycoords="axes fraction",
            color=style.readable(colour),
            fontsize=size,
            va="center",
            annotation_clip=False,
        )


def _draw_bars(axes: Axes, structure: Structure) -> None:
    number, arms = structure.n_parameters, structure.n_arms
    places = np.arange(number)
    width = 0.8 / arms
    for k, arm in enumerate(structure.arms):
        offset = (k - (arms - 1) / 2) * width
        half = (structure.upper[:, k] - structure.lower[:, k]) / 2
        axes.bar(
            places + offset,
            structure.means[:, k],
            0.92 * width,
            color=style.arm_look(k).colour,
            yerr=None if structure.exact else half,
            capsize=2,
            label=_tick(arm),
        )
    axes.set_xticks(places, [_tick(structure.label(i)) for i in range(number)])
    axes.axhline(0, color=style.INK, linewidth=0.8)
    axes.set_ylabel(reward_name(structure))
    axes.legend(
        fontsize=style.TICK_SIZE, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5)
    )


def draw_heat(axes: Axes, structure: Structure) -> None:
    """Draw a heat map: one row per arm, one column per θ, with a dot on the best arm."""
    # A few extreme means, learned from few observations, would wash out all others.
    low, high = np.quantile(structure.means, [0.01, 0.99]).tolist()
    image = axes.pcolormesh(structure.means.T, cmap="cividis", vmin=low, vmax=high, rasterized=True)
    best = (structure.sign * structure.means).argmax(axis=1)
    places = np.arange(structure.n_parameters) + 0.5
    axes.plot(places, best + 0.5, "o", color="white", markeredgecolor="black", markersize=4.2)
    axes.set_yticks(np.arange(structure.n_arms) + 0.5, list(map(_tick, structure.arms)))
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    theta_ticks(axes, structure)
    figure = axes.get_figure(root=True)
    assert figure is not None
    bar = figure.colorbar(image, ax=axes, pad=0.01, aspect=30, extend="both")
    bar.set_label(f"{reward_name(structure)} (dot: the best arm)", fontsize=style.LABEL_SIZE)
    bar.outline.set_visible(False)


def theta_ticks(axes: Axes, structure: Structure, separators: str = "white") -> None:
    """Label the columns of labelled θ: each, or by the first part of their labels if many."""
    number = structure.n_parameters
    axes.set_xlim(0, number)
    members: list[Any] = list(structure.parameters)  # labels, numbers or tuples of them
    if number > _MOST_TICKS and isinstance(members[0], tuple):
        start, ticks, names = 0, [], []
        for name, group in groupby(members, key=lambda member: str(member[0])):
            length = len(list(group))
            axes.axvline(start, color=separators, linewidth=1.2)
            ticks.append(start + length / 2)
            names.append(name)
            start += length
        axes.set_xticks(ticks, names)
        axes.tick_params(axis="x", length=0)
        first, *others = structure.parameters.names
        axes.set_xlabel(f"θ by {first}; within each by {', '.join(others)}")
        return
    step = -(-number // _MOST_TICKS)
    shown = range(0, number, step)
    names = [_tick(structure.label(i)) for i in shown]
    axes.set_xticks([i + 0.5 for i in shown], names)
    if max(map(len, names)) * len(shown) > 80:
        axes.tick_params(axis="x", rotation=90)
    axes.set_xlabel("θ")


def _tick(name: str) -> str:
    """Return a name for an axis, shortened so that enough space is left for the plot."""
    return name if len(name) <= _LONGEST_TICK else name[: _LONGEST_TICK - 1] + "…"


def _draw_map(axes: Axes, structure: Structure) -> None:
    """Draw the best arm over the plane, and the best mean as contour lines."""
    first, second, rewards = fine_map(structure)
    best = rewards.argmax(axis=2)
    colours = [style.shaded(style.arm_look(k).colour, 0.6) for k in range(structure.n_arms)]
    axes.pcolormesh(
        first,
        second,
        best.T,
        cmap=ListedColormap(colours),
        vmin=-0.5,
        vmax=structure.n_arms - 0.5,
        shading="nearest",
        rasterized=True,
    )
    heights = structure.sign * rewards.max(axis=2).T
    if np.ptp(heights) > structure.tolerance:
        lines = axes.contour(
            first, second, heights, levels=7, colors=style.INK, linewidths=0.8, linestyles="-"
        )
        axes.clabel(lines, fontsize=style.SMALL_SIZE, fmt="%g")
    name_best(axes, structure, best)
    plane_axes(axes, structure)
    remark(axes, f"lines: {reward_name(structure)} of the best arm")


def remark(axes: Axes, text: str) -> None:
    """Write a few words above the right end of axes."""
    axes.annotate(
        text,
        (1.0, 1.0),
        xytext=(0, 5),
        textcoords="offset points",
        xycoords="axes fraction",
        ha="right",
        va="bottom",
        fontsize=style.SMALL_SIZE,
        color=style.INK,
    )


def fine_map(structure: Structure) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return both sides of a box and the rewards (first, second, arms), interpolated finely."""
    first, second = structure.parameters.axes
    rewards = structure.sign * structure.means.reshape(len(first), len(second), -1)
    new = [np.linspace(side[0], side[-1], max(_FINE, len(side))) for side in (first, second)]
    rewards = _interpolated(rewards, first, new[0])
    rewards = np.swapaxes(_interpolated(np.swapaxes(rewards, 0, 1), second, new[1]), 0, 1)
    return new[0], new[1], rewards


def _interpolated(table: FloatArray, old: FloatArray, new: FloatArray) -> FloatArray:
    """Interpolate a table linearly at other values of its first side."""
    i = np.clip(np.searchsorted(old, new, side="right") - 1, 0, len(old) - 2)
    share = ((new - old[i]) / (old[i + 1] - old[i])).reshape(-1, *[1] * (table.ndim - 1))
    return np.asarray((1 - share) * table[i] + share * table[i + 1])


def plane_axes(axes: Axes, structure: Structure) -> None:
    """Give axes the sides of a box in the plane."""
    first, second = structure.parameters.axes
    axes.set_xlim(float(first[0]), float(first[-1]))
    axes.set_ylim(float(second[0]), float(second[-1]))
    axes.set_xlabel(theta_name(structure, 0))
    axes.set_ylabel(theta_name(structure, 1))


def name_best(axes: Axes, structure: Structure, best: NDArray[np.intp]) -> None:
    """Write each arm's name where it is best, as far from the borders as possible.

    Parameters
    ----------
    axes
        The axes of a map.
    structure
        Its Θ is a box in the plane.
    best
        (first side, second side): the best arm on an even grid over the box.
    """
    from matplotlib.patheffects import withStroke
    from scipy.ndimage import distance_transform_edt

    ends = [(side[0], side[-1]) for side in structure.parameters.axes]
    for k in np.unique(best).tolist():
        depth = distance_transform_edt(np.pad(best == k, 1))[1:-1, 1:-1]
        place = np.unravel_index(int(depth.argmax()), depth.shape)
        shares = [i / (length - 1) for i, length in zip(place, depth.shape, strict=True)]
        x, y = (low + s * (high - low) for (low, high), s in zip(ends, shares, strict=True))
        text = axes.text(
            float(x),
            float(y),
            arm_name(structure.arms[k]),
            color=style.shaded(style.arm_look(k).colour, -0.35),
            fontsize=style.TITLE_SIZE,
            fontweight="bold",
            ha="center",
            va="center",
            zorder=5,
        )
        text.set_path_effects([withStroke(linewidth=4, foreground="white", alpha=0.8)])


def _draw_shares(axes: Axes, structure: Structure) -> None:
    """Draw the share of Θ in which each arm is best, divided equally where arms tie."""
    optimal = structure.optimal / structure.optimal.sum(axis=1, keepdims=True)
    shares = structure.parameters.weights @ optimal
    places = np.arange(structure.n_arms)
    colours = [style.arm_look(k).colour for k in range(structure.n_arms)]
    axes.barh(places, 100 * shares, color=colours, height=0.7)
    for place, share in zip(places.tolist(), shares.tolist(), strict=True):
        text = f" {100 * share:.0f} %"
        axes.text(100 * share, place, text, va="center", fontsize=style.TICK_SIZE)
    axes.set_yticks(places, list(map(_tick, structure.arms)))
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel(f"share of {structure.n_parameters:,} θ in which the arm is best (%)")
