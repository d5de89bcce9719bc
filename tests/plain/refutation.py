"""The test that refutes a structure, written plainly: one θ, one arm and one bet at a time."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaincinv, betaln, ndtri

import structuredbandits as sb


def is_refuted(
    known: sb.Structure, counts: np.ndarray, sums: np.ndarray, squares: np.ndarray, level: float
) -> bool:
    """Whether the evidence against every θ is at least 1/level; sums are those of the rewards."""
    errors = known.standard_errors
    intervals = known.rewards.limited and errors is not None and bool((errors > 0).any())
    limit = -math.log(level / 2 if intervals else level)
    return smallest_evidence(known, counts, sums, squares, level) >= limit


def smallest_evidence(
    known: sb.Structure, counts: np.ndarray, sums: np.ndarray, squares: np.ndarray, level: float
) -> float:
    """The log of the smallest evidence against any θ."""
    total = []
    for theta in range(known.n_parameters):
        log = 0.0
        for k in range(known.n_arms):
            if counts[k]:
                evidence = _evidence(known, theta, k, counts[k], sums[k], squares[k], level)
                share = 1 / known.n_arms
                log += max(math.log(1 - share), math.log(share) + evidence)
        total.append(log)
    return min(total)


def _interval(known: sb.Structure, theta: int, k: int, level: float) -> tuple[float, float]:
    low, high = float(known.lower[theta, k]), float(known.upper[theta, k])
    if known.standard_errors is None or known.standard_errors[theta, k] == 0:
        return low, high
    tail = level / (4 * known.n_arms)
    error = float(known.standard_errors[theta, k])
    if not known.rewards.limited:
        return low, high
    if not known.rewards.is_bernoulli:
        return low + float(ndtri(tail)) * error, high - float(ndtri(tail)) * error
    prize = known.rewards.high[k]
    rate = 0.5 * (low + high) / prize
    if known.counts is None:
        n = rate * (1 - rate) / (error / prize) ** 2
    else:
        n = float(known.counts[theta, k])
    won, lost = n * rate, n * (1 - rate)
    below = float(betaincinv(won, lost + 1, tail)) if won > 0 else 0.0
    above = float(betaincinv(won + 1, lost, 1 - tail)) if lost > 0 else 1.0
    return min(low, prize * below), max(high, prize * above)


def _evidence(
    known: sb.Structure, theta: int, k: int, n: float, total: float, squares: float, level: float
) -> float:
    low, high = _interval(known, theta, k, level)
    if not known.rewards.limited:
        variance = float(known.sigma[k]) ** 2
        distance = max(low - total / n, total / n - high, 0.0)
        errors = known.standard_errors
        before = variance / n + (0.0 if errors is None else float(errors[theta, k]) ** 2)
        after = before + variance
        return 0.5 * math.log(before / after) + 0.5 * distance**2 * (1 / before - 1 / after)
    least, width = known.rewards.low[k], known.rewards.high[k] - known.rewards.low[k]
    low, high = max((low - least) / width, 0.0), min((high - least) / width, 1.0)
    squares = (squares - 2 * least * total + n * least**2) / width**2
    total = (total - n * least) / width
    if known.rewards.is_bernoulli:
        rate = min(max(total / n, low), high)
        mixture = float(betaln(total + 0.5, n - total + 0.5) - betaln(0.5, 0.5))
        likelihood = rate**total * (1 - rate) ** (n - total)
        return mixture - math.log(likelihood) if likelihood > 0 else math.inf
    above = _bets(n, total, squares, high)
    below = _bets(n, n - total, squares - 2 * total + n, 1 - low)
    return max(above, below)


def _bets(n: float, total: float, squares: float, mean: float) -> float:
    gain = (total - n * mean) / mean
    spread = (squares - 2 * mean * total + n * mean**2) / mean**2
    bets = [2.0**-place for place in range(1, 8)]
    logs = [bet * gain - (-math.log(1 - bet) - bet) * spread for bet in bets]
    return max(logs) - math.log(14)
