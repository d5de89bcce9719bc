"""Upper bounds on the pulls and the regret of UCB-C, and of TS-C with a Beta prior and two arms.

The formulas are those of the published theorems.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from structuredbandits.errors import InvalidInput

# log(τ) / τ is largest at e, so among whole numbers at 3, and decreases beyond it.
_HIGHEST_LOG_RATIO = math.log(3) / 3
# Beyond this many terms a sum of powers uses the Euler-Maclaurin formula.
_TERMS = 256


class PullsBound(NamedTuple):
    """A bound on the expected number of pulls of one arm."""

    pulls: float
    """Never more than the horizon."""
    vacuous: bool
    """True if the theorem allows as many pulls as there are rounds, so that it excludes nothing."""
    theorem: str
    """The theorem that gives the bound: "2" for non-competitive arms, "3" for any arm."""


class RegretBound(NamedTuple):
    """A bound on the expected regret of UCB-C."""

    regret: float
    """Never more than the horizon times the largest gap."""
    vacuous: bool
    """True if the theorem allows as much regret as the worst arm in every round."""


class ThompsonBound(NamedTuple):
    """The explicit part of a bound on the expected pulls by TS-C.

    The theorem adds an unspecified constant that does not depend on the horizon.
    """

    pulls: float
    """Never more than the horizon."""
    vacuous: bool
    bounded: bool
    """True if the number of pulls stays bounded as the horizon grows."""


class Situation(NamedTuple):
    """The quantities that the theorems use at one θ, one entry per arm."""

    optimal: tuple[bool, ...]
    epsilon: tuple[float, ...]
    least_gaps: tuple[float, ...]
    """The smallest possible gaps; with exact means the gaps."""
    most_gaps: tuple[float, ...]
    """The largest possible gaps."""
    sigma: tuple[float, ...]


def check_horizon(horizon: object) -> int:
    """Return the horizon as an int; raise unless it is a whole number from 1."""
    if isinstance(horizon, int | np.integer) and not isinstance(horizon, bool) and horizon >= 1:
        return int(horizon)
    raise InvalidInput(f"horizon = {horizon!r} is not a whole number of rounds from 1; give one.")


def check_alpha(alpha: object) -> float:
    """Return α as a float; raise unless it is a finite number above 0."""
    if isinstance(alpha, int | float | np.integer | np.floating) and not isinstance(alpha, bool):
        number = float(alpha)
        if 0 < number < math.inf:
            return number
    raise InvalidInput(f"alpha = {alpha!r} is not a finite number above 0; give one.")


@lru_cache(maxsize=1024)
def power_sum(power: float, first: int, last: int) -> float:
    """Return the sum of t**power over t = first, ..., last; 0 if there is no such t.

    Examples
    --------
    >>> power_sum(-1.0, 1, 4) == 1 + 1 / 2 + 1 / 3 + 1 / 4
    True
    >>> round(power_sum(-2.0, 1, 10**12), 9), round(math.pi**2 / 6, 9)
    (1.644934067, 1.644934067)
    """
    if last < first:
        return 0.0
    middle = min(last, first + _TERMS - 1)
    total = float(np.sum(np.arange(first, middle + 1, dtype=float) ** power))
    if last == middle:
        return total
    a, b = float(middle), float(last)
    area = math.log(b / a) if power == -1.0 else (b ** (power + 1) - a ** (power + 1)) / (power + 1)
    # From a (exclusive) to b; the next term of the formula is below floating-point precision.
    first_slope = power * (b ** (power - 1) - a ** (power - 1))
    third_slope = power * (power - 1) * (power - 2) * (b ** (power - 3) - a ** (power - 3))
    return float(total + area + (b**power - a**power) / 2 + first_slope / 12 - third_slope / 720)


def first_settled_round(least: float, factor: float) -> float:
    """Return t₀: the least τ ≥ 2 from which on least ≥ sqrt(factor · log(τ) / τ).

    At the τ found and at every later one the inequality holds. It is a whole number, or ∞ if
    `least` is 0.

    Examples
    --------
    >>> first_settled_round(1.0, 16.0)
    68.0
    >>> first_settled_round(10.0, 1.0), first_settled_round(0.0, 1.0)
    (2.0, inf)
    """
    wanted = least * least / factor
    if wanted >= _HIGHEST_LOG_RATIO:
        return 2.0
    if wanted <= 0.0:
        return math.inf
    low, high = 3, 4
    while math.log(high) / high > wanted:
        low, high = high, 2 * high
    while high - low > 1:  # integers of any size, so this terminates
        middle = (low + high) // 2
        if math.log(middle) / middle > wanted:
            low = middle
        else:
            high = middle
    return float(high)


def non_competitive_pulls(
    horizon: int, arms: int, epsilon: float, least_gap: float, alpha: float, sigma: float
) -> float:
    """Return Theorem 2's bound on the expected pulls of a non-competitive arm by UCB-C.

    Parameters
    ----------
    horizon
        The number of rounds, T.
    arms
        The number of arms, K.
    epsilon
        The arm's degree of non-competitiveness, above 0.
    least_gap
        The smallest gap of an arm that is not the best.
    alpha, sigma
        The parameters of UCB-C. The bound stays finite for T → ∞ if α > 3.

    Notes
    -----
    K t₀ + Σ_{t=1}^{T} 2K t^{1−α} + K³ Σ_{t=K t₀}^{T} 6 (t/K)^{2−α}, with t₀ from
    `first_settled_round`: from there on both ε and the smallest gap are at least
    4 sqrt(K α σ² log(τ) / τ).
    """
    settled = first_settled_round(min(epsilon, least_gap), 16 * arms * alpha * sigma**2)
    start = arms * settled
    if start >= horizon:
        return math.inf
    late = power_sum(2 - alpha, int(start), horizon) * arms ** (alpha - 2)
    return float(start + 2 * arms * power_sum(1 - alpha, 1, horizon) + 6 * arms**3 * late)


def competitive_pulls(horizon: int, arms: int, gap: float, alpha: float, sigma: float) -> float:
    """Return Theorem 3's bound on the expected pulls of any arm that is not the best by UCB-C.

    8ασ² log(T) / Δ² + 2α / (α − 2) + Σ_{t=1}^{T} 2K t^{1−α}; infinite unless α > 2 and Δ > 0.

    Examples
    --------
    >>> round(competitive_pulls(1000, 2, 1.0, 3.0, 0.1), 2)
    14.23
    """
    if alpha <= 2 or gap <= 0:
        return math.inf
    logarithmic = 8 * alpha * sigma**2 * math.log(horizon) / gap**2
    return logarithmic + 2 * alpha / (alpha - 2) + 2 * arms * power_sum(1 - alpha, 1, horizon)


def pulls_bounds(situation: Situation, horizon: int, alpha: float) -> dict[int, PullsBound]:
    """Return for each arm that is not the best, by its position, the smaller of both bounds."""
    number = len(situation.optimal)
    worse = [k for k in range(number) if not situation.optimal[k]]
    least = min((situation.least_gaps[k] for k in worse), default=0.0)
    widest = max(situation.sigma)
    found = {}
    for k in worse:
        epsilon, sigma = situation.epsilon[k], situation.sigma[k]
        pulls = competitive_pulls(horizon, number, situation.least_gaps[k], alpha, sigma)
        theorem = "3"
        if epsilon > 0:
            special = non_competitive_pulls(horizon, number, epsilon, least, alpha, widest)
            if special <= pulls:
                pulls, theorem = special, "2"
        found[k] = PullsBound(min(pulls, float(horizon)), pulls >= horizon, theorem)
    return found


def regret_bound(situation: Situation, horizon: int, alpha: float) -> RegretBound:
    """Return Theorem 1's bound: gaps times bounds on pulls."""
    pulls = pulls_bounds(situation, horizon, alpha)
    worst = max(situation.most_gaps) * horizon
    # With overlapping bounds the best arm is not known, and any regret is possible.
    unsure = any(situation.least_gaps[k] <= 0 for k in pulls)
    total = sum(situation.most_gaps[k] * bound.pulls for k, bound in pulls.items())
    vacuous = worst > 0 and (unsure or total >= worst)
    return RegretBound(worst if vacuous else total, vacuous)


