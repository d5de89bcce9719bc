"""Gaussian rewards around the means of a structure.

This module knows a distribution. It must not know policies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structuredbandits.environments.means import check_structure
from structuredbandits.environments.streams import NormalLaw, RewardStream
from structuredbandits.structure.checks import one_an_arm
from structuredbandits.structure.parameters import Parameters
from structuredbandits.structure.structure import Structure
from structuredbandits.structure.theta import FloatArray


@dataclass(frozen=True)
class Gaussian:
    """Rewards of arm k are N(μ_k(θ), σ_k²), independent.

    Parameters
    ----------
    structure
        Its means are the true ones.
    sigma
        The standard deviation of the rewards, one or one an arm; 0 for rewards without noise.
        The structure's own if None.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> structure = Structure.from_table([[1, 2], [2, 1]], arms=["a", "b"], sigma=0.5)
    >>> sure = Gaussian(structure, sigma=0).rewards(theta=1, seed=7)
    >>> sure.draw("a"), sure.draw("b")
    (2.0, 1.0)
    """

    structure: Structure
    sigma: float | Sequence[float] | None = None

    def __post_init__(self) -> None:
        check_structure(self.structure)
        if self.sigma is not None:
            scale = one_an_arm(self.sigma, self.structure.arms, "sigma", least=0.0)
            # As plain numbers, so that environments can be compared and hashed.
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
