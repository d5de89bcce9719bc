"""The sets Θ of hidden parameters that a structure can have, gathered under one name.

This module knows the kinds of sets and how to make one from plain data. It must not know rewards
or arms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from structuredbandits.errors import InvalidParameter
from structuredbandits.structure.finite import Finite
from structuredbandits.structure.grids import Box, Interval
from structuredbandits.structure.theta import Parameters, Theta, show_theta

__all__ = ["Box", "Finite", "Interval", "Parameters", "Theta", "parameters_from", "show_theta"]


def parameters_from(description: Mapping[str, Any]) -> Parameters:
    """Make a set Θ from what its `describe` returned.

    Examples
    --------
    >>> parameters_from(Interval(0, 6, points=7).describe())
    Interval(0.0, 6.0, points=7)
    """
    kind = description.get("kind")
    if kind == "interval":
        low, high = description["ends"]
        return Interval(low, high, points=description["points"], include=description["include"])
    if kind == "box":
        return Box([tuple(side) for side in description["sides"]], points=description["points"])
    if kind == "finite":
        values = [tuple(v) if isinstance(v, list) else v for v in description["values"]]
        return Finite(values, names=description["names"], aliases=description["aliases"])
    raise InvalidParameter(f"kind = {kind!r} is no kind of Θ; use 'finite', 'interval' or 'box'.")
