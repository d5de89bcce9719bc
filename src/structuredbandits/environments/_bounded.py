"""Bounded rewards around the means of a structure, with its noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structuredbandits.environments._reward_stream import RewardStream, TableLaw
from structuredbandits.errors import InvalidStructure
from structuredbandits.structure import FloatArray, Parameters, Structure, require_structure


@dataclass(frozen=True)
class Bounded:
    """Rewards of arm k are its mean or one of its limits, with the noise of the structure.

    The law has three points: with probability q the reward is a limit (the larger one as often as
    the mean requires), otherwise the mean itself. q is chosen such that the standard deviation is
    the structure's `noise`; where the limits do not allow that much, and without `noise`, q = 1, so
    that every reward is one of the limits: the largest variance within them.

    Parameters
    ----------
    structure
        Its rewards are bounded or Bernoulli, and its means are the true means.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> stars = Structure.from_table([[3.0, 5.0]], rewards="bounded", limits=(1, 5), noise=1.0)
    >>> cumulative, values = Bounded(stars).quantile_table(0)
    >>> values, cumulative
    (array([1., 3., 5.]), array([[0.125, 0.875, 1.   ], [0.   , 0.   , 1.   ]]))
    """

    structure: Structure

    def __post_init__(self) -> None:
        require_structure(self.structure)
        if not self.structure.rewards.limited:
            raise InvalidStructure(
                "the rewards of the structure have no limits; give rewards='bounded' and limits, "
                "or use Gaussian rewards."
            )

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

    def quantile_table(self, theta: object) -> tuple[FloatArray, FloatArray]:
        """Return (arms, values) cumulative probabilities and the (values,) in increasing order.

        For u uniform in [0, 1) the reward of arm k is the value at the first column v with
        u < cumulative[k, v].
        """
        limits, noise = self.structure.rewards, self.structure.noise
        low, high = np.array(limits.low), np.array(limits.high)
        means = np.clip(self.means_at(theta), low, high)
        most = (means - low) * (high - means)  # the largest variance
        shares = np.ones(len(low))
        if noise is not None:
            shares = np.minimum(noise**2 / np.where(most > 0, most, noise**2), 1.0)
        top = shares * (means - low) / (high - low)
        values = np.unique(np.concatenate((low, means, high)))
        cumulative = np.where(values >= low[:, None], (shares - top)[:, None], 0.0)
        cumulative = np.where(values >= means[:, None], 1.0 - top[:, None], cumulative)
        return np.where(values >= high[:, None], 1.0, cumulative), values

    def rewards(self, theta: object, seed: int, run: int = 0) -> RewardStream:
        """Return the rewards of one run at a θ, one at a time."""
        return RewardStream(self.arms, TableLaw(*self.quantile_table(theta)), seed, run)
