"""A learned map as bounds: each mean give or take some standard errors, as in Appendix A.

This room makes the structure with bounds. It must not know who keeps a confidence set over it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


@lru_cache(maxsize=8)
def widened(structure: Structure, errors: float) -> Structure:
    """The structure whose bounds reach ``errors`` standard errors further.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 2.0]], sigma=1.0, standard_errors=[[0.1, 0.2]])
    >>> widened(known, 2.0).lower, widened(known, 2.0).upper
    (array([[0.8, 1.6]]), array([[1.2, 2.4]]))
    """
    from structuredbandits.structure import Structure

    assert structure.standard_errors is not None
    reach = errors * structure.standard_errors
    return Structure.from_bounds(
        structure.lower - reach,
        structure.upper + reach,
        structure.parameters,
        structure.arms,
        sigma=structure.sigma,
        minimize=structure.minimize,
    )
