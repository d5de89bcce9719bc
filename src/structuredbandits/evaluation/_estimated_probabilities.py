"""Probabilities of a log that has none, estimated from its own choices by cross-fitting.

Values from estimated probabilities are right only if the columns that are given explain why an arm
was shown. How wrong they may be otherwise is bounded by a sensitivity analysis: the odds of the
true probabilities are within a factor Γ of the estimated ones.

References
----------
Z. Tan, "A distributional approach for causal inference using propensity scores", JASA 101, 2006.
Q. Zhao, D. S. Small, B. B. Bhattacharya, "Sensitivity analysis for inverse probability weighting
estimators via the percentile bootstrap", JRSS B 81, 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structuredbandits.structure import FloatArray

#: The value of ``probability`` that asks for estimated probabilities.
ESTIMATE = "estimate"
#: The factors Γ for which bounds are reported.
FACTORS = (1.5, 2.0, 3.0)
_FOLDS = 5
# Decisions with the mean probabilities that are added to each cell of the context.
_SMOOTHING = 10.0


class SensitivityBounds(NamedTuple):
    """How far a value may be off if the odds of the estimated probabilities are wrong."""

    factor: float
    """The odds are wrong by at most this factor."""
    low: float
    high: float


def estimated_probabilities(
    chosen: np.ndarray,
    n_arms: int,
    subjects: np.ndarray,
    allowed: np.ndarray | None,
    columns: Sequence[np.ndarray],
    seed: int = 0,
) -> FloatArray:
    """Return (decisions,): the probability of the shown arm, from the choices for other subjects.

    Parameters
    ----------
    chosen, subjects : (decisions,)
        The arm that was shown, and the subject, numbered from 0.
    allowed : (decisions, arms) bool or None
        The arms that could be shown.
    columns
        (decisions,) each: what may explain the choice. Probabilities are smoothed shares of the
        decisions with the same values.

    Examples
    --------
    >>> chosen = np.array([0, 0, 0, 1] * 100)
    >>> found = estimated_probabilities(chosen, 2, np.arange(400), None, [])
    >>> bool(np.abs(found - np.where(chosen == 0, 0.75, 0.25)).max() < 0.05)
    True
    """
    import pandas as pd

    cells: np.ndarray = np.zeros(len(chosen), dtype=np.int64)
    if columns:
        frame = pd.DataFrame({str(k): np.asarray(column) for k, column in enumerate(columns)})
        groups = frame.groupby(list(frame.columns), dropna=False, sort=False)
        cells = groups.ngroup().to_numpy(dtype=np.int64)
    n_cells, n_subjects = int(cells.max()) + 1, int(subjects.max()) + 1
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    folds = generator.permutation(n_subjects)[subjects] % min(_FOLDS, n_subjects)
    found = np.empty(len(chosen))
    places = cells * n_arms + chosen
    for fold in range(int(folds.max()) + 1):
        inside = folds == fold
        others = ~inside if n_subjects > 1 else inside
        counts = np.bincount(places[others], minlength=n_cells * n_arms).reshape(n_cells, n_arms)
        overall = counts.sum(axis=0) + 1.0 / n_arms
        overall = overall / overall.sum()
        shares = (counts + _SMOOTHING * overall) / (counts.sum(axis=1, keepdims=True) + _SMOOTHING)
        own = shares[cells[inside], chosen[inside]]
        if allowed is not None:
            own = own / np.where(allowed[inside], shares[cells[inside]], 0.0).sum(axis=1)
        found[inside] = own
    return found


def sensitivity_bounds(
    rewards: FloatArray, shares: FloatArray, probabilities: FloatArray
) -> tuple[SensitivityBounds, ...]:
    """Return the smallest and the largest self-normalised value for each factor.

    Parameters
    ----------
    rewards, shares, probabilities : (decisions,)
        The reward, and the policy's and the estimated probability of the arm that was shown.

    Examples
    --------
    >>> half = np.full(2, 0.5)
    >>> bounds = sensitivity_bounds(np.array([0.0, 1.0]), half, half)
    >>> [tuple(round(number, 3) for number in one) for one in bounds]
    [(1.5, 0.4, 0.6), (2.0, 0.333, 0.667), (3.0, 0.25, 0.75)]
    """
    used = shares > 0.0
    order = np.argsort(rewards[used], kind="stable")
    r, share = rewards[used][order], shares[used][order]
    odds = 1.0 / probabilities[used][order] - 1.0
    return tuple(
        SensitivityBounds(
            factor,
            -_largest(
                -r[::-1],
                (share * (1.0 + odds / factor))[::-1],
                (share * (1.0 + odds * factor))[::-1],
            ),
            _largest(r, share * (1.0 + odds / factor), share * (1.0 + odds * factor)),
        )
        for factor in FACTORS
    )


def _largest(r: FloatArray, light: FloatArray, heavy: FloatArray) -> float:
    """Return the largest weighted mean of ascending r: light weights first, heavy ones from a k."""
    top = np.concatenate([[0.0], np.cumsum(light * r)])
    bottom = np.concatenate([[0.0], np.cumsum(light)])
    top_heavy = np.concatenate([[0.0], np.cumsum((heavy * r)[::-1])])[::-1]
    bottom_heavy = np.concatenate([[0.0], np.cumsum(heavy[::-1])])[::-1]
    return float(((top + top_heavy) / (bottom + bottom_heavy)).max())
