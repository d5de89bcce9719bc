"""The rewards of one run at one θ, from the same random numbers as in the compiled simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from structuredbandits.errors import InvalidInput, UnknownArm, suggestion
from structuredbandits.structure import FloatArray


class Law(Protocol):
    """The function from one random number to a reward."""

    def reward(self, arm: int, generator: np.random.Generator) -> float:
        """Draw one number from the generator and return the reward of an arm."""


class NormalLaw:
    """Reward = location + scale · z, with z standard normal.

    Parameters
    ----------
    location, scale
        (arms,).
    """

    def __init__(self, location: FloatArray, scale: FloatArray) -> None:
        self._location = location.tolist()
        self._scale = scale.tolist()

    def reward(self, arm: int, generator: np.random.Generator) -> float:
        """Draw one standard normal number and return the reward of an arm."""
        return float(self._location[arm] + self._scale[arm] * generator.standard_normal())


class TableLaw:
    """Reward = the value at the first column whose cumulative probability exceeds u.

    Parameters
    ----------
    cumulative
        (arms, values): increasing along each row, 1 at its end.
    values
        (values,): the possible rewards, increasing.
    """

    def __init__(self, cumulative: FloatArray, values: FloatArray) -> None:
        self._cumulative = cumulative
        self._values = values.tolist()

    def reward(self, arm: int, generator: np.random.Generator) -> float:
        """Draw one number u, uniform in [0, 1), and return the reward of an arm."""
        u = generator.random()
        return float(self._values[int(np.searchsorted(self._cumulative[arm], u, side="right"))])


class RewardStream:
    """The rewards of one run: each call of `draw` uses exactly one random number.

    Two policies on streams with equal seed and run therefore face the same random number in the
    same round, whichever arms they choose.

    Parameters
    ----------
    arms
        The names of the arms.
    law
        The function from a random number to a reward.
    seed, run
        Whole numbers from 0 on; together they determine the random numbers.
    """

    def __init__(self, arms: Sequence[str], law: Law, seed: int, run: int) -> None:
        for name, value in (("seed", seed), ("run", run)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
                raise InvalidInput(f"{name} = {value!r} is not a whole number from 0 on.")
        self._positions = {arm: k for k, arm in enumerate(arms)}
        self._law = law
        sequence = np.random.SeedSequence(int(seed), spawn_key=(int(run),))
        self._generator = np.random.Generator(np.random.PCG64(sequence))

    def draw(self, arm: str | int) -> float:
        """Return the next reward, of an arm given by its name or its position."""
        return self._law.reward(self._position(arm), self._generator)

    def _position(self, arm: str | int) -> int:
        if isinstance(arm, str) and arm in self._positions:
            return self._positions[arm]
        whole = isinstance(arm, int | np.integer) and not isinstance(arm, bool)
        if whole and 0 <= int(arm) < len(self._positions):
            return int(arm)
        raise UnknownArm(f"there is no arm {arm!r}; {suggestion(arm, self._positions)}")
