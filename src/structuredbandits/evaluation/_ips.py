"""Inverse propensity scoring: rewards are weighted by the ratio of choice probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structuredbandits.evaluation._decision_log import DecisionLog
from structuredbandits.evaluation._interval_choice import Predictions
from structuredbandits.evaluation._target_policy import AlgorithmTarget, FixedTarget, Target
from structuredbandits.progress import Reporter
from structuredbandits.structure import FloatArray


class Terms(NamedTuple):
    """The terms of an estimator, one entry per decision."""

    numerators: FloatArray
    denominators: FloatArray
    weights: FloatArray
    predictions: Predictions | None = None
    """What a structure predicts, for doubly robust estimates."""
    clipped: Predictions | None = None
    """The same within the limits of the rewards, if there are any."""


def choice_probabilities(target: Target, log: DecisionLog, reporter: Reporter) -> FloatArray:
    """Return (decisions, arms): the policy's choice probabilities, given the logged history.

    Before each decision the policy has seen the arms shown to this subject before, with their
    rewards. Without a column of subjects, a policy that uses history sees the
    whole log as one stream.
    """
    if isinstance(target, FixedTarget) and log.allowed is None:
        reporter.advance(len(log))
        return np.broadcast_to(target.shares, (len(log), len(log.arms)))
    if isinstance(target, AlgorithmTarget) and target.is_batch:
        return target.all_probabilities(log, reporter.advance)
    shares = np.empty((len(log), len(log.arms)))
    last = -1
    for row in range(len(log)):
        subject = int(log.subjects[row]) if log.has_subjects else 0
        if subject != last:
            target.start()
            last = subject
        shares[row] = target.probabilities(log, row)
        target.learn(int(log.chosen[row]), float(log.rewards[row]))
        reporter.advance()
    return shares


def propensity_weights(shares: FloatArray, log: DecisionLog) -> FloatArray:
    """Return (decisions,): the policy's probability of the logged arm over the logged one."""
    chosen = shares[np.arange(len(log)), log.chosen]
    return np.asarray(chosen / log.probabilities)


def ips_terms(shares: FloatArray, log: DecisionLog) -> Terms:
    """Return the terms of the mean of weighted rewards (Horvitz and Thompson)."""
    weights = propensity_weights(shares, log)
    return Terms(weights * log.rewards, np.ones(len(log)), weights)


def snips_terms(shares: FloatArray, log: DecisionLog) -> Terms:
    """Return the terms of the self-normalised mean (Hájek): divided by the sum of weights."""
    weights = propensity_weights(shares, log)
    return Terms(weights * log.rewards, weights, weights)