def thompson_pulls(horizon: int, gap: float, epsilon: float, alpha: float) -> ThompsonBound:
    """Return the known part of the bound on the pulls of the worse of two arms by TS-C.

    For rewards 0 and 1 and a Beta prior. If the arm is competitive (ε = 0) it is
    9 log(T) / Δ² + Σ 4 t^{1−α}, otherwise 2 t₀ + Σ_{t ≥ 2t₀} 2 t^{1−α} with t₀ the round from
    which on Δ and ε are at least 3 sqrt(α log(τ) / τ); plus an unspecified constant.
    """
    if epsilon > 0:
        start = 2 * first_settled_round(min(gap, epsilon), 9 * alpha)
        pulls = math.inf
        if start < horizon:
            pulls = start + 2 * power_sum(1 - alpha, int(start), horizon - 1)
    else:
        pulls = 9 * math.log(horizon) / gap**2 + 4 * power_sum(1 - alpha, 1, horizon)
    return ThompsonBound(min(pulls, float(horizon)), pulls >= horizon, bounded=epsilon > 0)


def coverage_failure(rounds: int, arms: int, alpha: float) -> float:
    """Return the bound on the probability that θ is outside the confidence set in a round.

    It is 2K t^{1−α}, for exact means and for bounds, and at most 1.

    Examples
    --------
    >>> coverage_failure(1000, 4, 2.0), coverage_failure(1, 4, 2.0)
    (0.008, 1.0)
    """
    return min(1.0, 2 * arms * math.pow(check_horizon(rounds), 1 - alpha))
