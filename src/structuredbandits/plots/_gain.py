"""Gain over one arm for everybody, against the number of interactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from structuredbandits.plots import style

if TYPE_CHECKING:
    from structuredbandits.recommendation import GainByLength

_CURVES = 6


def gain_plot(found: GainByLength) -> Figure:
    """Draw the gain per interaction over `always` against the number of interactions.

    Parameters
    ----------
    found
        From `structuredbandits.recommendation.gain_by_length`; the best six policies are drawn,
        and `prior-index`.

    Examples
    --------
    >>> from structuredbandits.recommendation import gain_by_length
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 1.0]], sigma=1.0)
    >>> drawn = gain_plot(gain_by_length(known, [5, 50], candidates=["posterior"], runs=10))
    >>> drawn.axes[0].get_xlabel()
    'interactions per visitor'
    """
    drawn = style.figure(6.8, 4.2, arranged=True)
    axes = drawn.add_subplot()
    order = sorted(range(len(found.policies)), key=lambda row: -float(found.gain[row].max()))
    kept = [row for row in order if found.policies[row] != "always"][:_CURVES]
    rival = found.policies.index("prior-index")
    for row in dict.fromkeys((*kept, rival)):
        look = style.look_of(found.policies[row])
        axes.plot(
            found.lengths,
            found.gain[row],
            color=look.colour,
            linestyle=look.line,
            label=found.policies[row],
        )
    top = max(float(found.gain.max()), 1e-300)
    axes.set_ylim(-0.6 * top, 1.1 * top)
    axes.axhline(0.0, color=style.BLACK, linewidth=1.0)
    start = found.structure_pays_from
    if start is not None:
        axes.axvline(start, color=style.BLACK, linewidth=1.0, linestyle=":")
    axes.set_xscale("log")
    axes.set_xlabel("interactions per visitor")
    axes.set_ylabel("gain per interaction")
    axes.legend(frameon=False, fontsize=style.SMALL_SIZE)
    style.title(axes, _finding(found))
    return drawn


def _finding(found: GainByLength) -> str:
    start = found.structure_pays_from
    if start is None:
        return f"Visitor types never earn more than showing {found.arm} to everybody"
    return f"Visitor types pay from about {start:,} interactions on"
