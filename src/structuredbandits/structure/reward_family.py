"""What a single reward is: Gaussian, Bernoulli (a prize or nothing), or bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from structuredbandits.errors import InvalidReward, InvalidStructure
from structuredbandits.structure.parameters import FloatArray, Parameters, brief, read_only
from structuredbandits.structure.validation import one_per_arm

FAMILIES = ("gaussian", "bernoulli", "bounded")

# A mean may leave its limits by rounding, in units of their distance.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Rewards:
    """The family of the rewards, with their limits per arm.

    Parameters
    ----------
    name
        "gaussian", "bernoulli" or "bounded".
    low, high
        The smallest and the largest reward of each arm; empty for Gaussian rewards. Bernoulli
        rewards are one of the two: 0 or the prize of the arm.

    Examples
    --------
    >>> Rewards("bernoulli", (0.0,), (1.0,)).possible(0, 0.5)
    False
    """

    name: str = "gaussian"
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        sizes = {len(self.low), len(self.high)}
        ordered = all(
            -np.inf < least < most < np.inf
            for least, most in zip(self.low, self.high, strict=False)
        )
        if (
            self.name not in FAMILIES
            or len(sizes) > 1
            or (0 in sizes) == self.limited
            or not ordered
        ):
            raise InvalidStructure(
                f"Rewards({self.name!r}, {self.low}, {self.high}) is not a family of rewards; name "
                "one of 'gaussian' (without limits), 'bernoulli' and 'bounded' (with finite "
                "limits, the smaller one first)."
            )

    def __str__(self) -> str:
        return self.name

    @property
    def limited(self) -> bool:
        """Whether rewards have limits: every family but the Gaussian one."""
        return self.name != "gaussian"

    @property
    def is_bernoulli(self) -> bool:
        """Whether each reward is one of two values."""
        return self.name == "bernoulli"

    def subset(self, kept: Sequence[int]) -> Rewards:
        """Return the family of these arms."""
        if not self.limited:
            return self
        return Rewards(
            self.name, tuple(self.low[k] for k in kept), tuple(self.high[k] for k in kept)
        )

    def half_ranges(self) -> FloatArray:
        """Return half the range of each arm's rewards (arms,), a sub-Gaussian proxy."""
        return read_only(0.5 * (np.array(self.high) - np.array(self.low)))

    def scaled(self, values: FloatArray) -> FloatArray:
        """Return (..., arms) means or rewards in units of the limits: 0 at low, 1 at high."""
        low, high = np.array(self.low), np.array(self.high)
        return np.asarray((values - low) / (high - low))

    def possible(self, arm: int, reward: float) -> bool:
        """Return whether an arm can give this reward."""
        if not self.limited:
            return True
        if self.is_bernoulli:
            return reward in (self.low[arm], self.high[arm])
        return self.low[arm] <= reward <= self.high[arm]

    def check(self, arms: Sequence[str], arm: int, reward: float) -> None:
        """Raise an error of one sentence unless the arm can give this reward."""
        if self.possible(arm, reward):
            return
        low, high = self.low[arm], self.high[arm]
        wanted = f"{low:g} or {high:g}" if self.is_bernoulli else f"between {low:g} and {high:g}"
        raise InvalidReward(
            f"reward {reward:g} of arm {arms[arm]!r} is impossible: rewards of this structure are "
            f"{wanted}; correct the reward, or change the structure's rewards."
        )

    def check_sums(self, arms: Sequence[str], counts: FloatArray, sums: FloatArray) -> None:
        """Raise unless (..., arms) counts of rewards can have these sums."""
        if not self.limited:
            return
        low, high = counts * np.array(self.low), counts * np.array(self.high)
        slack = _ROUNDING * (high - low)
        wrong = (sums < low - slack) | (sums > high + slack)
        if wrong.any():
            place = tuple(np.argwhere(wrong)[0].tolist())
            arm = place[-1]
            raise InvalidReward(
                f"the sum {sums[place]:g} of {counts[place]:g} rewards of arm {arms[arm]!r} is "
                f"impossible: rewards of this structure are between {self.low[arm]:g} and "
                f"{self.high[arm]:g}; correct the sums, or change the structure's rewards."
            )


def read_rewards(
    rewards: object,
    limits: ArrayLike | None,
    prize: ArrayLike | None,
    arms: tuple[str, ...],
) -> Rewards:
    """Return the family from the options `rewards`, `limits` and `prize` of a structure."""
    if isinstance(rewards, Rewards):
        if rewards.limited and len(rewards.low) != len(arms):
            raise InvalidStructure(
                f"rewards has limits for {len(rewards.low)} arms, but there are {len(arms)}; give "
                "one pair per arm."
            )
        return rewards
    if rewards not in FAMILIES:
        raise InvalidStructure(
            f"rewards = {brief(rewards)} is not a family of rewards; use 'gaussian', 'bernoulli' "
            "or 'bounded'."
        )
    if limits is not None and rewards != "bounded":
        raise InvalidStructure(
            f"limits = {brief(limits)} belong to rewards='bounded', not to {rewards!r}; leave them "
            "out."
        )
    if prize is not None and rewards != "bernoulli":
        raise InvalidStructure(
            f"prize = {brief(prize)} belongs to rewards='bernoulli', not to {rewards!r}; leave it "
            "out."
        )
    if rewards == "gaussian":
        return Rewards()
    if rewards == "bernoulli":
        high = one_per_arm(1.0 if prize is None else prize, arms, "prize", least=0.0)
        if (high == 0).any():
            raise InvalidStructure("a prize is 0, so its arm never pays; give a positive number.")
        return Rewards("bernoulli", (0.0,) * len(arms), tuple(high.tolist()))
    return Rewards("bounded", *_limits(limits, arms))


def _limits(
    limits: ArrayLike | None, arms: tuple[str, ...]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    pair = None if limits is None else np.asarray(limits, dtype=object)
    if pair is None or pair.shape not in ((2,), (len(arms), 2)):
        raise InvalidStructure(
            f"limits = {brief(limits)}; give the smallest and the largest reward, such as (1, 5), "
            "or one such pair per arm."
        )
    low = one_per_arm(pair[..., 0].tolist(), arms, "the lower limit", -np.inf, "a finite number")
    high = one_per_arm(pair[..., 1].tolist(), arms, "the upper limit", -np.inf, "a finite number")
    for arm, least, most in zip(arms, low.tolist(), high.tolist(), strict=True):
        if not least < most:
            raise InvalidStructure(
                f"the limits of arm {arm!r} are {least:g} and {most:g}; give the smaller one first."
            )
    return tuple(low.tolist()), tuple(high.tolist())


def check_limits(
    rewards: Rewards,
    lower: FloatArray,
    upper: FloatArray,
    parameters: Parameters,
    arms: tuple[str, ...],
) -> None:
    """Raise unless all means (parameters, arms) are within the limits of the rewards."""
    if not rewards.limited:
        return
    wrong = (rewards.scaled(lower) < -_ROUNDING) | (rewards.scaled(upper) > 1 + _ROUNDING)
    if wrong.any():
        i, k = map(int, np.argwhere(wrong)[0])
        raise InvalidStructure(
            f"the mean of arm {arms[k]!r} at θ = {parameters.label(i)} is {lower[i, k]:g}, outside "
            f"its rewards' limits {rewards.low[k]:g} and {rewards.high[k]:g}; correct the mean or "
            "the limits."
        )
