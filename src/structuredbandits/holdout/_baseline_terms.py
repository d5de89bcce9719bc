"""What the policy group's decisions tell about the baseline, by their logged probabilities.

In some of the policy group's decisions the arm was shown that the baseline would have shown.
Weighted by their probabilities they estimate the baseline's reward, in addition to the holdout
group. The two estimates are combined with the weight that makes the variance of the lift smallest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structuredbandits.errors import InvalidInput
from structuredbandits.evaluation.shared_parts import (
    fixed_target,
    has_lost_weight,
    influence_of,
    named_arms,
    read_probabilities,
    shares_of,
)
from structuredbandits.holdout._group_log import GroupLog
from structuredbandits.structure import FloatArray


class BaselineTerms(NamedTuple):
    """The difference of the groups' means of ``terms`` is the lift that uses all decisions."""

    terms: FloatArray
    """(decisions,)."""
    baseline: FloatArray
    """(decisions,): the part that estimates the baseline; its sign is that of a mean."""
    borrowed: float
    """The weight of the policy group's decisions in the estimate of the baseline."""


def baseline_terms(log: GroupLog, baseline: Any, arm: str, probability: str) -> BaselineTerms:
    """Return terms that combine both groups, for a baseline that does not learn.

    Doubly robust: q̄ + w (r − q), with the arms' mean rewards q as the model and w the ratio of the
    baseline's probability to the logged one.
    """
    labels = np.array([str(name).strip() for name in log.frame[arm].tolist()], dtype=object)
    names, chosen = np.unique(labels.astype(str), return_inverse=True)
    arms = tuple(sorted(set(names.tolist()) | set(named_arms(baseline))))
    chosen = np.array([arms.index(name) for name in names.tolist()])[chosen]
    shares = _shares(baseline, arms)
    weights = shares[chosen] / read_probabilities(log.frame[probability])
    return combine(log, weights, chosen, shares)


def combine(
    log: GroupLog, weights: FloatArray, chosen: np.ndarray, shares: FloatArray
) -> BaselineTerms:
    """Combine both groups.

    Parameters
    ----------
    weights, chosen
        (decisions,): the baseline's probability of the shown arm over the logged one, and the arm.
    shares
        (arms,): the baseline's probabilities.
    """
    treated = log.groups == 1
    plain = BaselineTerms(log.rewards, np.where(treated, 0.0, log.rewards), 0.0)
    ones = treated.astype(float)
    units = _sums(log.subjects, np.where(treated, weights, 0.0))
    sizes = _sums(log.subjects, ones)
    units, sizes = units[sizes > 0], sizes[sizes > 0]
    if units.sum() <= 0.0 or has_lost_weight(units, sizes, float(len(units))):
        return plain
    model = _arm_means(log, chosen, weights, len(shares))
    borrowed = float(shares @ model) + weights * (log.rewards - model[chosen])
    share = _best_share(log, borrowed)
    terms = np.where(treated, log.rewards - share * borrowed, (1.0 - share) * log.rewards)
    estimate = np.where(treated, share * borrowed, (1.0 - share) * log.rewards)
    return BaselineTerms(terms, estimate, share)


def _shares(baseline: Any, arms: tuple[str, ...]) -> FloatArray:
    if isinstance(baseline, str):
        found = fixed_target(baseline, arms)
        if found is None:
            raise InvalidInput(
                f"baseline = {baseline!r} is not a policy that shows fixed shares; give 'uniform', "
                "'always NAME', or a mapping from arms to probabilities."
            )
        return found.shares
    return shares_of(baseline, arms, "baseline")


def _arm_means(log: GroupLog, chosen: np.ndarray, weights: FloatArray, n_arms: int) -> FloatArray:
    """Return (arms,): mean rewards, weighted as the estimate weights them."""
    heavy = np.where(log.groups == 1, weights, 1.0)
    total = np.bincount(chosen, weights=heavy, minlength=n_arms)
    earned = np.bincount(chosen, weights=heavy * log.rewards, minlength=n_arms)
    overall = float(log.rewards.mean())
    return np.asarray(np.where(total > 0.0, earned / np.maximum(total, 1e-300), overall))


def _best_share(log: GroupLog, borrowed: FloatArray) -> float:
    """Return the weight of the borrowed estimate with the smallest variance of the difference."""
    treated = log.groups == 1

    own = clustered_variance(log, log.rewards, treated)
    other = clustered_variance(log, borrowed, treated)
    both = clustered_variance(log, log.rewards - borrowed, treated)
    held = clustered_variance(log, log.rewards, ~treated)
    covariance = 0.5 * (own + other - both)
    if not 0.0 < held + other < np.inf:
        return 0.0
    return float(np.clip((held + covariance) / (held + other), 0.0, 1.0))


def clustered_variance(log: GroupLog, values: FloatArray, rows: np.ndarray) -> float:
    """Return the variance of the mean of some rows' values, clustered by subject."""
    subjects, units = np.unique(log.subjects[rows], return_inverse=True)
    if len(subjects) < 2:
        return np.inf
    sizes = _sums(units, np.ones(len(units)))
    return influence_of(_sums(units, values[rows]), sizes, sizes).standard_error ** 2


def _sums(units: np.ndarray, values: FloatArray) -> FloatArray:
    return np.asarray(np.bincount(units, weights=values), dtype=float)
