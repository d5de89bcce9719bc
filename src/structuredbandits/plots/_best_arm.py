"""The reward functions over a numerical Θ, shaded by the best arm."""

from __future__ import annotations

from matplotlib.figure import Figure

from structuredbandits.errors import InvalidInput
from structuredbandits.plots import style
from structuredbandits.plots.structure_figure import arm_name, draw_curves, kind_of
from structuredbandits.theory import AnalysisTable


def best_plot(table: AnalysisTable) -> Figure:
    """Draw the curves of all arms over regions in the colour of the best arm.

    Parameters
    ----------
    table
        The analysis of all θ, from `analyze`, for a structure with numerical θ.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> from structuredbandits.theory import analyze
    >>> arms = {"a": [(0, 3), (3, 3), (6, 6)], "b": [(0, 5), (6, 2)]}
    >>> drawn = best_plot(analyze(Structure.from_breakpoints(arms, sigma=1)))
    >>> len(drawn.axes)
    1
    """
    structure = table.structure
    if kind_of(structure) != "curves":
        raise InvalidInput(
            f"Θ of {structure.name or 'the structure'} is not numerical; use regions_plot."
        )
    drawn = style.figure(6.8, 4.2, arranged=True)
    axes = drawn.add_subplot()
    draw_curves(axes, structure)
    for low, high, arms, _ in table.regions:
        colour = style.arm_look(structure.arm_index(arms[0])).colour
        axes.axvspan(low, high, color=style.shaded(colour, 0.8), linewidth=0, zorder=0)
    runs = _joined([(region.low, region.high, region.arms[0]) for region in table.regions])
    for low, high, arm in runs:
        axes.annotate(
            f"{arm_name(arm)} is best",
            ((low + high) / 2, 1.0),
            xytext=(0, 4),
            textcoords="offset points",
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            fontsize=style.SMALL_SIZE,
            color=style.readable(style.arm_look(structure.arm_index(arm)).colour, 4.5),
        )
    return drawn


def _joined(regions: list[tuple[float, float, str]]) -> list[tuple[float, float, str]]:
    """Join neighbouring regions with the same best arm."""
    runs: list[tuple[float, float, str]] = []
    for low, high, arm in regions:
        if runs and runs[-1][2] == arm:
            low = runs.pop()[0]
        runs.append((low, high, arm))
    return runs
