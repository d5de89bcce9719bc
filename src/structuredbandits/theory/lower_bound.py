"""The asymptotic lower bound on regret, and the linear program that computes it.

For every policy that is good at all θ, regret grows at least like L(θ) · log T.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.structure import FloatArray, Structure
from structuredbandits.theory._competitive_arms import landscape_of
from structuredbandits.theory._landscape import Landscape, Rivals, Truth

# A rival counts as distinguished if the pulls give this share of the required information.
_ENOUGH = 1 - 1e-7
# Each step adds the rivals for which the last pulls are least informative; few are needed.
_MOST_STEPS = 500


class LowerBound(NamedTuple):
    """The smallest regret per log T, and the pulls that attain it."""

    value: float
    """L: regret is at least L · log T for large T. 0 if bounded regret is possible."""
    rates: FloatArray
    """(arms,): each arm that is not the best is pulled about rates · log T times."""


def lower_bound(structure: Structure, theta: object) -> LowerBound:
    """Return the lower bound on the regret of every good policy at a θ.

    Parameters
    ----------
    structure
        The structure.
    theta
        The hidden parameter, on or off the grid.

    Notes
    -----
    L = min Σ η_k Δ_k such that Σ η_k D(θ, λ, k) ≥ 1 for all rivals λ: those at which the best
    arm has the same mean as at θ, but another arm is better. D is the divergence of
    the rewards: Bernoulli, or Gaussian (bounded ones have their estimated standard deviation).
    Where several arms are the best at θ, a rival agrees with θ on all of them.
    With bounds the means at θ are the middle of the bounds, and λ may be anything within the
    bounds.

    Examples
    --------
    >>> known = Structure.from_table([[1.0, 0.0], [1.0, 2.0]], sigma=1.0)
    >>> lower_bound(known, 0)
    LowerBound(value=0.5, rates=array([0. , 0.5]))
    """
    landscape = landscape_of(structure)
    return lower_bound_at(landscape, landscape.truth(theta))


def lower_bound_at(landscape: Landscape, truth: Truth) -> LowerBound:
    """Return the lower bound, given the landscape of the structure."""
    rates = np.zeros(len(truth.means))
    rivals = landscape.rivals(truth)
    if rivals is None:
        return LowerBound(0.0, rates)
    worse = np.flatnonzero(~truth.optimal)
    gaps = truth.best - truth.means[worse]
    rates[worse] = _cheapest_rates(rivals, worse, gaps, len(rates))
    return LowerBound(float(rates[worse] @ gaps), rates)


def _cheapest_rates(
    rivals: Rivals, worse: np.ndarray[tuple[int], np.dtype[np.intp]], gaps: FloatArray, arms: int
) -> FloatArray:
    """Solve the program by adding the most violated constraints step by step."""
    full = np.zeros(arms)
    full[worse] = 1.0
    rows = rivals.hardest(full)[:, worse]
    # In these units all numbers of the program are near 1 for any σ and rewards.
    unit = float(rows.max())
    rates = np.zeros(len(worse))
    for _ in range(_MOST_STEPS):
        rates = _solve(rows / unit, gaps / gaps.max()) / unit
        full[worse] = rates
        hardest = rivals.hardest(full)[:, worse]
        least = float((hardest @ rates)[0])
        if least >= _ENOUGH:
            break
        rows = np.concatenate([rows, hardest[hardest @ rates < _ENOUGH]])
    return rates


def _solve(rows: FloatArray, prices: FloatArray) -> FloatArray:
    from scipy.optimize import linprog

    done = linprog(prices, A_ub=-rows, b_ub=-np.ones(len(rows)), bounds=(0, None), method="highs")
    if done.x is None:
        raise StructuredBanditsError(
            f"the linear program of the lower bound could not be solved ({done.message}); rescale "
            "the means."
        )
    return np.asarray(done.x)
