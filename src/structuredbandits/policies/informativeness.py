"""How informative an arm is about θ: functions of its means at the plausible θ.

All take ``values`` (plausible,) ascending and ``weights`` (plausible,).
"""

from __future__ import annotations

import math

import numpy as np

from structuredbandits._compiled import inline

_LEAST = 1e-9


@inline
def variance(values: np.ndarray, weights: np.ndarray, tolerance: float) -> float:
    """Variance, in two passes: V_k of the paper."""
    total, mean = 0.0, 0.0
    for place in range(values.size):
        total += weights[place]
        mean += weights[place] * values[place]
    mean /= total
    spread = 0.0
    for place in range(values.size):
        deviation = values[place] - mean
        spread += weights[place] * (deviation * deviation)
    return spread / total


@inline
def rate_divergence(values: np.ndarray, weights: np.ndarray, floor: float, width: float) -> float:
    """Expected KL divergence between Bernoulli rewards at two θ: the covariance of p and x.

    A mean is floor + width · p, and x = log(p / (1 - p)). Rates next to 0 and 1, where x is
    infinite, count as `_LEAST` away from them.
    """
    total, mean = 0.0, 0.0
    for place in range(values.size):
        total += weights[place]
        mean += weights[place] * ((values[place] - floor) / width)
    mean /= total
    spread = 0.0
    for place in range(values.size):
        rate = (values[place] - floor) / width
        inner = min(max(rate, _LEAST), 1.0 - _LEAST)
        spread += weights[place] * ((rate - mean) * math.log(inner / (1.0 - inner)))
    return spread / total


@inline
def entropy(values: np.ndarray, weights: np.ndarray, tolerance: float) -> float:
    """Shannon entropy of the distinct values; neighbours within the tolerance are one."""
    total = 0.0
    for place in range(values.size):
        total += weights[place]
    result, share = 0.0, 0.0
    for place in range(values.size):
        share += weights[place]
        if place + 1 == values.size or values[place + 1] - values[place] > tolerance:
            result -= share / total * math.log(share / total)
            share = 0.0
    return result


@inline
def differential_entropy(values: np.ndarray, weights: np.ndarray, tolerance: float) -> float:
    """Differential entropy by spacings of order sqrt(n) (Vasicek's estimator); unweighted.

    Spacings are at least the tolerance, so that a flat arm has a very small entropy, not -inf.
    """
    n = values.size
    order = max(1, int(math.sqrt(n) / 2.0))
    floor = max(tolerance, 1e-300)
    result = 0.0
    for place in range(n):
        spacing = values[min(n - 1, place + order)] - values[max(0, place - order)]
        result += math.log(max(spacing, floor) * n / (2.0 * order))
    return result / n
