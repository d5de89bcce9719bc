"""Whether something is an environment, and whether something can tell it its true means.

This module knows that means come from a structure. It must not know any distribution.
"""

from __future__ import annotations

from structuredbandits.environments.protocol import Environment
from structuredbandits.errors import InvalidInput
from structuredbandits.structure.structure import Structure
from structuredbandits.structure.theta import brief


def check_structure(structure: object) -> None:
    """Refuse what is not a structure, such as the name of one."""
    if not isinstance(structure, Structure):
        raise InvalidInput(
            f"{brief(structure)} is no structure; give one, such as load_structure('three-arms')."
        )


def check_environment(environment: object) -> None:
    """Refuse what gives no rewards, such as the class of an environment."""
    # A class has all the methods that an environment has.
    if isinstance(environment, type) or not isinstance(environment, Environment):
        raise InvalidInput(
            f"{brief(environment)} is no environment; give for example Bernoulli(structure)."
        )
