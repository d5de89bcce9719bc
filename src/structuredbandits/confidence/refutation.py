"""Whether rewards refute a structure: evidence against every θ, valid at every time.

The null hypothesis is that some θ of the map is right. The evidence against one θ is an e-process:
it starts at 1, its mean is at most 1 if that θ is right, and it can be looked at after every
reward, since by Ville's inequality it ever reaches 1/level with probability at most the level. The
smallest evidence over all θ is at most that against the right one, so a right map is ever refuted
with probability at most the level.

The evidence against θ is the product over arms of (1 − 1/K) + E/K, for which the larger of the two
terms is used. E compares an arm's rewards with its interval of means at θ:

- Gaussian rewards: the likelihood of a mean that is off by N(0, σ²) over that of the nearest mean
  in the interval; valid for all σ-sub-Gaussian rewards. The errors of a learned map are
  integrated: under the null hypothesis the mean is N(μ, error²).
- Bernoulli: a Beta(1/2, 1/2) mixture of likelihoods over the largest likelihood in the interval.
- bounded: bets on rewards above and below the interval with fractions 1/2, 1/4, ..., 1/128 of the
  largest, bounded from below by their first two moments (Fan et al. 2015; Waudby-Smith and Ramdas,
  "Estimating means of bounded random variables by betting", JRSS B 2024).

Counts, sums and sums of squares are enough for all. Each mean of a learned map of Bernoulli or
bounded rewards is an interval instead: all arms of a θ are in theirs with probability 1 − level/2
(Clopper-Pearson for rates, else normal by the standard errors), and the rest of the level is left
for the rewards. Many subjects share the errors of their map, so their joint test uses intervals
for Gaussian rewards as well, which hold for all θ together.

Subjects are pooled by a mixture of products, over shares s of subjects whom the map does not
describe: the mean over s = 1, 1/2, ..., 1/1024 of the product over subjects of (1 − s) + s · E.
Given the map, rewards of different subjects are independent, so each product has a mean of at most
1 for a right map, at every time for given subjects; the mean of products has, too. A plain product
would be buried by subjects of whom little is known, and a plain mean would be slow if the map is
wrong for all.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from structuredbandits._compiled import inline, kernel
from structuredbandits.confidence.evidence import Evidence, evidence_of
from structuredbandits.confidence.sorted_tables import gains
from structuredbandits.structure import FloatArray, Structure

#: The probability with which a right structure is ever called refuted, at most.
LEVEL = 0.01
_GAUSSIAN, _BERNOULLI, _BOUNDED = range(3)
_BETS = 7
# Shares of subjects whom a wrong map does not describe: 1, 1/2, 1/4, ...
_SHARES = 11


class RefutationTest(NamedTuple):
    """What the test of a structure reads, each arm's values side by side.

    A reward is (reward − offset) · factor in the units of the test: σ for Gaussian rewards, the
    distance of the limits for others.
    """

    family: int
    lower: np.ndarray  # (arms, parameters) means in the units of the test
    upper: np.ndarray  # (arms, parameters)
    errors: np.ndarray  # (arms, parameters) squared standard errors of Gaussian means
    offset: np.ndarray  # (arms,)
    factor: np.ndarray  # (arms,)
    limit: float  # the log evidence that refutes


def level_of(alpha: float) -> float:
    """The level of a test of strictness alpha, LEVEL^alpha, and never 0."""
    return max(float(LEVEL**alpha), 1e-300)


@lru_cache(maxsize=8)
def refutation_test(
    structure: Structure, level: float = LEVEL, joint: bool = False
) -> RefutationTest:
    """Return the test of a structure at a level.

    Parameters
    ----------
    structure
        Its rewards are maximised, that is, costs are negated.
    level
        The probability with which a right structure is ever refuted, at most.
    joint
        Whether the intervals of a learned map hold for all θ together instead of one, which many
        subjects with different θ need.
    """
    rewards, errors = structure.rewards, structure.standard_errors
    n_arms = structure.n_arms
    learned = errors is not None and bool((errors > 0).any())
    by_interval = learned and (joint or rewards.limited)
    if rewards.limited:
        low, high = rewards.scaled(structure.lower), rewards.scaled(structure.upper)
        width = np.array(rewards.high) - np.array(rewards.low)
        offset = structure.sign * np.array(rewards.low)
        factor = structure.sign / width
    else:
        bounds = gains(structure)
        low, high = bounds[0] / structure.sigma, bounds[-1] / structure.sigma
        width, offset, factor = structure.sigma, np.zeros(n_arms), 1.0 / structure.sigma
    own_errors = np.zeros(low.shape)
    if errors is not None and learned and not by_interval:
        own_errors = np.square(errors / width)
    if errors is not None and by_interval:
        cells = n_arms * (structure.n_parameters if joint else 1)
        low, high = _widened(structure, low, high, errors / width, 0.25 * level / cells)
    if rewards.limited:
        low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    family = _BERNOULLI if rewards.is_bernoulli else _BOUNDED if rewards.limited else _GAUSSIAN
    return RefutationTest(
        family,
        np.ascontiguousarray(low.T),
        np.ascontiguousarray(high.T),
        np.ascontiguousarray(own_errors.T),
        offset,
        factor,
        -math.log(0.5 * level if by_interval else level),
    )


def _widened(
    structure: Structure, low: FloatArray, high: FloatArray, errors: FloatArray, tail: float
) -> tuple[FloatArray, FloatArray]:
    """Return intervals that miss the true mean with probability at most ``tail`` on each side."""
    from scipy.special import betaincinv, ndtri

    if not structure.rewards.is_bernoulli:
        reach = -ndtri(tail) * errors
        return low - reach, high + reach
    rates = np.clip(0.5 * (low + high), 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        implied = np.where(errors > 0, rates * (1.0 - rates) / errors**2, np.inf)
        counts = implied if structure.counts is None else structure.counts
        won, lost = counts * rates, counts * (1.0 - rates)
        below = np.where(won > 0, betaincinv(won, lost + 1.0, tail), 0.0)
        above = np.where(lost > 0, betaincinv(won + 1.0, lost, 1.0 - tail), 1.0)
    known = errors == 0.0
    return (
        np.where(known, low, np.minimum(low, below)),
        np.where(known, high, np.maximum(high, above)),
    )


@inline
def _gaussian(count: float, total: float, lower: float, upper: float, error: float) -> float:
    """The log of E for an arm with Gaussian rewards of standard deviation 1."""
    mean, variance = total / count, error + 1.0 / count
    distance = max(lower - mean, mean - upper, 0.0)
    gain = distance * distance / (variance * (variance + 1.0))
    return 0.5 * (gain - math.log1p(1.0 / variance))


@inline
def _bernoulli(count: float, total: float, mixture: float, lower: float, upper: float) -> float:
    """The log of E for an arm with rewards 0 and 1; ``mixture`` is the log of the numerator."""
    rate = min(max(total / count, lower), upper)
    result, lost = mixture, count - total
    if total > 0.0:
        result -= total * math.log(rate) if rate > 0.0 else -math.inf
    if lost > 0.0:
        result -= lost * math.log1p(-rate) if rate < 1.0 else -math.inf
    return result


@inline
def _bets(count: float, total: float, squares: float, mean: float) -> float:
    """The log of the capital of bets that rewards between 0 and 1 have a mean above ``mean``."""
    gain = total - count * mean
    if mean <= 0.0:
        return math.inf if total > 0.0 else 0.0
    gain /= mean
    spread = max(squares - 2.0 * mean * total + count * mean * mean, 0.0) / (mean * mean)
    best, bet = -math.inf, 0.5
    for _ in range(_BETS):
        best = max(best, bet * gain + (math.log1p(-bet) + bet) * spread)
        bet *= 0.5
    return best - math.log(2.0 * _BETS)


@inline
def fill_evidence(test: RefutationTest, row: np.ndarray, evidence: Evidence, arm: int) -> None:
    """Write the log evidence of one arm's rewards against each θ: (parameters,)."""
    count, n_arms = evidence.counts[arm], test.offset.size
    if count == 0.0:
        row[:] = 0.0
        return
    offset, factor = test.offset[arm], test.factor[arm]
    total = (evidence.sums[arm] - count * offset) * factor
    squares = evidence.squares[arm] - offset * (2.0 * evidence.sums[arm] - count * offset)
    squares *= factor * factor
    lower, upper, errors = test.lower[arm], test.upper[arm], test.errors[arm]
    mixture = 0.0
    if test.family != _GAUSSIAN:
        total = min(max(total, 0.0), count)  # up to rounding
    if test.family == _BERNOULLI:
        mixture = math.lgamma(total + 0.5) + math.lgamma(count - total + 0.5)
        mixture -= math.lgamma(count + 1.0) + math.log(math.pi)
    least = math.log1p(-1.0 / n_arms) if n_arms > 1 else -math.inf
    for parameter in range(row.size):
        low, high = lower[parameter], upper[parameter]
        if test.family == _GAUSSIAN:
            value = _gaussian(count, total, low, high, errors[parameter])
        elif test.family == _BERNOULLI:
            value = _bernoulli(count, total, mixture, low, high)
        else:
            above = _bets(count, total, squares, high)
            below = _bets(count, count - total, max(squares - 2.0 * total + count, 0.0), 1.0 - low)
            value = max(above, below)
        row[parameter] = max(least, value - math.log(n_arms))


