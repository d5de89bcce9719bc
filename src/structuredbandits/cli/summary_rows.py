"""The rows of the table of `simulate`: final regret, its error, and its share of the best base."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structuredbandits.policies.registry import make_algorithm
from structuredbandits.simulation import Results


class Row(NamedTuple):
    """One policy at one θ."""

    policy: str
    theta: Any
    regret: float
    standard_error: float
    share_of_best_base: float
    """NaN if no base policy was simulated, or if it has no regret."""
    median: float
    worst: float
    reward: float
    empty_rounds: float


def summary_rows(results: Results) -> list[list[Row]]:
    """The rows of each θ, in the order of the policies."""
    final = results.regret[..., -1]
    rewards = results.reward[..., -1]
    return [
        _rows_at(theta, results.policies, final[:, j], rewards[:, j], results.empty_rounds[:, j])
        for j, theta in enumerate(results.thetas)
    ]


def mean_rows(results: Results) -> list[Row]:
    """The rows of the mean over all θ; the error accounts for the shared random numbers."""
    return _rows_at(
        None,
        results.policies,
        results.regret[..., -1].mean(axis=1),
        results.reward[..., -1].mean(axis=1),
        results.empty_rounds.mean(axis=1),
    )


def _rows_at(
    theta: Any,
    policies: tuple[str, ...],
    regret: np.ndarray,  # (policies, runs)
    reward: np.ndarray,  # (policies, runs)
    empty: np.ndarray,  # (policies, runs)
) -> list[Row]:
    means = regret.mean(axis=1)
    base = [i for i, policy in enumerate(policies) if make_algorithm(policy).classical]
    best = means[base].min() if base else math.nan
    runs = regret.shape[1]
    return [
        Row(
            policy,
            theta,
            float(means[i]),
            float(regret[i].std(ddof=1) / math.sqrt(runs)) if runs > 1 else math.nan,
            float(means[i] / best) if best > 0 else math.nan,
            float(np.median(regret[i])),
            float(regret[i].max()),
            float(reward[i].mean()),
            float(empty[i].mean()),
        )
        for i, policy in enumerate(policies)
    ]


def number_with_error(value: float, error: float) -> str:
    """A mean with its standard error, with as many digits as are significant.

    Examples
    --------
    >>> number_with_error(1815.43, 4.42), number_with_error(12.346, 0.0421)
    ('1,815 ± 4', '12.35 ± 0.04')
    >>> number_with_error(12.346, math.nan)
    '12.3'
    """
    if not math.isfinite(error):
        return f"{value:,.{_digits(abs(value) / 100)}f}"
    digits = _digits(error if error > 0 else abs(value) / 100)
    return f"{value:,.{digits}f} ± {error:,.{digits}f}"


def _digits(size: float) -> int:
    """Digits after the decimal point that show the first significant digit of this size."""
    if size <= 0 or size >= 1:
        return 0
    return min(-math.floor(math.log10(size)), 12)
