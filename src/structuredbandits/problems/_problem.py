"""`Problem`: a structure, its environment, and the θ to simulate by default."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from structuredbandits.environments import Environment, require_environment
from structuredbandits.errors import InvalidInput
from structuredbandits.structure import Structure, Theta, brief, require_structure, show_theta


@dataclass(frozen=True)
class Problem:
    """A structure with its environment and the θ worth trying.

    Parameters
    ----------
    name
        A short name, as typed on the command line.
    structure
        What policies know.
    environment
        The source of rewards; it has the same arms as the structure.
    thetas
        The hidden parameters to try by default, in any form that the environment accepts.
    horizon
        The usual number of rounds.
    description
        A few sentences: what an arm, θ and a reward are, with units.
    title
        A title of one line.
    citation
        The source of data or functions, if they have one.

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
        require_structure(self.structure)
        require_environment(self.environment)
        if not isinstance(self.name, str):
            raise InvalidInput(f"name = {brief(self.name)} is not text; give a short name.")
        if self.environment.arms != self.structure.arms:
            raise InvalidInput(
                f"the environment of problem {self.name!r} has arms {self.environment.arms} and "
                f"the structure {self.structure.arms}; give both the same arms."
            )
        whole = isinstance(self.horizon, int) and not isinstance(self.horizon, bool)
        if not whole or self.horizon < 1:
            raise InvalidInput(
                f"horizon = {self.horizon!r} is not a number of rounds; give a whole number from 1."
            )
        if isinstance(self.thetas, str) or not isinstance(self.thetas, Iterable):
            raise InvalidInput(
                f"thetas = {brief(self.thetas)} is not a list; give a tuple such as (0.5, 1.5)."
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