@kernel
def _least_evidence(test: RefutationTest, block: np.ndarray) -> float:
    evidence, totals = evidence_of(block), np.zeros(test.lower.shape[1])
    row = np.empty(totals.size)
    for arm in range(test.offset.size):
        fill_evidence(test, row, evidence, arm)
        totals += row
    return float(totals.min())


def least_evidence(test: RefutationTest, block: np.ndarray) -> float:
    """Return the log of the smallest evidence against any θ, from the evidence block of a run.

    Parameters
    ----------
    test
        Of the structure.
    block : (rows, arms)

    Examples
    --------
    >>> from structuredbandits.confidence.evidence import new_block
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=0.5)
    >>> least_evidence(refutation_test(known), new_block(known.sigma))
    0.0
    """
    return float(_least_evidence(test, block))


def pooled_evidence(logs: FloatArray) -> float:
    """Return the log of the pooled evidence of independent subjects.

    Parameters
    ----------
    logs : (subjects,)
        The log of each subject's smallest evidence against any θ, by a joint test.

    Examples
    --------
    >>> round(pooled_evidence(np.log([30.0] * 10)) / math.log(10), 1)
    13.7
    >>> pooled_evidence(np.log([0.1] * 100)) < 0
    True
    """
    if not len(logs):
        return 0.0
    products = [logs.sum()]
    for halvings in range(1, _SHARES):
        share = 0.5**halvings
        products.append(np.logaddexp(math.log1p(-share), math.log(share) + logs).sum())
    return float(np.logaddexp.reduce(products) - math.log(_SHARES))
