"""The interface of all environments, and a check of it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from structuredbandits.environments._reward_stream import RewardStream
from structuredbandits.errors import InvalidInput
from structuredbandits.structure import FloatArray, Parameters, brief


@runtime_checkable
class Environment(Protocol):
    """A distribution of rewards: a frozen description without state."""

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms."""

    @property
    def parameters(self) -> Parameters:
        """The θ that the environment can be in."""

    def means_at(self, theta: object) -> FloatArray:
        """Return the true mean rewards (arms,) at a θ, by which regret is measured."""

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


def require_environment(value: object) -> None:
    """Raise an error unless the value is an environment; a class of environments is not one."""
    # A class has all the methods that an environment has.
    if isinstance(value, type) or not isinstance(value, Environment):
        raise InvalidInput(
            f"{brief(value)} is not an environment; give for example Bernoulli(structure)."
        )
