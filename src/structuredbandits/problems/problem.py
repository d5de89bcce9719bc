"""A problem to try policies on: what is known, where rewards come from, and which θ to try.

This module knows how the three belong together. It must not know policies or simulations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from structuredbandits.environments import Environment
from structuredbandits.environments.means import check_environment, check_structure
from structuredbandits.errors import InvalidInput
from structuredbandits.structure import Structure, Theta
from structuredbandits.structure.parameters import show_theta
from structuredbandits.structure.theta import brief


@dataclass(frozen=True)
class Problem:
    """A structure with its environment and the θ worth trying.

    Parameters
    ----------
    name
        Short, as it is typed.
    structure
        What policies know.
    environment
        Where rewards really come from; its arms are the structure's.
    thetas
        The hidden parameters to try by default, in any form that the environment understands.
    horizon
        The usual number of rounds.
    description
        A few sentences: what an arm, θ and a reward are, with units.
    title
        One line.
    citation
        Where data or functions come from, if they have a source.

    Examples
    --------
    >>> from structuredbandits.environments import Gaussian
    >>> structure = Structure.from_table([[1, 0], [0, 1]], sigma=1)
    >>> coin = Problem("coin", structure, Gaussian(structure), (0, 1), 100, "Two sides.", "A coin")
    >>> coin.thetas, coin.label(1)
    ((0, 1), '1')
    """

    name: str
    structure: Structure
    environment: Environment
    thetas: tuple[Theta, ...]
    horizon: int
    description: str
    title: str
    citation: str | None = None

    def __post_init__(self) -> None:
        check_structure(self.structure)
        check_environment(self.environment)
        if not isinstance(self.name, str):
            raise InvalidInput(f"name = {brief(self.name)} is no text; give a short text.")
        if self.environment.arms != self.structure.arms:
            raise InvalidInput(
                f"the environment of problem {self.name!r} has arms {self.environment.arms} and "
                f"the structure {self.structure.arms}; they must be the same."
            )
        whole = isinstance(self.horizon, int) and not isinstance(self.horizon, bool)
        if not whole or self.horizon < 1:
            raise InvalidInput(
                f"horizon = {self.horizon!r} is not a number of rounds; give a whole number from 1 "
                "on."
            )
        if isinstance(self.thetas, str) or not isinstance(self.thetas, Iterable):
            raise InvalidInput(
                f"thetas = {brief(self.thetas)} is no list; give a tuple of θ, such as (0.5, 1.5)."
            )
        object.__setattr__(self, "thetas", tuple(self.thetas))
        for theta in self.thetas:
            self.environment.parameters.resolve(theta)

    def resolve(self, theta: object) -> Theta:
        """Return θ in its plain form; text may be a number, a label or a part of one."""
        return self.environment.parameters.resolve(theta)

    def label(self, theta: object) -> str:
        """Return θ as short text for tables and plots."""
        return show_theta(self.resolve(theta))
