"""Intervals for the mean of bounded rewards, by betting against every candidate value.

For a candidate value v each independent unit i (a subject, or a decision) has a score
z_i(v) = gain_i − v · size_i whose expectation is 0 if v is the truth. A bet of the fraction λ of
the capital on every score yields the capital ∏ (1 + λ z_i(v)). As long as no factor can be
negative, this is a non-negative martingale under the truth, also if the log's probabilities
depend on its past. By Markov's inequality it exceeds 2/(1 − level) with probability at most
(1 − level)/2. The interval contains the v against which the capital stays smaller. This holds for
any number of units.

References
----------
I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86,
2024. I. Waudby-Smith, L. Wu, A. Ramdas, N. Karampatziakis, P. Mineiro, "Anytime-valid off-policy
inference for contextual bandits", ACM/IMS Journal of Data Science 1, 2024.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structuredbandits.structure.parameters import FloatArray

# The stakes are 1, 2, 4, ... times the one that is best if all weights are the largest; none may
# lose more than this share of the capital on one unit.
_DOUBLINGS = 6
_SHARES = 0.5 ** np.minimum(np.arange(1, _DOUBLINGS + 1), _DOUBLINGS - 1)  # of the capital at first
_LARGEST_LOSS = 0.95
_HALVINGS = 30


class Bets(NamedTuple):
    """What can be staked on each unit, for rewards between 0 and 1.

    The score of a unit is ``gain - v * size``. It is at least ``-(loss + v * loss_slope)``
    whatever the rewards of the unit, and at most ``win - v * win_slope``.
    """

    gain: FloatArray
    size: FloatArray
    loss: FloatArray
    loss_slope: FloatArray
    win: FloatArray
    win_slope: FloatArray


def bets_on_ips(gains: FloatArray, weights: FloatArray, sizes: FloatArray) -> Bets:
    """Bets on the mean of weighted rewards.

    Parameters
    ----------
    gains, weights, sizes
        (units,): sums of weight × reward, of weights, and of decisions.
    """
    zero = np.zeros_like(gains)
    return Bets(gains, sizes, zero, sizes, weights, sizes)


def bets_on_snips(gains: FloatArray, weights: FloatArray) -> Bets:
    """Bets on weighted rewards minus weighted candidate values: Σ w (r − v)."""
    zero = np.zeros_like(gains)
    return Bets(gains, weights, zero, weights, weights, weights)


def bets_on_dr(
    values: FloatArray,
    weighted_model: FloatArray,
    model: FloatArray,
    weights: FloatArray,
    sizes: FloatArray,
) -> Bets:
    """Bets on doubly robust terms Σ (q̄ + w (r − q)), for predictions q between 0 and 1.

    Parameters
    ----------
    values, weighted_model, model, weights, sizes
        (units,): sums of the terms, of w q, of q̄, of w, and of decisions.
    """
    loss = weighted_model - model
    return Bets(values, sizes, loss, sizes, weights - loss, sizes)


def betting_interval(bets: Bets, level: float) -> tuple[float, float]:
    """Return the smallest and the largest value that the bets do not exclude.

    Examples
    --------
    >>> ones = np.ones(3)
    >>> low, high = betting_interval(bets_on_snips(ones, ones), level=0.95)
    >>> round(low, 2), high
    (0.28, 1.0)
    """
    merged, counts = _merge(bets)
    tail = math.log(2.0 / (1.0 - level))
    low = _bound(merged, counts, tail)
    # For the upper end, bet on 1 − reward: 1 − v replaces v, and wins become losses.
    mirrored = Bets(
        gain=merged.size - merged.gain,
        size=merged.size,
        loss=merged.win - merged.win_slope,
        loss_slope=merged.win_slope,
        win=merged.loss + merged.loss_slope,
        win_slope=merged.loss_slope,
    )
    return low, 1.0 - _bound(mirrored, counts, tail)


def cautious_interval(
    gains: FloatArray, weights: FloatArray, sizes: FloatArray, level: float
) -> tuple[float, float]:
    """Return an interval that also holds if larger weights than those in the log are possible.

    The lower end bets on Σ w r and the upper end on Σ w (1 − r): neither can lose more than the
    candidate value times the size of the unit, however large a weight is. The interval is wider.

    Parameters
    ----------
    gains, weights, sizes
        As for `bets_on_ips`.
    """
    tail = math.log(2.0 / (1.0 - level))
    low = _bound(*_merge(bets_on_ips(gains, weights, sizes)), tail)
    return low, 1.0 - _bound(*_merge(bets_on_ips(weights - gains, weights, sizes)), tail)


def _merge(bets: Bets) -> tuple[Bets, FloatArray]:
    """Take equal units together: a log of 0/1 rewards has few different ones."""
    table = np.stack(bets, axis=1)
    # One number for each unit, so that only one column has to be sorted.
    keys = table @ np.sqrt(np.arange(2.0, 2.0 + table.shape[1]))
    _, first, inverse, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    if len(first) > 0.5 * len(table) or not np.array_equal(table[first][inverse], table):
        first, counts = np.arange(len(table)), np.ones(len(table), dtype=np.int64)
    return Bets(*np.ascontiguousarray(table[first].T)), counts.astype(float)


def _bound(bets: Bets, counts: FloatArray, tail: float) -> float:
    """Return the smallest v that bets on larger values do not exclude."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if _log_capital(bets, counts, middle, tail) < tail:
            high = middle
        else:
            low = middle
    return low


def _log_capital(bets: Bets, counts: FloatArray, v: float, tail: float) -> float:
    """Return the log of the capital, which is divided among several stakes."""
    largest = float((bets.loss + v * bets.loss_slope).max())
    scores = bets.gain - v * bets.size
    if largest <= 0.0:  # no score can be negative, so that a positive one excludes v
        return math.inf if float(scores.max()) > 0.0 else 0.0
    most = _LARGEST_LOSS / largest
    # The variance of a unit if all its weight is as large as any, and its rewards are 0 or 1.
    weight = float((bets.win + bets.loss).max())
    mean = float(counts @ bets.size)
    variance = max(mean * weight * v * (1.0 - v), 1e-300)
    stakes = np.minimum(math.sqrt(2.0 * tail / variance) * 2.0 ** np.arange(_DOUBLINGS), most)
    logs = counts @ np.log1p(np.multiply.outer(scores, stakes))
    peak = float(logs.max())
    return peak + math.log(float(_SHARES @ np.exp(logs - peak)))
