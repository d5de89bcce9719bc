"""Figures of an analysis: the regions in which each arm is best, and C over Θ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from structuredbandits.plots import style
from structuredbandits.plots.structure_figure import (
    arm_name,
    draw_curves,
    draw_heat,
    fine_map,
    kind_of,
    name_best,
    plane_axes,
    remark,
    theta_name,
    theta_ticks,
)
from structuredbandits.theory import AnalysisTable

# One competitive arm is grey, two are yellow, three are white, as in the published figures.
_SHADES = (
    "#D6D6D6",
    "#FFF3A6",
    "#FFFFFF",
    "#CFE8F7",
    "#CDEBDD",
    "#F8D9C8",
    "#EBD3E3",
    "#D8D3EE",
)
# Curves of C_ε, starting with the smallest ε.
_RADII_COLOURS = (style.SKY, style.GREEN, style.VERMILLION, style.PURPLE, style.OLIVE)
_STRIP = 0.055
# Beyond this many parts, shades and lines between them are not visible.
_MANY = 80

# Low end, high end and best arms.
_Run = tuple[float, float, tuple[str, ...]]


def shade_of(count: int) -> str:
    """Return the colour of a region with this many competitive arms.

    Examples
    --------
    >>> shade_of(2), shade_of(3)
    ('#FFF3A6', '#FFFFFF')
    """
    round_, place = divmod(count - 1, len(_SHADES))
    return style.shaded(_SHADES[place], -min(0.15 * round_, 0.6))


def regions_plot(table: AnalysisTable, ax: Axes | None = None) -> Figure:
    """Draw the rewards and the best arms over Θ, shaded by the number of competitive arms.

    Parameters
    ----------
    table
        The analysis of all θ, from `analyze`.
    ax
        Axes to draw into; a new figure if None.

    Returns
    -------
    Figure
        The figure. It has no window; `save` writes it.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> from structuredbandits.theory import analyze
    >>> arms = {"a": [(0, 3), (3, 3), (6, 6)], "b": [(0, 5), (6, 2)]}
    >>> drawn = regions_plot(analyze(Structure.from_breakpoints(arms, sigma=1)))
    >>> len(drawn.axes)
    1
    """
    structure, kind = table.structure, kind_of(table.structure)
    size = {"heat": (9.5, 2.3 + 0.24 * structure.n_arms), "map": (5.8, 5.4)}.get(kind, (6.8, 4.6))
    figure, axes = _start(size, ax)
    if kind == "curves":
        _shade_curves(axes, table)
    elif kind in ("heat", "bars"):
        draw_heat(axes, structure)
        _shade_columns(axes, table)
    elif kind == "map":
        _shade_map(axes, table)
    else:
        _stack_shares(axes, table)
    shown = np.array([region.C for region in table.regions]) if table.regions else table.C
    _legend(axes, shown, figure if ax is None else None)
    _title(axes, _finding(table), pad={"shares": 6.0, "map": 20.0}.get(kind, 24.0))
    return figure


def competitive_plot(table: AnalysisTable, ax: Axes | None = None) -> Figure:
    """Draw the number C of competitive arms against θ, and C_ε for each ε of the table.

    Numerical θ give steps, labels give bars with one panel for C and one per ε (only C if `ax` is
    given), and anything else gives the share of Θ with each number.

    Parameters
    ----------
    table
        The analysis of all θ, from `analyze`.
    ax
        Axes to draw into; a new figure if None.
    """
    kind = kind_of(table.structure)
    if kind in ("heat", "bars"):
        return _bars_of_labels(table, ax)
    figure, axes = _start((6.8, 3.6), ax)
    if kind == "curves":
        _steps(axes, table)
    else:
        _shares_of_counts(axes, table)
    _title(axes, _finding(table), pad=32.0 if kind == "curves" and table.radii else 6.0)
    return figure


def _start(size: tuple[float, float], ax: Axes | None) -> tuple[Figure, Axes]:
    if ax is not None:
        root = ax.get_figure(root=True)
        assert isinstance(root, Figure)
        return root, ax
    figure = style.figure(*size, arranged=True)
    return figure, figure.add_subplot()


def _title(axes: Axes, text: str, pad: float) -> None:
    """Put a title above axes, or above what is drawn over them."""
    axes.set_title(text, loc="left", fontsize=style.TITLE_SIZE, color=style.INK, pad=pad)


def _finding(table: AnalysisTable) -> str:
    """Return the title: how many of the arms compete."""
    shown = [region.C for region in table.regions] or table.C.tolist()
    low, high = min(shown), max(shown)
    arms = table.structure.n_arms
    count = f"{low} of {arms} arms competes" if high == 1 else f"{low} of {arms} arms compete"
    if low < high:
        count = f"{low} to {high} of {arms} arms compete"
    return f"{table.structure.name}: {count}" if table.structure.name else count


def _legend(axes: Axes, counts: NDArray[np.int64], figure: Figure | None) -> None:
    """Explain the shades, below the whole figure unless the axes were given."""
    values = np.unique(counts).tolist()
    patches = [
        Patch(facecolor=shade_of(value), edgecolor=style.PALE, label=f"C = {value}")
        for value in values
    ]
    columns = min(len(values), 6)
    if figure is None:
        axes.legend(handles=patches, loc="best", ncols=columns, fontsize=style.SMALL_SIZE)
        return
    figure.legend(
        handles=patches,
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=style.TICK_SIZE,
        handlelength=1.3,
        columnspacing=1.3,
    )


def _shade_curves(axes: Axes, table: AnalysisTable) -> None:
    """Draw the curves over shaded regions, under a strip with the best arms."""
    draw_curves(axes, table.structure)
    regions, runs = table.regions, _runs_of_best(table)
    axes.broken_barh(
        [(region.low, region.high - region.low) for region in regions],
        (0.0, 1.0),
        facecolors=[shade_of(region.C) for region in regions],
        transform=axes.get_xaxis_transform(),
        antialiased=False,
        linewidth=0,
        zorder=0,
    )
    colours = [style.arm_look(table.structure.arm_index(arms[0])).colour for _, _, arms in runs]
    axes.broken_barh(
        [(low, high - low) for low, high, _ in runs],
        (1.015, _STRIP),
        facecolors=colours,
        edgecolor="white",
        linewidth=1.0 if len(runs) <= _MANY else 0.0,
        transform=axes.get_xaxis_transform(),
        clip_on=False,
    )
    for low, _, _ in runs[1:] if len(runs) <= _MANY else ():
        axes.axvline(low, color=style.PALE, linewidth=0.8, linestyle=":", zorder=1)
    _name_runs(axes, runs, colours)
    _beside_strip(axes, "best")


def _name_runs(axes: Axes, runs: Sequence[_Run], colours: Sequence[str]) -> None:
    """Write the names of the best arms into their strip, where they fit."""
    root = axes.get_figure(root=True)
    assert root is not None
    points = 72 * axes.get_window_extent().width / root.dpi / (runs[-1][1] - runs[0][0])
    for (low, high, arms), colour in zip(runs, colours, strict=True):
        text = " = ".join(arm_name(arm) if len(arms) == 1 else arm for arm in arms)
        # Where a name does not fit, the colour identifies the arm's curve.
        if points * (high - low) > 0.75 * style.SMALL_SIZE * len(text):
            axes.text(
                (low + high) / 2,
                1.012 + _STRIP / 2,
                text,
                transform=axes.get_xaxis_transform(),
                color=_readable_on(colour),
                fontsize=style.SMALL_SIZE,
                ha="center",
                va="center",
            )


def _beside_strip(axes: Axes, text: str) -> None:
    """Label the strip above axes."""
    axes.annotate(
        text,
        (0.0, 1.015 + _STRIP / 2),
        xytext=(-5, 0),
        textcoords="offset points",
        xycoords="axes fraction",
        ha="right",
        va="center",
        fontsize=style.SMALL_SIZE,
        color=style.INK,
        annotation_clip=False,
    )


def _runs_of_best(table: AnalysisTable) -> list[_Run]:
    """Join neighbouring regions with the same best arm."""
    runs: list[_Run] = []
    for region in table.regions:
        if runs and runs[-1][2] == region.arms:
            runs[-1] = (runs[-1][0], region.high, region.arms)
        else:
            runs.append((region.low, region.high, region.arms))
    return runs


def _readable_on(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "white" if 0.3 * red + 0.59 * green + 0.11 * blue < 145 else "black"


def _shade_columns(axes: Axes, table: AnalysisTable) -> None:
    """Put a strip above a heat map: one column per θ, shaded by C."""
    strip = axes.inset_axes((0.0, 1.015, 1.0, _STRIP))
    strip.pcolormesh(
        table.C[np.newaxis],
        cmap=ListedColormap([shade_of(c) for c in range(1, int(table.C.max()) + 1)]),
        vmin=0.5,
        vmax=float(table.C.max()) + 0.5,
        edgecolors="white",
        linewidth=0.2,
    )
    strip.set_axis_off()
    _beside_strip(axes, "C")


def _shade_map(axes: Axes, table: AnalysisTable) -> None:
    from scipy.ndimage import distance_transform_edt

    structure, found = table.structure, table.map()
    counts = found.C
    if found.unique.any():
        # Lines on which arms tie are not regions: there the nearest other θ counts.
        nearest = distance_transform_edt(~found.unique, return_distances=False, return_indices=True)
        counts = counts[tuple(nearest)]
    axes.pcolormesh(
        found.first,
        found.second,
        counts.T,
        cmap=ListedColormap([shade_of(c) for c in range(1, structure.n_arms + 1)]),
        vmin=0.5,
        vmax=structure.n_arms + 0.5,
        shading="nearest",
        rasterized=True,
    )
    first, second, rewards = fine_map(structure)
    for k in np.unique(found.best).tolist():
        lead = rewards[:, :, k] - np.delete(rewards, k, axis=2).max(axis=2)
        if lead.min() < 0 < lead.max():
            axes.contour(first, second, lead.T, levels=[0.0], colors=style.INK, linewidths=1.4)
    name_best(axes, structure, found.best)
    plane_axes(axes, structure)
    remark(axes, "lines: where the best arm changes")


def _stack_shares(axes: Axes, table: AnalysisTable) -> None:
    """Draw the share of Θ in which each arm is best, split by C."""
    structure = table.structure
    weights = structure.parameters.weights[:, np.newaxis] * table.optimal
    weights = weights / table.optimal.sum(axis=1, keepdims=True)
    left = np.zeros(structure.n_arms)
    places = np.arange(structure.n_arms)
    counts = table.C
    for count in np.unique(counts).tolist():
        share = 100 * weights[counts == count].sum(axis=0)
        axes.barh(
            places, share, left=left, color=shade_of(count), edgecolor=style.INK, linewidth=0.6
        )
        left += share
    axes.set_yticks(places, structure.arms)
    axes.invert_yaxis()
    axes.set_xlabel("share of Θ in which the arm is best (%)")


def _steps(axes: Axes, table: AnalysisTable) -> None:
    structure = table.structure
    regions = table.regions
    shaded = regions if len(regions) <= _MANY else ()
    for low, high, _, count in shaded:
        axes.fill_between([low, high], 0, count, color=shade_of(count), linewidth=0)
    edges = [regions[0].low, *(region.high for region in regions)]
    # Each further curve is shifted up a little, so that equal curves stay visible.
    for k, radius in enumerate(table.radii):
        theta = np.asarray(structure.parameters.points)[:, 0]
        order = np.argsort(theta)
        axes.step(
            theta[order],
            table.C_epsilon(radius)[order] + 0.05 * (k + 1),
            where="mid",
            color=_RADII_COLOURS[k % len(_RADII_COLOURS)],
            linewidth=1.6,
            label=f"$C_ε$, ε = {radius:g}",
        )
    counts = [region.C for region in regions]
    axes.stairs(counts, edges, color=style.INK, linewidth=2.2, label="C", baseline=None)
    top = max([table.C.max(), *(table.C_epsilon(radius).max() for radius in table.radii)])
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, top + 0.6)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(theta_name(structure))
    axes.set_ylabel("competitive arms C(θ)")
    if table.radii:
        axes.legend(
            frameon=False,
            fontsize=style.TICK_SIZE,
            ncols=4,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
        )


def _bars_of_labels(table: AnalysisTable, ax: Axes | None) -> Figure:
    panels: list[tuple[str, NDArray[np.int64], str]] = [("exact C", table.C, style.INK)]
    if ax is None:
        for k, radius in enumerate(table.radii):
            colour = _RADII_COLOURS[k % len(_RADII_COLOURS)]
            panels.append((f"$C_ε$ for ε = {radius:g}", table.C_epsilon(radius), colour))
        figure = style.figure(9.5, 1.1 + 1.45 * len(panels), arranged=True)
        every = [figure.add_subplot(len(panels), 1, i + 1) for i in range(len(panels))]
    else:
        figure, axes = _start((0, 0), ax)
        every = [axes]
    _draw_panels(every, panels, table)
    figure.align_ylabels(every)
    return figure


def _draw_panels(
    every: Sequence[Axes],
    panels: Sequence[tuple[str, NDArray[np.int64], str]],
    table: AnalysisTable,
) -> None:
    structure = table.structure
    top = max(int(counts.max()) for _, counts, _ in panels)
    places = np.arange(structure.n_parameters) + 0.5
    for i, (axes, (name, counts, colour)) in enumerate(zip(every, panels, strict=True)):
        axes.bar(places, counts, 0.85, color=colour)
        theta_ticks(axes, structure, separators=style.PALE)
        axes.set_ylim(0, top + 0.5)
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.set_ylabel("competitive\narms")
        low, high = int(counts.min()), int(counts.max())
        title = f"{name}: {low} to {high} of {structure.n_arms} arms" if low < high else name
        prefix = f"{structure.name}, " if i == 0 and structure.name else ""
        style.title(axes, prefix + title)
        if i < len(panels) - 1:
            axes.set_xlabel("")
            axes.tick_params(axis="x", labelbottom=False)


def _shares_of_counts(axes: Axes, table: AnalysisTable) -> None:
    counts = range(1, table.structure.n_arms + 1)
    weights, found = table.structure.parameters.weights, table.C
    shares = [100 * float(weights[found == count].sum()) for count in counts]
    colours = [shade_of(count) for count in counts]
    axes.bar(list(counts), shares, color=colours, edgecolor=style.INK, linewidth=0.8)
    for count, share in zip(counts, shares, strict=True):
        text = f"{share:.0f} %"
        axes.text(count, share, text, ha="center", va="bottom", fontsize=style.TICK_SIZE)
    axes.set_xticks(list(counts))
    axes.margins(y=0.12)
    axes.set_xlabel("competitive arms C(θ)")
    axes.set_ylabel("share of Θ (%)")
