"""Rates of a learned map as Beta distributions, each arm's prior fitted across its segments.

A cell with few rewards says little about its rate. What is known of it comes from the other
segments of the arm: given the arm, the rates of segments are Beta(c m, c (1 - m)), with m their
common mean and c how alike they are, and the rewards of a cell are binomial. m and c are fitted by
the marginal likelihood of all cells of the arm. A uniform prior, Beta(1, 1), would make arms that
were rarely shown look good: rates of clicks are far below its mean of 1/2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structuredbandits.confidence.divergence import limits_of
from structuredbandits.confidence.sorted_tables import gains

if TYPE_CHECKING:
    from structuredbandits.structure import Structure

# Values of r = 1 / sqrt(c + 1) that are compared: the deviation of rates between segments, in units
# of that of a single reward.
_POINTS = 100
_LEAST_SPREAD, _LARGEST_SPREAD = 1e-3, 0.7
# Below exp(-25) of its maximum a density has no visible effect on a mean.
_NEGLIGIBLE = 25.0
# More segments say hardly more about how alike they are.
_MOST_SEGMENTS = 1000
# The smallest and the largest number of rewards that a Beta distribution may stand for.
_FEWEST, _MOST = 0.1, 1e9
# Counts times means of plain averages of 0 and 1 are whole numbers up to rounding.
_WHOLE = 1e-6


class BetaCells(NamedTuple):
    """A Beta distribution of the rate at each θ: (arms, parameters) each.

    Rates are those of gains: costs are negated. Infinite numbers stand for a rate that is known.
    """

    means: np.ndarray
    variances: np.ndarray
    wins: np.ndarray
    losses: np.ndarray


def beta_cells(structure: Structure, doubt: float = 1.0) -> BetaCells:
    """The distributions of a structure of Bernoulli rewards.

    Counts with plain averages are fitted. Other means are matched by their standard error. Without
    standard errors means are exact, or as uncertain as a uniform distribution between bounds.

    Parameters
    ----------
    doubt
        Factor on the standard deviations.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> rates, counts = [[0.1, 0.0], [0.12, 0.04], [0.08, 0.02], [1.0, 0.0]], [50, 50, 50, 1]
    >>> clicks = Structure.from_table(rates, rewards="bernoulli", counts=np.outer(counts, [1, 1]),
    ...     standard_errors=0.3 / np.sqrt(np.outer(counts, [1, 1])))
    >>> beta_cells(clicks).means.round(2)
    array([[0.11, 0.11, 0.1 , 0.17], [0.01, 0.03, 0.02, 0.02]])
    """
    limits, bounds = limits_of(structure), gains(structure)
    assert limits is not None
    rates = np.clip((0.5 * (bounds[0] + bounds[-1]) - limits.floors) / limits.ranges, 0.0, 1.0)
    means, variances = rates, np.zeros(rates.shape)
    if structure.standard_errors is not None:
        variances = np.square(structure.standard_errors / limits.ranges)
        if structure.counts is not None and _plain(structure, rates):
            means, variances = _fitted(rates, structure.counts)
    width = (bounds[-1] - bounds[0]) / limits.ranges
    variances = np.minimum(doubt * doubt * (variances + width * width / 12.0), 0.2)
    inside = np.clip(means, variances, 1.0 - variances)
    known = variances == 0.0
    with np.errstate(divide="ignore"):
        size = np.clip(inside * (1.0 - inside) / variances - 1.0, _FEWEST, _MOST)
    wins = np.where(known, np.inf, inside * size)
    losses = np.where(known, np.inf, (1.0 - inside) * size)
    means = np.where(known, rates, inside)
    variances = np.where(known, 0.0, inside * (1.0 - inside) / (size + 1.0))
    return BetaCells(*(np.ascontiguousarray(a.T) for a in (means, variances, wins, losses)))


def _plain(structure: Structure, rates: np.ndarray) -> bool:
    """Whether means are plain averages of their counts of 0 and 1."""
    from structuredbandits.policies.structured.hierarchical_model import implied_variance

    assert structure.counts is not None
    won = structure.counts * rates
    whole = bool((np.abs(won - np.round(won)) <= _WHOLE * np.maximum(won, 1.0)).all())
    return structure.exact and (whole or implied_variance(structure) is not None)


def _fitted(rates: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Posterior means and variances of all cells: (parameters, arms) each."""
    overall = float(((rates * counts).sum() + 0.5) / (counts.sum() + 1.0))
    means, variances = np.empty(rates.shape), np.empty(rates.shape)
    for arm in range(rates.shape[1]):
        won = rates[:, arm] * counts[:, arm]
        means[:, arm], variances[:, arm] = fit_arm(won, counts[:, arm], overall)
    return means, variances


