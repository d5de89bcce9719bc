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


# Rates nearer to 0 or 1 count as this near, so that linear programs have finite numbers.
_LEAST_RATE = 1e-12


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
        self.divergence = Divergence(structure)

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


class Divergence:
    """The Kullback-Leibler divergence of the rewards of two θ.

    It is that of Gaussian or of Bernoulli rewards. Bounded rewards count as Gaussian ones with
    their estimated standard deviation.

    Examples
    --------
    >>> known = Structure.from_table([[3.0, 1.0]], sigma=2.0)
    >>> Divergence(known).between(np.array([3.0, 1.0]), np.array([3.0, 5.0]))
    array([0., 2.])
    >>> clicks = Structure.from_table([[0.1, 0.5]], rewards="bernoulli")
    >>> Divergence(clicks).between(np.array([0.1, 0.5]), np.array([0.2, 0.5])).round(4)
    array([0.0367, 0.    ])
    """

    def __init__(self, structure: Structure) -> None:
        rewards = structure.rewards
        self.gaussian = not rewards.is_bernoulli
        self._sigma = structure.sigma
        if rewards.name == "bounded" and structure.noise is not None:
            self._sigma = structure.noise
        if not self.gaussian:
            low, high = np.array(rewards.low), np.array(rewards.high)
            self._floors = -high if structure.minimize else low
            self._ranges = high - low

    def between(self, truth: FloatArray, other: FloatArray) -> FloatArray:
        """Return the divergence of each arm's rewards: (..., arms) from means (..., arms)."""
        if self.gaussian:
            return np.asarray(np.square(truth - other) / (2.0 * np.square(self._sigma)))
        p, q = np.clip((truth - self._floors) / self._ranges, 0.0, 1.0), self._rates(other)
        with np.errstate(divide="ignore", invalid="ignore"):
            success = np.where(p > 0.0, p * np.log(p / q), 0.0)
            failure = np.where(p < 1.0, (1.0 - p) * np.log((1.0 - p) / (1.0 - q)), 0.0)
        return np.asarray(np.maximum(success + failure, 0.0))

    def variance(self, means: FloatArray) -> FloatArray:
        """Return the variance of rewards with these means.

        The derivative of the divergence by the other mean is (other − truth) / variance(other).
        """
        if self.gaussian:
            return np.asarray(np.square(self._sigma))
        rates = self._rates(means)
        return np.asarray(np.square(self._ranges) * rates * (1.0 - rates))

    def _rates(self, means: FloatArray) -> FloatArray:
        """Return rates, away from 0 and 1: there the divergence is infinite."""
        rates = (means - self._floors) / self._ranges
        return np.asarray(np.clip(rates, _LEAST_RATE, 1.0 - _LEAST_RATE))
