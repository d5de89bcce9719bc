"""The embedded problems with the reward functions of the paper.

The functions of the original figures are not public; these have every property that the text and
the captions state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from structuredbandits.environments import Gaussian
from structuredbandits.problems._problem import Problem
from structuredbandits.structure import Box, FloatArray, Structure, Theta

PAPER = (
    "S. Gupta, S. Chaudhari, S. Mukherjee, G. Joshi and O. Yağan. A Unified Approach to Translate "
    "Classical Bandit Algorithms to the Structured Bandit Setting. IEEE Journal on Selected Areas "
    "in Information Theory 1(3), 2020."
)
_SIGMA = 2.0
_Pairs = list[tuple[float, float]]


class _Curve(NamedTuple):
    """One problem with a single number for θ, from 0 to 6."""

    arms: Mapping[str, _Pairs]
    thetas: tuple[float, ...]
    horizon: int
    title: str
    description: str


_CURVES: dict[str, _Curve] = {
    "setup": _Curve(
        {
            "1": [(0, 6.5), (2, 5), (6, 2)],
            "2": [(0, 2), (2, 5), (4, 5), (6, 8)],
            "3": [(0, 1), (3, 2), (5, 6.5), (6, 9)],
        },
        (3.0,),
        5_000,
        "The introductory example: three arms, one of them not competitive at θ = 3",
        "On [2, 4] arm 2 is best and flat, so it cannot distinguish the θ there, and arm 1, "
        "the best up to 2, stays competitive. Arm 3 is best only near 6.",
    ),
    "three-arms": _Curve(
        {
            "1": [(0, 3), (3, 3), (6, 6.5)],
            "2": [(0, 6), (1, 4.5), (1.5, 3.2), (2.5, 2.5), (6, 2)],
            "3": [(0, 3), (1, 4.5), (2.5, 3), (3, 2.5), (6, 1.5)],
        },
        (0.5, 1.5, 2.6),
        50_000,
        "Three arms with one, two and three competitive ones at θ = 0.5, 1.5 and 2.6",
        "The best arm is 2 on [0, 1], 3 on [1, 2.5] and 1 on [2.5, 6]. The three θ show how much "
        "a policy gains when the structure excludes two arms, one arm or none.",
    ),
    "two-arms": _Curve(
        {
            "1": [(0, 1), (2, 3), (5, 3), (6, 5)],
            "2": [(0, 4), (2, 4), (3, 3), (5, 1), (6, 0)],
        },
        tuple(i / 4 for i in range(21)),
        50_000,
        "Two arms on which optimism over θ is best at 2.75 and bad at 3.25",
        "The best arm is 2 on [0, 3] and 1 on [3, 6]. On [3, 5] arm 1 is flat and arm 2 stays "
        "competitive; elsewhere only one arm is.",
    ),
    "corner": _Curve(
        {
            "1": [(0, 1), (2, 3), (4, 3), (6, 5)],
            "2": [(0, 0), (4, 3), (6, 6)],
        },
        (3.0,),
        5_000,
        "A corner case: at θ = 3 an arm is competitive but never better where it matters",
        "Arm 1 is flat on [2, 4] and arm 2 overtakes it exactly at 4, the end of the flat part.",
    ),
    "informative": _Curve(
        {
            "1": [(0, 5.225), (2, 5.225), (3.3, 4.9), (6, 4.9)],
            "2": [(0, 2), (2, 5), (4, 5), (6, 2)],
            "3": [(0, 1), (3, 1), (3, 4), (6, 4)],
        },
        (3.1,),
        50_000,
        "Three arms, one of which is never best but shows on which side of 3 θ lies",
        "Arm 3 jumps from 1 to 4 at θ = 3 and is never optimal; a few pulls of it are more "
        "informative about θ than many of the other two.",
    ),
}


def curve(name: str, *, points: int = 601, sound: bool = False) -> Problem:
    """Return a problem with θ in [0, 6].

    Parameters
    ----------
    name
        "setup", "three-arms", "two-arms", "corner" or "informative".
    points
        The number of even grid points; every breakpoint is added to them.
    sound
        True for sound cells with bounds instead of points.
    """
    made = _CURVES[name]
    structure = Structure.from_breakpoints(
        made.arms, sigma=_SIGMA, points=points, sound=sound, name=name
    )
    return _gaussian(name, structure, made.thetas, (made.horizon, made.title, made.description))


def linear(*, points: int = 41, sound: bool = False) -> Problem:
    """Return three arms whose means are products of features with a vector θ.

    Parameters
    ----------
    points
        The number of grid points per side of the square.
    sound
        True for sound cells with bounds instead of points.
    """
    features = {"1": [2.0, 1.0], "2": [1.0, 1.5], "3": [3.0, -1.0]}
    structure = Structure.linear(
        features, _square(points), sigma=_SIGMA, sound=sound, name="linear"
    )
    text = "Means are x·θ with x = (2, 1), (1, 1.5) and (3, -1), and θ in the square [-1, 1]²."
    title = "A linear bandit with three arms and θ in a square"
    return _gaussian("linear", structure, ((0.9, 0.9), (0.5, 0.5)), (50_000, title, text))


def plane(*, points: int = 41, sound: bool = False) -> Problem:
    """Return three arms that depend on two hidden numbers, one of them not linearly.

    Parameters
    ----------
    points
        The number of grid points per side of the square.
    sound
        True for sound cells with bounds instead of points.
    """
    # In the Euclidean norm: √2 for the sum and the difference, 1 for the maximum.
    constants = [2**0.5, 2**0.5, 1.0] if sound else None
    structure = Structure.from_functions(
        {"1": _sum, "2": _difference, "3": _largest},
        _square(points),
        sigma=_SIGMA,
        lipschitz=constants,
        name="plane",
    )
    text = "Means are θ1 + θ2, θ1 - θ2 and max(|θ1|, |θ2|), with θ in the square [-1, 1]²."
    title = "Three arms and two hidden numbers, one arm not linear"
    return _gaussian("plane", structure, ((0.9, 0.2), (-0.2, 0.1)), (50_000, title, text))


def _square(points: int) -> Box:
    return Box([(-1, 1), (-1, 1)], points=points)


# Named functions, not lambdas, so that the structure can be pickled.
def _sum(theta: FloatArray) -> FloatArray:
    return np.asarray(theta[:, 0] + theta[:, 1])


def _difference(theta: FloatArray) -> FloatArray:
    return np.asarray(theta[:, 0] - theta[:, 1])


def _largest(theta: FloatArray) -> FloatArray:
    return np.asarray(np.abs(theta).max(axis=1))


def _gaussian(
    name: str, structure: Structure, thetas: tuple[Theta, ...], facts: tuple[int, str, str]
) -> Problem:
    horizon, title, description = facts
    return Problem(
        name,
        structure,
        Gaussian(structure),
        thetas,
        horizon,
        f"{description} Rewards are Gaussian with standard deviation 2.",
        title,
        PAPER,
    )
