"""The scale of each arm's rewards, for policies that use what a single reward is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structuredbandits.confidence.divergence import limits_of

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class RewardScale(NamedTuple):
    """How gains are rescaled to [0, 1]: a gain is floor + range · rate; costs are negated."""

    floors: np.ndarray  # (arms,)
    ranges: np.ndarray  # (arms,)
    offsets: np.ndarray  # (arms,) floors, less the largest of them: equal floors leave no rounding


def scale_of_rewards(structure: Structure) -> RewardScale:
    """The limits of the structure's rewards; 0 and 1 if it gives none.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> sales = Structure.from_table([[4.0, 6.0]], rewards="bernoulli", prize=[20, 30])
    >>> scale_of_rewards(sales).ranges
    array([20., 30.])
    """
    limits = limits_of(structure)
    if limits is None:
        floors = np.full(structure.n_arms, -1.0 if structure.minimize else 0.0)
        return RewardScale(floors, np.ones(structure.n_arms), np.zeros(structure.n_arms))
    return RewardScale(limits.floors, limits.ranges, limits.floors - limits.floors.max())


def noise_factors(structure: Structure) -> np.ndarray:
    """Standard deviation of a bounded reward, estimated, over sigma; 1 for others: (arms,).

    Sigma is half the range of bounded rewards, as their confidence set needs it. A likelihood of
    their mean needs the standard deviation.
    """
    if structure.rewards.name != "bounded":
        return np.ones(structure.n_arms)
    from structuredbandits.policies.structured.hierarchical_model import reward_variance

    return np.asarray(np.sqrt(reward_variance(structure)) / structure.sigma)
