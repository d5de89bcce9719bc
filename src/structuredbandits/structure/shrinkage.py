"""Shrinkage of noisy means, by the spread of an arm's true means between segments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structuredbandits.structure.parameters import FloatArray

_POINTS = 200
# Below exp(-25) of its maximum a density has no visible effect on a mean.
_NEGLIGIBLE = 25.0
# The largest spread considered, in standard deviations of the observed means.
_WIDEST = 5.0


class Spread(NamedTuple):
    """The posterior of τ, the standard deviation of an arm's true means between segments.

    A single estimate would not do: with few or noisy segments it is often 0, and the means shrunk
    with it would appear to be exact.
    """

    tau: FloatArray
    """(points,): possible values."""
    weights: FloatArray
    """(points,): their posterior probabilities."""
    centres: FloatArray
    """(points,): the mean over all segments, given τ."""
    variances: FloatArray
    """(points,): the squared standard error of that mean."""

    @property
    def mean(self) -> float:
        """The posterior mean of τ."""
        return float(self.weights @ self.tau)


def spread_of(means: FloatArray, variances: FloatArray) -> Spread:
    """Return the posterior of τ from the means of the segments, under a uniform prior.

    Given τ, the means are N(m, τ² + v) with one m for all segments, which has a flat prior and is
    integrated out.

    Parameters
    ----------
    means, variances
        (segments,): estimates of one arm, and their sampling variances, above 0.

    References
    ----------
    A. Gelman, "Prior distributions for variance parameters in hierarchical models", Bayesian
    Analysis 1(3), 2006, for the uniform prior on τ.

    Examples
    --------
    >>> alike = spread_of(np.array([1.0, 1.1, 0.9, 1.0]), np.full(4, 1.0))
    >>> different = spread_of(np.array([1.0, 9.0, -7.0, 1.0]), np.full(4, 1.0))
    >>> bool(alike.mean < 2.0 < different.mean)
    True
    """
    widest = _WIDEST * float(np.sqrt(np.square(means - means.mean()).mean() + variances.mean()))
    grid = np.linspace(0.0, widest, _POINTS)
    scores, *_ = _log_density(grid, means, variances)
    likely = np.flatnonzero(scores > scores.max() - _NEGLIGIBLE)
    # A second, finer grid where the density is: with many segments it is narrow.
    low = grid[max(int(likely[0]) - 1, 0)]
    high = grid[min(int(likely[-1]) + 1, _POINTS - 1)]
    grid = np.linspace(low, high, _POINTS)
    scores, centres, spreads = _log_density(grid, means, variances)
    weights = np.exp(scores - scores.max())
    weights[[0, -1]] *= 0.5  # trapezoidal rule
    return Spread(grid, weights / weights.sum(), centres, spreads)


def _log_density(
    tau: FloatArray, means: FloatArray, variances: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the log density of each τ, and the centre and its variance given τ: (points,)."""
    totals = np.square(tau)[:, np.newaxis] + variances
    precision = (1.0 / totals).sum(axis=1)
    # Relative to a rough centre, so that a large common offset costs no digits.
    offset = float(means.mean())
    centres = ((means - offset) / totals).sum(axis=1) / precision
    squares = (np.square(means - offset - centres[:, np.newaxis]) / totals).sum(axis=1)
    scores = -0.5 * (np.log(totals).sum(axis=1) + np.log(precision) + squares)
    return scores, offset + centres, 1.0 / precision


def shrink(means: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Move means towards the common mean of all segments, as far as their noise warrants.

    Parameters
    ----------
    means, variances
        (segments,): an infinite variance stands for a segment without rewards, which gets the
        common mean, with an error that includes how far segments differ. At least one is finite.

    Returns
    -------
    tuple
        (segments,) posterior means and standard deviations; these include the uncertainty of the
        common mean and of τ.

    Examples
    --------
    >>> means, errors = shrink(np.array([1.0, 3.0, 0.0]), np.array([0.5, 0.5, np.inf]))
    >>> means.round(3).tolist(), bool(errors[2] > errors[0])
    ([1.183, 2.817, 2.0], True)
    """
    seen = np.isfinite(variances)
    spread = spread_of(means[seen], variances[seen])
    squared = np.square(spread.tau)[:, np.newaxis]
    # All (points, segments): given τ, the mean is a mixture of the segment's own and the centre.
    known = np.where(seen, variances, 1.0)
    trust = np.where(seen, squared / (squared + known), 0.0)
    centres = spread.centres[:, np.newaxis]
    given = centres + trust * (np.where(seen, means, 0.0) - centres)
    own = np.where(seen, trust * known, squared)
    noise = own + np.square(1.0 - trust) * spread.variances[:, np.newaxis]
    moved = spread.weights @ given
    total = spread.weights @ (noise + np.square(given - moved))
    return moved, np.sqrt(total)
