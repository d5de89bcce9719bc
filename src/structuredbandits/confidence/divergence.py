"""Intervals of Bernoulli and bounded rewards: the rates v with n kl(p, v) < c, c = alpha log t.

Rewards are rescaled to [0, 1] per arm; p = S/n is the mean of n of them. In the natural parameter
x = log(v / (1 - v)) the divergence n kl(p, v) is

    f = A(S, n) + n log(1 + e^x) - S x,    A = S log(S/n) + (n - S) log((n - S)/n),

convex in x, and convex in (S, n) together. An interval has its ends in x, and means are sorted by
x. The functions here take numbers only: kernels call them where an end of an interval moves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structuredbandits._compiled import called, inline, kernel
from structuredbandits.confidence.radius import q_at

if TYPE_CHECKING:
    from structuredbandits.structure import Structure

#: Stands for the x of the rates 1 and, negated, 0: its f exceeds every c after a contrary reward.
CERTAIN = 1e30

# Sums of rewards are rounded: a share this near to 0 or 1 is 0 or 1, so that rounding does not
# exclude a θ whose rate is exactly that.
_NEAR = 2.0**-30

# Rounding errors of f, relative to the numbers added; a closer comparison is left to the ends.
ROUNDING = 2.0**-40

# Lines for fast-forwarding are closer by this share of n: more than _NEAR and than Newton's error.
_CLOSER = 2.0**-29


class GainLimits(NamedTuple):
    """What the rewards of each arm are limited to; costs are negated."""

    floors: np.ndarray  # (arms,) smallest gain
    ranges: np.ndarray  # (arms,) largest less smallest gain


def limits_of(structure: Structure) -> GainLimits | None:
    """The limits of the rewards; None if they are Gaussian."""
    if not structure.rewards.limited:
        return None
    low, high = np.array(structure.rewards.low), np.array(structure.rewards.high)
    return GainLimits(-high if structure.minimize else low, high - low)


def natural_parameters(structure: Structure, limits: GainLimits, bounds: np.ndarray) -> np.ndarray:
    """X of each mean: (sides, parameters, arms).

    A mean that was learned, with a standard error, is not nearer to 0 or 1 than that: one contrary
    reward then does not exclude its θ.

    Parameters
    ----------
    bounds : (sides, parameters, arms)
        Means or their bounds; costs are negated.
    """
    rates = np.clip((bounds - limits.floors) / limits.ranges, 0.0, 1.0)
    if structure.standard_errors is not None:
        errors = np.minimum(structure.standard_errors / limits.ranges, 0.5)
        rates[0] = np.minimum(rates[0], 1.0 - errors)
        rates[-1] = np.maximum(rates[-1], errors)
    with np.errstate(divide="ignore"):
        x = np.log(rates) - np.log1p(-rates)
    return np.asarray(np.clip(x, -CERTAIN, CERTAIN))


@inline
def successes_of(total: float, count: float, floor: float, width: float) -> float:
    """Sum of rewards in units of the limits: between 0 and the count."""
    successes = (total - count * floor) / width
    if successes < count * _NEAR:
        return 0.0
    if successes > count - count * _NEAR:
        return count
    return successes


@inline
def cumulant(x: float) -> float:
    """log(1 + e^x)."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@inline
def negative_entropy(successes: float, count: float) -> float:
    """A(S, n)."""
    failures = count - successes
    if successes <= 0.0 or failures <= 0.0:
        return 0.0
    return successes * math.log(successes / count) + failures * math.log(failures / count)


@called
def upper_end(successes: float, count: float, c: float) -> float:
    """The x above the mean with f = c, infinite if no reward was below its upper limit.

    Newton's steps from the right of the root of a convex function come down to it.
    """
    failures = count - successes
    if failures <= 0.0:
        return math.inf
    level = c / count
    if successes <= 0.0:
        return level + math.log(-math.expm1(-level))
    constant: float = negative_entropy(successes, count) - c
    share = successes / count
    rate = share + math.sqrt(2.0 * share * (1.0 - share) * level) + 2.0 * level
    x = -constant / failures  # f exceeds c from there on
    if rate < 1.0:
        x = min(x, math.log(rate / (1.0 - rate)))
    for step in range(100):
        e = math.exp(-abs(x))
        excess = constant + count * (max(x, 0.0) + math.log1p(e)) - successes * x
        slope = count * ((1.0 if x > 0.0 else e) / (1.0 + e)) - successes
        if not slope > 0.0:
            break
        lower = x - excess / slope
        if step > 0 and not lower < x:
            break
        x = lower
    return x


