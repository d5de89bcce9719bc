"""Gaussian rewards around the means of a structure, and what a structure has by default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structuredbandits.environments._bernoulli import Bernoulli
from structuredbandits.environments._bounded import Bounded
from structuredbandits.environments._environment import Environment
from structuredbandits.environments._reward_stream import NormalLaw, RewardStream
from structuredbandits.structure import FloatArray, Parameters, Structure, require_structure
from structuredbandits.structure.validation import one_per_arm


@dataclass(frozen=True)
class Gaussian:
    """Rewards of arm k are N(μ_k(θ), σ_k²), independent.

    Parameters
    ----------
    structure
        Its means are the true means.
    sigma
        The standard deviation of the rewards, one number or one per arm; 0 for rewards without
        noise. None uses that of the structure.

    Examples
    --------
    >>> from structuredbandits.structure import Structure, require_structure
    >>> structure = Structure.from_table([[1, 2], [2, 1]], arms=["a", "b"], sigma=0.5)
    >>> sure = Gaussian(structure, sigma=0).rewards(theta=1, seed=7)
    >>> sure.draw("a"), sure.draw("b")
    (2.0, 1.0)
    """

    structure: Structure
    sigma: float | Sequence[float] | None = None

    def __post_init__(self) -> None:
        require_structure(self.structure)
        if self.sigma is not None:
            scale = one_per_arm(self.sigma, self.structure.arms, "sigma", least=0.0)
            # Plain numbers, so that environments can be compared and hashed.
            numbers = tuple(scale.tolist())
            plain = numbers[0] if len(set(numbers)) == 1 else numbers
            object.__setattr__(self, "sigma", plain)

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms."""
        return self.structure.arms

    @property
    def parameters(self) -> Parameters:
        """The θ that the environment can be in, on or off the grid."""
        return self.structure.parameters

    def means_at(self, theta: object) -> FloatArray:
        """Return the true mean rewards (arms,) at a θ."""
        return self.structure.means_at(theta)

    def location(self, theta: object) -> FloatArray:
        """Return the means (arms,): a reward is location + scale · z."""
        return self.means_at(theta)

    def scale(self, theta: object) -> FloatArray:
        """Return the standard deviations (arms,); they are the same at every θ."""
        self.parameters.resolve(theta)
        if self.sigma is None:
            return np.array(self.structure.sigma)
        return np.array(np.broadcast_to(np.array(self.sigma, dtype=float), (len(self.arms),)))

    def rewards(self, theta: object, seed: int, run: int = 0) -> RewardStream:
        """Return the rewards of one run at a θ, one at a time."""
        law = NormalLaw(self.location(theta), self.scale(theta))
        return RewardStream(self.arms, law, seed, run)


def default_environment(structure: Structure) -> Environment:
    """Return rewards of the structure's own family around its means.

    Examples
    --------
    >>> clicks = Structure.from_table([[0.1, 0.2]], rewards="bernoulli")
    >>> type(default_environment(clicks)).__name__
    'Bernoulli'
    """
    family = structure.rewards.name
    if family == "gaussian":
        return Gaussian(structure)
    return Bernoulli(structure) if family == "bernoulli" else Bounded(structure)
