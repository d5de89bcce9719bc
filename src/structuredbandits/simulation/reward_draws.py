"""How rewards are drawn inside compiled loops: Gaussian ones, and Bernoulli ones and ratings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structuredbandits._compiled import Stream, by_type, next_normal, next_uniform


class NormalDraws(NamedTuple):
    """Rewards location + scale · z."""

    location: np.ndarray  # (arms,)
    scale: np.ndarray  # (arms,)


class TableDraws(NamedTuple):
    """Rewards with finitely many values (Bernoulli, ratings), by their quantile function."""

    cumulative: np.ndarray  # (arms, values), 1 at the end of each row
    values: np.ndarray  # (values,)


class Normal(NamedTuple):
    """Rewards of one arm: location + scale · z."""

    location: float
    scale: float


class Table(NamedTuple):
    """Rewards of one arm with finitely many values."""

    cumulative: np.ndarray  # (values,)
    values: np.ndarray  # (values,)


def rewards_of(draws: Any, arm: int) -> Any:
    """The distribution of one arm; for compiled code."""
    raise TypeError("rewards_of is for compiled code")


def draw(rewards: Any, stream: Stream) -> tuple[float, Stream]:
    """One reward of an arm, from exactly one random number; for compiled code."""
    raise TypeError("draw is for compiled code")


@by_type(rewards_of)
def _rewards_of(draws: Any, arm: Any) -> Any:
    if draws.instance_class is NormalDraws:

        def normal(draws: Any, arm: Any) -> Any:
            return Normal(draws.location[arm], draws.scale[arm])

        return normal

    def table(draws: Any, arm: Any) -> Any:
        return Table(draws.cumulative[arm], draws.values)

    return table


@by_type(draw)
def _draw(rewards: Any, stream: Any) -> Any:
    if rewards.instance_class is Normal:

        def normal(rewards: Any, stream: Any) -> Any:
            z, stream = next_normal(stream)
            return rewards.location + rewards.scale * z, stream

        return normal

    def from_table(rewards: Any, stream: Any) -> Any:
        u, stream = next_uniform(stream)
        place = 0
        while place < rewards.values.size - 1 and u >= rewards.cumulative[place]:
            place += 1
        return rewards.values[place], stream

    return from_table
