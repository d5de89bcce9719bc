"""Doubly robust estimates: the structure predicts rewards, and the log corrects its errors."""

from __future__ import annotations

from typing import Literal

import numpy as np

from structuredbandits.evaluation._decision_log import DecisionLog
from structuredbandits.evaluation._interval_choice import Predictions
from structuredbandits.evaluation._ips import Terms, propensity_weights
from structuredbandits.policies.structured.belief import prior_of
from structuredbandits.policies.structured.hierarchical_model import expected_rewards
from structuredbandits.structure import FloatArray, Structure

Model = Literal["posterior", "prior"]


def predicted_rewards(structure: Structure, log: DecisionLog, model: Model) -> FloatArray:
    """Return (decisions, arms): the mean rewards that the structure expects.

    "prior" uses the mean over Θ, weighted by the prior, for every subject. "posterior" weights Θ
    by the subject's rewards *before* the decision; the decision's own reward is not used, so that
    the estimate stays unbiased.
    """
    if model == "prior" or not log.has_subjects:
        expected = prior_of(structure) @ structure.means
        return np.broadcast_to(expected, (len(log), structure.n_arms))
    return expected_rewards(structure, log.subjects, log.chosen, log.rewards)


def doubly_robust_terms(
    shares: FloatArray,
    expected: FloatArray,
    log: DecisionLog,
    limits: tuple[float, float] | None = None,
) -> Terms:
    """Return the terms: the predicted reward of the policy plus weighted prediction errors."""
    weights = propensity_weights(shares, log)
    made = _predictions(shares, expected, log)
    values = made.policy + weights * (log.rewards - made.chosen)
    within = None if limits is None else _predictions(shares, np.clip(expected, *limits), log)
    return Terms(values, np.ones(len(log)), weights, made, within)


def _predictions(shares: FloatArray, expected: FloatArray, log: DecisionLog) -> Predictions:
    chosen = expected[np.arange(len(log)), log.chosen]
    return Predictions(chosen, (shares * expected).sum(axis=1))
