"""What every environment offers, whatever the distribution of its rewards.

This module knows the interface only. It must not know policies, nor how rewards are simulated.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from structuredbandits.environments.streams import RewardStream
from structuredbandits.structure.parameters import Parameters
from structuredbandits.structure.theta import FloatArray


@runtime_checkable
class Environment(Protocol):
    """Where rewards come from: a frozen description, with no state of its own."""

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms."""

    @property
    def parameters(self) -> Parameters:
        """The θ that the environment can be in."""

    def means_at(self, theta: object) -> FloatArray:
        """Return the true mean rewards (arms,) at a θ; regret is measured by them."""

    def rewards(self, theta: object, seed: int, run: int = 0) -> RewardStream:
        """Return the rewards of one run at a θ, one at a time."""


@runtime_checkable
class NormalEnvironment(Environment, Protocol):
    """Rewards that are location + scale · z, with z standard normal."""

    def location(self, theta: object) -> FloatArray:
        """Return the means (arms,)."""

    def scale(self, theta: object) -> FloatArray:
        """Return the standard deviations (arms,)."""


@runtime_checkable
class TableEnvironment(Environment, Protocol):
    """Rewards with finitely many values."""

    def quantile_table(self, theta: object) -> tuple[FloatArray, FloatArray]:
        """Return (arms, values) cumulative probabilities and the (values,) in increasing order.

        For u uniform in [0, 1) the reward of arm k is the value at the first column v with
        u < cumulative[k, v].
        """