def fit_arm(won: np.ndarray, counts: np.ndarray, overall: float) -> tuple[np.ndarray, np.ndarray]:
    """Posterior mean and variance of the rate in each segment of one arm: (segments,) each.

    The common mean m has the weight of one reward at ``overall``, the rate of all arms; how alike
    segments are is averaged over its posterior, since a single estimate is often "equal", and rates
    fitted with it would appear to be exact.

    Parameters
    ----------
    won, counts : (segments,)
        Successes and rewards.
    overall
        The rate of all arms together.

    Examples
    --------
    >>> means, variances = fit_arm(np.array([0.0, 2.0, 40.0]), np.array([1.0, 40.0, 800.0]), 0.05)
    >>> means.round(3)
    array([0.047, 0.05 , 0.05 ])
    """
    some = np.unique(np.linspace(0, len(won) - 1, min(len(won), _MOST_SEGMENTS)).astype(int))
    spread = np.linspace(_LEAST_SPREAD, _LARGEST_SPREAD, _POINTS)
    scores = _scores(spread, won[some], counts[some], overall)
    likely = np.flatnonzero(scores > scores.max() - _NEGLIGIBLE)
    # A second, finer grid where the density is: with many segments it is narrow.
    low, high = spread[max(likely[0] - 1, 0)], spread[min(likely[-1] + 1, _POINTS - 1)]
    spread = np.linspace(low, high, _POINTS)
    scores = _scores(spread, won[some], counts[some], overall)
    weights = np.exp(scores - scores.max())
    weights[[0, -1]] *= 0.5  # trapezoidal rule
    weights /= weights.sum()
    alike, common, uncertainty = _common_mean(spread, won, counts, overall)
    total = alike + counts
    given = (alike * common + won) / total
    own = given * (1.0 - given) / (total + 1.0) + np.square(alike / total) * uncertainty
    means = weights @ given
    return means, weights @ (own + np.square(given - means))


def _common_mean(
    spread: np.ndarray, won: np.ndarray, counts: np.ndarray, overall: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """c, the common mean given c, and its variance: (points, 1) each."""
    alike = (1.0 / np.square(spread) - 1.0)[:, np.newaxis]
    share = (alike + 1.0) / (alike + counts)  # of a reward of a large cell that counts
    size = (share * counts).sum(axis=1, keepdims=True) + 1.0
    common = ((share * won).sum(axis=1, keepdims=True) + overall) / size
    return alike, common, common * (1.0 - common) / size


def _scores(spread: np.ndarray, won: np.ndarray, counts: np.ndarray, overall: float) -> np.ndarray:
    """Log marginal likelihood of each spread, the common mean integrated out: (points,)."""
    from scipy.special import betaln

    alike, common, uncertainty = _common_mean(spread, won, counts, overall)
    a, b = alike * common, alike * (1.0 - common)
    cells = betaln(a + won, b + counts - won) - betaln(a, b)
    return np.asarray(cells.sum(axis=1) + 0.5 * np.log(uncertainty[:, 0]))
