"""`Landscape`: the interface through which the theory reads the mean rewards over Θ.

All numbers in this package are rewards, of which more is better: costs have a minus sign.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from structuredbandits.structure import FloatArray, Structure, Theta
from structuredbandits.theory._spans import BoolArray, Spans


@dataclass(frozen=True)
class Truth:
    """The mean rewards and the best arms at one θ."""

    theta: Theta
    means: FloatArray
    """(arms,): more is better."""
    low: FloatArray
    """(arms,): a lower bound on the means; the means themselves if they are known."""
    high: FloatArray
    """(arms,): an upper bound on them."""
    optimal: BoolArray
    """(arms,): which arms are the best, several on a tie."""

    @property
    def best(self) -> float:
        """The largest mean."""
        return float(self.means.max())


class Rivals(ABC):
    """All λ at which the best arms of θ have the same means, but none of them is best.

    They force a good policy to explore: the set Λ(θ) of the lower bound.
    """

    arms: tuple[int, ...]
    """The positions of the arms that are best at some λ."""

    @abstractmethod
    def hardest(self, rates: FloatArray) -> FloatArray:
        """Return the information about the λ for which these pulls are least informative.

        Parameters
        ----------
        rates
            (arms,): the number of pulls of each arm.

        Returns
        -------
        (rivals, arms)
            For a few λ, the worst one first, the divergence between the rewards of each arm at
            θ and at λ.
        """


class Landscape(ABC):
    """The mean rewards of all arms over the whole of Θ."""

    exact: bool
    """True if C is exact, False if it is a bound or an approximation."""
    note: str
    """One sentence on why it is exact, or in which direction it errs."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.tolerance = structure.tolerance

    @abstractmethod
    def reach(self, best: int, arm: int) -> Spans:
        """Return the values of one arm's mean over all θ at which another is optimal."""

    @abstractmethod
    def beaten(self, best: int, arm: int) -> Spans:
        """Return the values of one arm's mean where another is optimal and it is not."""

    @abstractmethod
    def rivals(self, truth: Truth) -> Rivals | None:
        """Return the rivals of a θ; None if there are none."""

    def truth(self, theta: object) -> Truth:
        """Return the mean rewards at a θ in Θ, on or off the grid."""
        structure = self.structure
        value = structure.parameters.resolve(theta)
        means = structure.sign * structure.means_at(value)
        low = high = means
        if not structure.exact:
            near = structure.parameters.nearest(value)
            low, high = (bound[near] for bound in oriented(structure))
        return Truth(value, means, low, high, means >= means.max() - self.tolerance)


def oriented(structure: Structure) -> tuple[FloatArray, FloatArray]:
    """Return the lower and upper bounds (parameters, arms) on rewards: costs change sign."""
    if structure.minimize:
        return -structure.upper, -structure.lower
    return structure.lower, structure.upper


def divergence(truth: FloatArray, other: FloatArray, sigma: FloatArray) -> FloatArray:
    """Return the Kullback-Leibler divergence of Gaussian rewards with the same σ.

    Examples
    --------
    >>> divergence(np.array([3.0, 1.0]), np.array([3.0, 5.0]), np.array([2.0, 2.0]))
    array([0., 2.])
    """
    return np.asarray(np.square(truth - other) / (2.0 * np.square(sigma)))
