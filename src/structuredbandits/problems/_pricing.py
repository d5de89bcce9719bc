"""The embedded problem "pricing": find the best price when willingness to pay is unknown."""

from __future__ import annotations

from structuredbandits.environments import Bernoulli
from structuredbandits.problems._problem import Problem
from structuredbandits.structure import PiecewiseLinear, Structure

_PRICES = (20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0)
# One visitor in five leaves without buying at any price.
_INTERESTED = 0.8
# The interested visitors' maximal prices are spread over this many euros, up to θ.
_SPREAD = 20.0
_LOWEST, _HIGHEST = 30.0, 120.0


def pricing(*, points: int = 901, sound: bool = False) -> Problem:
    """Return the problem with ticket prices as arms and buyers' willingness to pay as θ.

    Parameters
    ----------
    points
        The number of grid points from 30 to 120 euros.
    sound
        True for sound cells with bounds instead of points.

    Notes
    -----
    A museum sells day tickets in its web shop and may charge each visitor 20, 30, ... or 90 euros.
    Four in five visitors are interested, and their maximal prices are uniform between θ − 20 and θ
    euros: the standard linear demand curve. At price p the probability of a sale is 0.8 · clip((θ −
    p) / 20, 0, 1), and the reward is p euros or nothing.

    The difficulty is that of all posted prices (Kleinberg and Leighton, "The Value of Knowing a
    Demand Curve", FOCS 2003): once every interested visitor buys, a price gives no information
    about how much more they would pay. So where the best price sells to all, every higher price
    stays competitive; where some do not buy, its sales reveal θ and no other price is competitive.

    σ is half the range of the rewards, p / 2 for price p.
    """
    structure = Structure.from_breakpoints(
        {f"{price:g} EUR": _revenue(price) for price in _PRICES},
        sigma=[price / 2 for price in _PRICES],
        points=points,
        sound=sound,
        name="pricing",
    )
    return Problem(
        "pricing",
        structure,
        Bernoulli(structure, prize=_PRICES),
        (49.0, 62.0, 84.0, 115.0),
        20_000,
        "Each arm is a ticket price in euros, θ is the most that any buyer would pay, from 30 to "
        "120 euros, and a reward is the revenue from one visitor: the price or nothing. Where the "
        "best price sells to all interested visitors, it gives no information about how much more "
        "they would pay.",
        "Set the price of a ticket when willingness to pay is unknown",
    )


def _revenue(price: float) -> PiecewiseLinear:
    """Return the mean revenue from one visitor as an exact function of θ."""
    inner = [
        (theta, value)
        for theta, value in ((price, 0.0), (price + _SPREAD, _INTERESTED * price))
        if _LOWEST < theta < _HIGHEST
    ]

    def at(theta: float) -> float:
        share = min(max((theta - price) / _SPREAD, 0.0), 1.0)
        return _INTERESTED * price * share

    return PiecewiseLinear([(_LOWEST, at(_LOWEST)), *inner, (_HIGHEST, at(_HIGHEST))])
