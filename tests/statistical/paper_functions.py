"""The published reward functions as plain arrays.

They are defined a second time so that the independent implementation does not use the library.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.statistical.independent_policies import Floats, Knowledge

SIGMA = 2.0


@dataclass(frozen=True)
class Figure:
    """Mean rewards (arms, ...) as a function of θ, and the grid over Θ."""

    means: Callable[[Floats], Floats]
    grid: Floats  # (parameters,) or (2, parameters)

    def knowledge(self) -> Knowledge:
        table = np.ascontiguousarray(self.means(self.grid))
        return Knowledge(table, table)

    def truth(self, theta: float | tuple[float, float]) -> Floats:
        return self.means(np.array(theta))


def lines(*arms: list[tuple[float, float]]) -> Callable[[Floats], Floats]:
    """Straight lines between the points (θ, mean) of each arm."""

    def means(theta: Floats) -> Floats:
        return np.stack([np.interp(theta, *zip(*points, strict=True)) for points in arms])

    return means


def with_a_step(theta: Floats) -> Floats:
    """The figure with informative arms: arm 3 jumps from 1 to 4 at θ = 3."""
    smooth = lines([(0, 5.225), (2, 5.225), (3.3, 4.9), (6, 4.9)], [(0, 2), (2, 5), (4, 5), (6, 2)])
    return np.concatenate([smooth(theta), np.where(theta >= 3, 4.0, 1.0)[np.newaxis]])


def of_features(theta: Floats) -> Floats:
    return np.tensordot(np.array([[2, 1], [1, 1.5], [3, -1]]), theta, axes=1)


def of_the_plane(theta: Floats) -> Floats:
    first, second = theta
    return np.stack([first + second, first - second, np.maximum(np.abs(first), np.abs(second))])


INTERVAL = np.linspace(0, 6, 601)
SIDE = np.linspace(-1, 1, 41)
SQUARE = np.stack(np.meshgrid(SIDE, SIDE, indexing="ij")).reshape(2, -1)

FIGURES = {
    "three-arms": Figure(
        lines(
            [(0, 3), (3, 3), (6, 6.5)],
            [(0, 6), (1, 4.5), (1.5, 3.2), (2.5, 2.5), (6, 2)],
            [(0, 3), (1, 4.5), (2.5, 3), (3, 2.5), (6, 1.5)],
        ),
        INTERVAL,
    ),
    "two-arms": Figure(
        lines([(0, 1), (2, 3), (5, 3), (6, 5)], [(0, 4), (2, 4), (3, 3), (5, 1), (6, 0)]),
        INTERVAL,
    ),
    "informative": Figure(with_a_step, INTERVAL),
    "linear": Figure(of_features, SQUARE),
    "plane": Figure(of_the_plane, SQUARE),
}
