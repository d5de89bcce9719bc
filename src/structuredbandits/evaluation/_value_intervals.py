"""Confidence intervals of means from a log, clustered by subject."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from structuredbandits.errors import InvalidInput
from structuredbandits.structure import FloatArray

IntervalRule = Literal["auto", "normal", "betting", "bootstrap"]
_CHUNK = 1 << 22


class Ratio(NamedTuple):
    """A ratio of two sums over subjects, with its interval."""

    value: float
    low: float
    high: float
    standard_error: float


def ratio_of_sums(
    numerators: FloatArray,
    denominators: FloatArray,
    clusters: np.ndarray,
    *,
    level: float,
    rule: IntervalRule = "normal",
    resamples: int = 2000,
    seed: int = 0,
) -> Ratio:
    """Estimate E[numerator] / E[denominator] from clustered decisions.

    The standard error is that of the linearised ratio (the delta method), summed by cluster; the
    interval uses Student's quantile with (clusters − 1) degrees of freedom. The bootstrap draws
    whole clusters with replacement.

    Parameters
    ----------
    numerators, denominators
        (decisions,).
    clusters
        (decisions,): the cluster of each decision, numbered from 0.

    Examples
    --------
    >>> ratio = ratio_of_sums(np.array([1.0, 2.0, 6.0]), np.ones(3), np.arange(3), level=0.95)
    >>> round(ratio.value, 3), round(ratio.standard_error, 3)
    (3.0, 1.528)
    """
    top = np.asarray(np.bincount(clusters, weights=numerators), dtype=float)
    bottom = np.asarray(np.bincount(clusters, weights=denominators), dtype=float)
    number, total = len(top), float(bottom.sum())
    if number < 2:
        raise InvalidInput(
            "the log has only one subject, which gives no interval; log at least two, or leave out "
            "the column of subjects if the decisions are independent."
        )
    if total <= 0.0:
        raise InvalidInput(
            "the policy never chooses an arm that the log shows, so its value cannot be estimated; "
            "log with a policy that tries every arm."
        )
    value = float(top.sum()) / total
    # A denominator that is constant by design must not count as random: (x − value · d).
    influence = top - value * bottom
    spread = float(np.square(influence - influence.mean()).sum()) * number / (number - 1)
    error = float(np.sqrt(spread)) / total
    if rule == "bootstrap":
        low, high = _bootstrap(top, bottom, level, resamples, seed)
        return Ratio(value, low, high, error)
    from scipy.special import stdtrit

    reach = float(stdtrit(number - 1, 0.5 + 0.5 * level)) * error
    return Ratio(value, value - reach, value + reach, error)


def _bootstrap(
    top: FloatArray, bottom: FloatArray, level: float, resamples: int, seed: int
) -> tuple[float, float]:
    """Return the percentile interval of the ratio over resampled clusters."""
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    number = len(top)
    drawn: list[FloatArray] = []
    each = max(1, min(resamples, _CHUNK // number))
    for start in range(0, resamples, each):
        picks = generator.integers(number, size=(min(each, resamples - start), number))
        tops, bottoms = top[picks].sum(axis=1), bottom[picks].sum(axis=1)
        possible = bottoms > 0
        drawn.append(tops[possible] / bottoms[possible])
    tail = 0.5 - 0.5 * level
    low, high = np.quantile(np.concatenate(drawn), [tail, 1.0 - tail])
    return float(low), float(high)


def effective_size(weights: FloatArray) -> float:
    """Return the effective sample size: the number of equally weighted decisions (Kish).

    Examples
    --------
    >>> effective_size(np.array([1.0, 1.0])), effective_size(np.array([2.0, 0.0]))
    (2.0, 1.0)
    """
    squares = float(np.square(weights).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0
