"""Pictures of structures, of what follows from them, and of what was simulated.

Functions of plain results: this room must not compute what it draws, nor open a window.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structuredbandits.plots.analysis import competitive_plot as competitive_plot
    from structuredbandits.plots.analysis import regions_plot as regions_plot
    from structuredbandits.plots.best import best_plot as best_plot
    from structuredbandits.plots.comparison import (
        regret_against_theta_plot as regret_against_theta_plot,
    )
    from structuredbandits.plots.comparison import regret_spread_plot as regret_spread_plot
    from structuredbandits.plots.regret import regret_grid_plot as regret_grid_plot
    from structuredbandits.plots.regret import regret_plot as regret_plot
    from structuredbandits.plots.structure import structure_plot as structure_plot
    from structuredbandits.plots.style import colour_of as colour_of
    from structuredbandits.plots.style import look_of as look_of
    from structuredbandits.plots.style import save as save

# Imported when first used: Matplotlib takes a while to load.
_HOMES = {
    "analysis": ("competitive_plot", "regions_plot"),
    "best": ("best_plot",),
    "comparison": ("regret_against_theta_plot", "regret_spread_plot"),
    "regret": ("regret_grid_plot", "regret_plot"),
    "structure": ("structure_plot",),
    "style": ("colour_of", "look_of", "save"),
}
_ROOMS = {name: room for room, names in _HOMES.items() for name in names}
__all__ = [
    "best_plot",
    "colour_of",
    "competitive_plot",
    "look_of",
    "regions_plot",
    "regret_against_theta_plot",
    "regret_grid_plot",
    "regret_plot",
    "regret_spread_plot",
    "save",
    "structure_plot",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = importlib.import_module(f"{__name__}.{_ROOMS[name]}")
    return getattr(home, name)


def __dir__() -> list[str]:
    return sorted(__all__)
