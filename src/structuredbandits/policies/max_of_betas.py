"""The probability that each of several independent Beta draws is the largest.

Unlike normals, Beta distributions are not shifted and scaled copies of one another, so there is no
common table: the distribution functions are evaluated on a grid.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_POINTS = 4001


def _largest(grid: np.ndarray, distribution: np.ndarray) -> np.ndarray:
    """Shares of being largest: the integral of the others' distribution against each one's.

    Parameters
    ----------
    grid : (points,) array
    distribution : (draws, points) array
        Distribution function of each draw on the grid, from 0 to 1.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(distribution)
    total = logs.sum(axis=0)
    # log of the product over the others; where the own factor is 0 its mass is 0 as well
    others = np.exp(
        np.where(np.isfinite(logs), total - np.where(np.isfinite(logs), logs, 0), -np.inf)
    )
    masses = np.diff(distribution, axis=1)
    shares = (masses * 0.5 * (others[:, 1:] + others[:, :-1])).sum(axis=1)
    return np.asarray(shares / shares.sum())


def largest_of_betas(
    successes: np.ndarray,
    failures: np.ndarray,
    offsets: np.ndarray | float = 0.0,
    ranges: np.ndarray | float = 1.0,
) -> np.ndarray:
    """Probability that each offset + range · Beta(successes, failures) draw is the largest.

    Parameters
    ----------
    successes, failures : (draws,) arrays
    offsets, ranges : (draws,) arrays or numbers

    Examples
    --------
    >>> largest_of_betas(np.array([1.0, 1.0]), np.array([1.0, 1.0])).round(6).tolist()
    [0.5, 0.5]
    """
    from scipy.special import betainc

    total = successes + failures
    means = successes / total
    deviations = np.sqrt(means * (1.0 - means) / (total + 1.0))
    starts, widths = (np.broadcast_to(row, means.shape)[:, None] for row in (offsets, ranges))

    def distribution(grid: np.ndarray) -> np.ndarray:
        rates = np.clip((grid - starts) / widths, 0.0, 1.0)
        return np.asarray(betainc(successes[:, None], failures[:, None], rates))

    # Where scales differ, a density may begin or end inside the range of another draw.
    same = bool((starts == starts[0]).all() and (widths == widths[0]).all())
    edges = np.empty(0) if same else np.concatenate([starts, starts + widths])[:, 0]
    return _on_common_grid(offsets + ranges * means, ranges * deviations, distribution, edges)


def _on_common_grid(
    means: np.ndarray,
    deviations: np.ndarray,
    distribution: Callable[[np.ndarray], np.ndarray],
    edges: np.ndarray,
) -> np.ndarray:
    """Integrate on the union of grids that are fine around each draw, and the ends of all."""
    offsets = np.linspace(-9.0, 9.0, _POINTS // max(1, min(len(means), 16)) + 200)
    # Only draws that can be the largest shape the integrand: the rest need no grid of their own.
    floor = (means - 9.0 * deviations).max()
    matters = means + 9.0 * deviations >= floor
    inner = means[matters, None] + deviations[matters, None] * offsets
    grid = np.unique(np.concatenate([inner.ravel(), edges]))
    grid = np.concatenate([[-np.inf], grid, [np.inf]])
    values = distribution(grid[1:-1])
    before, after = np.zeros((len(means), 1)), np.ones((len(means), 1))
    return _largest(grid, np.concatenate([before, values, after], axis=1))
