"""Bernoulli rewards: a click, a purchase, a cure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structuredbandits.environments._reward_stream import RewardStream, TableLaw
from structuredbandits.errors import InvalidStructure
from structuredbandits.structure import (
    FloatArray,
    Parameters,
    Structure,
    require_structure,
    show_theta,
)
from structuredbandits.structure.validation import one_per_arm

# A probability may leave [0, 1] by the rounding of the means, and is then clipped.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Bernoulli:
    """Rewards of arm k are its prize with probability μ_k(θ) / prize, and otherwise 0.

    Parameters
    ----------
    structure
        Its means are the true means; each must lie between 0 and the prize of its arm.
    prize
        The reward of a success, one number or one per arm: 1 for clicks, the price for sales. None
        uses the prizes of a structure of Bernoulli rewards, and 1 for others.

    Examples
    --------
    >>> from structuredbandits.structure import Structure, require_structure
    >>> structure = Structure.from_table([[0.25, 2.0]], arms=["click", "sale"], sigma=2)
    >>> cumulative, values = Bernoulli(structure, prize=[1, 5]).quantile_table(0)
    >>> values, cumulative
    (array([0., 1., 5.]), array([[0.75, 1.  , 1.  ], [0.6 , 0.6 , 1.  ]]))
    """

    structure: Structure
    prize: float | Sequence[float] | None = None

    def __post_init__(self) -> None:
        require_structure(self.structure)
        own = self.structure.rewards
        given = self.prize if self.prize is not None else own.high if own.is_bernoulli else 1.0
        prizes = one_per_arm(given, self.structure.arms, "prize", least=0.0)
        if (prizes == 0).any():
            raise InvalidStructure("a prize is 0, so its arm never pays; give a positive number.")
        numbers = tuple(prizes.tolist())
        plain = numbers[0] if len(set(numbers)) == 1 else numbers
        object.__setattr__(self, "prize", plain)
        means = self.structure.means
        for row in (means.min(axis=0), means.max(axis=0)):
            self._probabilities(row, "somewhere in Θ")

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
        success = self._probabilities(self.means_at(theta), f"at θ = {show_theta(theta)}")
        prizes = self._prizes()
        values = np.concatenate(([0.0], np.unique(prizes)))
        won = values[np.newaxis, :] >= prizes[:, np.newaxis]
        return np.where(won, 1.0, 1.0 - success[:, np.newaxis]), values

    def rewards(self, theta: object, seed: int, run: int = 0) -> RewardStream:
        """Return the rewards of one run at a θ, one at a time."""
        return RewardStream(self.arms, TableLaw(*self.quantile_table(theta)), seed, run)

    def _prizes(self) -> FloatArray:
        return np.array(np.broadcast_to(np.array(self.prize, dtype=float), (len(self.arms),)))

    def _probabilities(self, means: FloatArray, where: str) -> FloatArray:
        success = means / self._prizes()
        for arm, mean, p in zip(self.arms, means.tolist(), success.tolist(), strict=True):
            if not -_ROUNDING <= p <= 1 + _ROUNDING:
                raise InvalidStructure(
                    f"arm {arm!r} has mean {mean:g} {where}, which is not between 0 and its prize; "
                    "change its means or its prize, or use Gaussian rewards."
                )
        return np.clip(success, 0.0, 1.0)
