"""A structure as plain arrays of bounds, σ and weights, in which larger is always better."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Facts:
    """Bounds on every arm's mean at every θ; costs are negated.

    Attributes
    ----------
    lower, upper
        (parameters, arms); equal where means are exact.
    sigma
        (arms,).
    weights
        (parameters,): the share of Θ that each θ stands for.
    tolerance
        Means this near to the best are best.
    limits
        (arms,) smallest and (arms,) largest gain, unless rewards are Gaussian.
    standard_errors
        (parameters, arms) of learned means.
    bernoulli
        Whether rewards are one of their limits.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    sigma: list[float]
    weights: list[float]
    tolerance: float
    sign: float
    limits: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    standard_errors: NDArray[np.float64] | None = None
    bernoulli: bool = False

    @property
    def n_arms(self) -> int:
        return int(self.lower.shape[1])

    @property
    def n_parameters(self) -> int:
        return int(self.lower.shape[0])


def facts(
    lower: ArrayLike,
    upper: ArrayLike,
    sigma: ArrayLike,
    *,
    minimize: bool = False,
    weights: ArrayLike | None = None,
    limits: tuple[ArrayLike, ArrayLike] | None = None,
    standard_errors: NDArray[np.float64] | None = None,
    bernoulli: bool = False,
) -> Facts:
    """Read bounds on rewards, or on costs."""
    low, high = np.array(lower, dtype=float), np.array(upper, dtype=float)
    tolerance = 1e-9 * float(high.max() - low.min())
    if minimize:
        low, high = -high, -low
    if limits is not None:
        ends = np.array(limits[0], dtype=float), np.array(limits[1], dtype=float)
        limits = (-ends[1], -ends[0]) if minimize else ends
    n_parameters, n_arms = low.shape
    shares = np.full(n_parameters, 1.0 / n_parameters) if weights is None else np.array(weights)
    return Facts(
        low,
        high,
        np.broadcast_to(np.array(sigma, dtype=float), (n_arms,)).tolist(),
        shares.tolist(),
        tolerance,
        -1.0 if minimize else 1.0,
        limits,
        standard_errors,
        bernoulli,
    )


def plausible(facts: Facts, counts: list[int], sums: list[float], q: float) -> NDArray[np.bool_]:
    """Step 1: (parameters,) whether each θ agrees with every arm's rewards.

    θ stays if μ_k > mean − r and μ_k < mean + r for every arm k that was seen, both strictly, with
    r = q σ_k / √n_k. With bounds some value between them has to fit.
    """
    if facts.limits is not None:
        return plausible_rates(facts, counts, sums, 0.5 * q * q)
    stays = np.ones(facts.n_parameters, dtype=bool)
    for arm, count in enumerate(counts):
        if count == 0:
            continue
        mean = sums[arm] / count
        radius = q * (facts.sigma[arm] / np.sqrt(count))
        stays &= facts.upper[:, arm] > mean - radius
        stays &= facts.lower[:, arm] < mean + radius
    return stays


def plausible_rates(
    facts: Facts, counts: list[int], sums: list[float], c: float
) -> NDArray[np.bool_]:
    """Step 1 for limited rewards: θ stays if n kl(p, v) < c for every arm that was seen.

    p is the mean and v the θ's mean, both in units of the limits; with bounds v is the value
    between them that is nearest to p. A learned v is kept away from 0 and 1 by its standard error.
    """
    assert facts.limits is not None
    floor, width = facts.limits[0], facts.limits[1] - facts.limits[0]
    low, high = (facts.lower - floor) / width, (facts.upper - floor) / width
    if facts.standard_errors is not None:
        errors = np.minimum(facts.standard_errors / width, 0.5)
        low, high = np.minimum(low, 1 - errors), np.maximum(high, errors)
        if (facts.lower == facts.upper).all():
            low, high = np.maximum(low, errors), np.minimum(high, 1 - errors)
    stays = np.ones(facts.n_parameters, dtype=bool)
    for arm, count in enumerate(counts):
        if count == 0:
            continue
        p = float((sums[arm] / count - floor[arm]) / width[arm])
        p = 0.0 if p < 2.0**-30 else 1.0 if p > 1 - 2.0**-30 else p
        for row in range(facts.n_parameters):
            v = min(max(p, float(low[row, arm])), float(high[row, arm]))
            stays[row] &= count * divergence(p, v) < c
    return stays


def divergence(p: float, v: float) -> float:
    """kl(p, v) of Bernoulli distributions."""
    if p in (0.0, 1.0):
        match = v if p == 1.0 else 1.0 - v
        return -math.log(match) if match > 0.0 else math.inf
    if v in (0.0, 1.0):
        return math.inf
    return p * math.log(p / v) + (1.0 - p) * math.log((1.0 - p) / (1.0 - v))


def competitive(facts: Facts, stays: NDArray[np.bool_], allowed: list[int]) -> list[int]:
    """Step 2: the allowed arms that are best among them at some plausible θ.

    If no θ is plausible, all of them.
    """
    if not stays.any():
        return allowed
    lower, upper = facts.lower[stays][:, allowed], facts.upper[stays][:, allowed]
    best = (upper >= lower.max(axis=1, keepdims=True) - facts.tolerance).any(axis=0)
    return [arm for arm, yes in zip(allowed, best, strict=True) if yes]
