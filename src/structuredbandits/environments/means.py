"""Whether something can tell an environment its true means.

This module knows that they come from a structure. It must not know any distribution.
"""

from __future__ import annotations

from structuredbandits.errors import InvalidInput
from structuredbandits.structure.structure import Structure
from structuredbandits.structure.theta import brief


def check_structure(structure: object) -> None:
    """Refuse what is not a structure, such as the name of one."""
    if not isinstance(structure, Structure):
        raise InvalidInput(
            f"{brief(structure)} is no structure; give one, such as load_structure('three-arms')."
        )
