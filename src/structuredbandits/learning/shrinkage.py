"""Empirical Bayes: how much the segments really differ in an arm, and what that does to a mean.

This module knows one arm's means and their variances. It must not know logs or structures.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structuredbandits.structure.theta import FloatArray

_STEPS = 200


class Centre(NamedTuple):
    """What the segments have in common in one arm."""

    mean: float
    """The precision-weighted mean over the segments."""
    variance: float
    """The squared standard error of that mean."""
    between: float
    """τ²: the variance of the true means between segments, without the noise of sampling."""


def centre_of(means: FloatArray, variances: FloatArray) -> Centre:
    """Estimate τ² by the rule of Paule and Mandel, and with it the common mean.

    τ² is the value at which the weighted squares Σ (y − m)² / (τ² + v) are as large as they should
    be on average, one less than the number of segments; 0 if they are smaller even then.

    Parameters
    ----------
    means, variances
        (segments,): estimates of one arm, and their sampling variances, above 0.

    References
    ----------
    R. C. Paule and J. Mandel, "Consensus values and weighting factors", Journal of Research of
    the National Bureau of Standards 87(5), 1982.

    Examples
    --------
    >>> centre = centre_of(np.array([1.0, 3.0]), np.array([0.5, 0.5]))
    >>> round(centre.mean, 6), round(centre.between, 6)
    (2.0, 1.5)
    """
    between = 0.0
    if len(means) > 1 and _excess(0.0, means, variances) > 0:
        # The excess falls with τ²; at this upper end it is not positive.
        low, high = 0.0, float(np.square(means - means.mean()).sum()) / (len(means) - 1)
        while _excess(high, means, variances) > 0:
            high *= 2.0
        for _ in range(_STEPS):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            if _excess(middle, means, variances) > 0:
                low = middle
            else:
                high = middle
        between = 0.5 * (low + high)
    weights = 1.0 / (between + variances)
    total = float(weights.sum())
    return Centre(float(weights @ means) / total, 1.0 / total, between)


def _excess(between: float, means: FloatArray, variances: FloatArray) -> float:
    weights = 1.0 / (between + variances)
    mean = float(weights @ means) / float(weights.sum())
    return float(weights @ np.square(means - mean)) - (len(means) - 1)


def shrink(
    means: FloatArray, variances: FloatArray, centre: Centre
) -> tuple[FloatArray, FloatArray]:
    """Move means towards the centre as far as their noise warrants.

    Parameters
    ----------
    means, variances
        (segments,); a variance of infinity stands for a segment without rewards.

    Returns
    -------
    tuple
        (segments,) posterior means and standard errors; these include that the centre is
        estimated, too.
    """
    trust = np.where(np.isinf(variances), 0.0, centre.between / (centre.between + variances))
    own = np.where(np.isinf(variances), centre.mean, means)
    moved = centre.mean + trust * (own - centre.mean)
    noise = np.where(np.isinf(variances), centre.between, trust * np.nan_to_num(variances))
    spread = noise + np.square(1.0 - trust) * centre.variance
    return moved, np.sqrt(spread)


def typical_error(centre: Centre) -> float:
    """Return the standard error of a segment of which only the centre is known."""
    return math.sqrt(centre.between + centre.variance)
