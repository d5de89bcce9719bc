"""What a structure says, as plain arrays in which more is always better.

Nothing here knows the library: bounds, σ and weights come in as arrays.
"""

from __future__ import annotations

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
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    sigma: list[float]
    weights: list[float]
    tolerance: float
    sign: float

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
) -> Facts:
    """Read bounds on rewards, or on costs."""
    low, high = np.array(lower, dtype=float), np.array(upper, dtype=float)
    tolerance = 1e-9 * float(high.max() - low.min())
    if minimize:
        low, high = -high, -low
    n_parameters, n_arms = low.shape
    shares = np.full(n_parameters, 1.0 / n_parameters) if weights is None else np.array(weights)
    return Facts(
        low,
        high,
        np.broadcast_to(np.array(sigma, dtype=float), (n_arms,)).tolist(),
        shares.tolist(),
        tolerance,
        -1.0 if minimize else 1.0,
    )


def plausible(facts: Facts, counts: list[int], sums: list[float], q: float) -> NDArray[np.bool_]:
    """Step 1: (parameters,) whether each θ agrees with every arm's rewards.

    θ stays if μ_k > mean − r and μ_k < mean + r for every arm k that was seen, both strictly, with
    r = q σ_k / √n_k. With bounds some value between them has to fit.
    """
    stays = np.ones(facts.n_parameters, dtype=bool)
    for arm, count in enumerate(counts):
        if count == 0:
            continue
        mean = sums[arm] / count
        radius = q * (facts.sigma[arm] / np.sqrt(count))
        stays &= facts.upper[:, arm] > mean - radius
        stays &= facts.lower[:, arm] < mean + radius
    return stays


def competitive(facts: Facts, stays: NDArray[np.bool_], allowed: list[int]) -> list[int]:
    """Step 2: the allowed arms that are best among them at some plausible θ.

    If no θ is plausible, all of them.
    """
    if not stays.any():
        return allowed
    lower, upper = facts.lower[stays][:, allowed], facts.upper[stays][:, allowed]
    best = (upper >= lower.max(axis=1, keepdims=True) - facts.tolerance).any(axis=0)
    return [arm for arm, yes in zip(allowed, best, strict=True) if yes]
