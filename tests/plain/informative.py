"""Metrics of how informative an arm's means at the plausible θ are about θ.

All metrics take the values in ascending order, so that all ways to sum them agree in every bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tests.plain.structure_arrays import Facts

Metric = Callable[[list[float], list[float], float], float]


def variance(values: list[float], weights: list[float], tolerance: float) -> float:
    """V_k of the paper, in two passes."""
    total = mean = spread = 0.0
    for value, weight in zip(values, weights, strict=True):
        total += weight
        mean += weight * value
    mean /= total
    for value, weight in zip(values, weights, strict=True):
        spread += weight * ((value - mean) * (value - mean))
    return spread / total


def rate_divergence(values: list[float], weights: list[float], floor: float, width: float) -> float:
    """Expected kl between the rates at two θ: Σ w (p - mean) log(p / (1 - p)) / Σ w."""
    total = mean = spread = 0.0
    rates = [(value - floor) / width for value in values]
    for rate, weight in zip(rates, weights, strict=True):
        total += weight
        mean += weight * rate
    mean /= total
    for rate, weight in zip(rates, weights, strict=True):
        inner = min(max(rate, 1e-9), 1.0 - 1e-9)
        spread += weight * ((rate - mean) * math.log(inner / (1.0 - inner)))
    return spread / total


def entropy(values: list[float], weights: list[float], tolerance: float) -> float:
    """Shannon entropy; neighbours no farther apart than the tolerance are one value."""
    shares = [0.0]
    for place, weight in enumerate(weights):
        if place > 0 and values[place] - values[place - 1] > tolerance:
            shares.append(0.0)
        shares[-1] += weight
    total = 0.0
    for weight in weights:
        total += weight
    result = 0.0
    for share in shares:
        result -= share / total * math.log(share / total)
    return result


def differential_entropy(values: list[float], weights: list[float], tolerance: float) -> float:
    """Vasicek's estimate by spacings of order √n / 2, unweighted, each at least the tolerance."""
    n = len(values)
    order = max(1, int(math.sqrt(n) / 2.0))
    result = 0.0
    for place in range(n):
        spacing = values[min(n - 1, place + order)] - values[max(0, place - order)]
        result += math.log(max(spacing, tolerance, 1e-300) * n / (2.0 * order))
    return result / n


METRICS: dict[str, Metric] = {
    "kl": variance,
    "entropy": entropy,
    "differential-entropy": differential_entropy,
}


def informativeness(facts: Facts, stays: NDArray[np.bool_], arm: int, metric: Metric) -> float:
    """I_k(Θ̂): the metric of the arm's means, or of the midpoints of its bounds."""
    rows = [i for i in range(facts.n_parameters) if stays[i]]
    middle = {i: 0.5 * float(facts.lower[i, arm] + facts.upper[i, arm]) for i in rows}
    rows.sort(key=lambda i: (middle[i], facts.lower[i, arm]))
    if facts.bernoulli and metric is variance:
        assert facts.limits is not None
        floor, width = facts.limits[0][arm], facts.limits[1][arm] - facts.limits[0][arm]
        weights = [facts.weights[i] for i in rows]
        return rate_divergence([middle[i] for i in rows], weights, float(floor), float(width))
    return metric([middle[i] for i in rows], [facts.weights[i] for i in rows], facts.tolerance)
