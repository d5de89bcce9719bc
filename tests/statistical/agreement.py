"""Statistical tests that two samples, or a sample and a number, agree.

Every function states an error rate: the probability that a correct program fails at a new seed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

#: One failure in ten thousand tests of a correct program; the seeds are fixed, so it stays green.
RATE = 1e-4


def z_of(first: ArrayLike, second: ArrayLike) -> float:
    """How many standard errors the means of two independent samples are apart."""
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    error = math.sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size)
    return float((a.mean() - b.mean()) / error)


def bound_on_z(rate: float = RATE) -> float:
    """The two-sided normal quantile that a correct program passes with the given rate."""
    return float(stats.norm.isf(rate / 2))


def assert_same_mean(
    first: ArrayLike, second: ArrayLike, *, visible: float = 0.1, rate: float = RATE
) -> None:
    """Two independent samples have one mean (two-sided z test).

    ``visible`` is the relative difference that the test must be able to detect: a sample that is
    too small or too variable for it also fails the test.
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    error = math.sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size)
    assert bound_on_z(rate) * error <= visible * abs(b.mean()), (
        f"the samples show differences above {bound_on_z(rate) * error / abs(b.mean()):.1%} only"
    )
    z = z_of(a, b)
    assert abs(z) < bound_on_z(rate), f"means {a.mean():.4g} and {b.mean():.4g}: z = {z:.1f}"


def assert_different_mean(first: ArrayLike, second: ArrayLike, *, rate: float = RATE) -> None:
    """`assert_same_mean` would reject these samples."""
    z = z_of(first, second)
    assert abs(z) > bound_on_z(rate), f"the difference is not visible: z = {z:.1f}"


def assert_smaller(first: ArrayLike, second: ArrayLike, *, rate: float = RATE) -> None:
    """The mean of paired differences is significantly below 0 (one-sided z test)."""
    difference = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    error = difference.std(ddof=1) / math.sqrt(difference.size)
    z = float(difference.mean() / error)
    assert z < -stats.norm.isf(rate), f"mean difference {difference.mean():.4g}: z = {z:.1f}"


def assert_share(hits: int, trials: int, share: float, *, rate: float = RATE) -> None:
    """The number of hits in the trials fits a probability (two-sided exact binomial test)."""
    p = float(stats.binomtest(hits, trials, share).pvalue)
    assert p > rate, f"{hits} of {trials} is {hits / trials:.4g}, not {share:.4g}: p = {p:.1e}"


def share_exceeds(hits: int, trials: int, bound: float, *, rate: float = RATE) -> bool:
    """Whether the probability of a hit is significantly above a bound (one-sided, exact)."""
    return bool(stats.binomtest(hits, trials, bound, alternative="greater").pvalue <= rate)


def assert_frequencies(
    counts: ArrayLike, shares: Sequence[float] | np.ndarray, *, rate: float = RATE
) -> None:
    """Counts fit shares (chi-square test); outcomes with share 0 must not occur.

    Outcomes with an expected count below 5 are merged, as the approximation requires.
    """
    seen, p = np.asarray(counts, dtype=float), np.asarray(shares, dtype=float)
    expected = seen.sum() * p
    assert not seen[p == 0].any(), f"{seen.tolist()} where some of {p.tolist()} are impossible"
    rare = expected < 5
    joined = [np.append(x[~rare], x[rare].sum()) for x in (seen, expected)]
    kept = joined[1] > 0
    if kept.sum() < 2:
        return
    observed, wanted = (x[kept] for x in joined)
    value = float(stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue)
    assert value > rate, f"{seen.tolist()} instead of {expected.round(1).tolist()}: p = {value:.1e}"


def as_shares(probabilities: Mapping[str, float]) -> np.ndarray:
    """The probabilities of a policy in the order of its arms, which must sum to 1."""
    shares = np.array(list(probabilities.values()))
    assert abs(shares.sum() - 1.0) < 1e-9, f"the probabilities sum to {shares.sum()!r}"
    return shares