@inline
def ends_of_rate(successes: float, count: float, c: float) -> tuple[float, float]:
    """Both ends of an interval, in x."""
    return -upper_end(count - successes, count, c), upper_end(successes, count, c)


@called
def _fewest(count: float, x: float, c: float) -> float:
    """The smaller S with f = c, or a little less; -1 if f < c even at S = 0."""
    grown = count * cumulant(x)
    if not grown > c:
        return -1.0
    rate = 1.0 / (1.0 + math.exp(-x))
    sum_of_rewards = count * max(rate - math.sqrt(2.0 * rate * c / count), rate * 2.0**-40)
    for _ in range(60):
        below = sum_of_rewards
        failures = count - below
        excess = negative_entropy(below, count) + grown - below * x - c
        if not excess > 0.0:  # rounding, or the root is next to 0
            return 0.0 if below < count * rate * 2.0**-39 else below
        slope = math.log(below / failures) - x
        sum_of_rewards = below - excess / slope
        if not sum_of_rewards - below > 2.0**-32 * count:
            break
    return sum_of_rewards


@called
def most_successes(
    first: float, last: float, outside: float, inside: float, least_c: float, largest_c: float
) -> tuple[float, float]:
    """Ends of a line, from n = first to n = last, below which S may move freely.

    There the upper end does not pass ``outside`` and the lower end does not pass ``inside``,
    while c is between the two given values. What excludes a value is bounded by a convex function
    of n, below which its tangents lie; what admits it by a concave one, above its chords.
    """
    at_first, at_last = math.inf, math.inf
    if outside >= CERTAIN:
        if outside < math.inf:
            at_first, at_last = first - first * _CLOSER, last - last * _CLOSER
    else:
        fewest = _fewest(first, outside, largest_c)
        if not fewest > 0.0:
            return -math.inf, -math.inf
        slope = math.log(fewest / (first - fewest)) - outside
        step = -(math.log((first - fewest) / first) + cumulant(outside)) / slope
        closer = last * (_CLOSER + ROUNDING * (1.0 + abs(outside)) / abs(slope))
        at_first, at_last = fewest - closer, fewest + step * (last - first) - closer
    if inside <= -CERTAIN:
        return -math.inf, -math.inf
    if inside < CERTAIN:
        fewest = _fewest(last, -inside, least_c)
        if fewest >= 0.0:
            slope = inside + math.log(max(fewest, 1e-300) / (last - fewest))
            closer = last * (_CLOSER + ROUNDING * (1.0 + abs(inside)) / abs(slope))
            at_last = min(at_last, last - fewest - closer)
            fewest = max(_fewest(first, -inside, least_c), 0.0)
            at_first = min(at_first, first - fewest - closer)
    return at_first, at_last


def interval_ends(
    structure: Structure, alpha: float, t: int, counts: np.ndarray, means: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of each arm's interval in units of the rewards: two arrays (arms,).

    They are infinite for an arm without rewards, and at most the limits of bounded rewards.

    Parameters
    ----------
    t
        Number of rewards received.
    counts, means : (arms,)
        Number of rewards and their mean; costs are not negated.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> clicks = Structure.from_table([[0.02, 0.03]], rewards="bernoulli")
    >>> low, high = interval_ends(clicks, 3.0, 1000, np.array([1000, 0]), np.array([0.02, 0.0]))
    >>> low.round(4), high.round(4)
    (array([0.0031,   -inf]), array([0.0626,    inf]))
    """
    q = q_at(alpha, t)
    if not structure.rewards.limited:
        with np.errstate(divide="ignore"):
            radii = q * (structure.sigma / np.sqrt(counts))
        return means - radii, means + radii
    low, high = np.array(structure.rewards.low), np.array(structure.rewards.high)
    numbers = np.asarray(counts, dtype=float)
    ends = _ends_of_rates(numbers, numbers * np.where(numbers > 0, means, 0), low, high, q)
    with np.errstate(over="ignore"):
        rates = 1.0 / (1.0 + np.exp(-ends))
    ends = np.where(numbers > 0, low + (high - low) * rates, ends)
    return ends[0], ends[1]


@kernel
def _ends_of_rates(
    counts: np.ndarray, sums: np.ndarray, low: np.ndarray, high: np.ndarray, q: float
) -> np.ndarray:
    ends = np.empty((2, counts.size))
    ends[0], ends[1] = -math.inf, math.inf
    for arm in range(counts.size):
        if counts[arm] > 0.0:
            successes = successes_of(sums[arm], counts[arm], low[arm], high[arm] - low[arm])
            ends[0, arm], ends[1, arm] = ends_of_rate(successes, counts[arm], 0.5 * q * q)
    return ends
