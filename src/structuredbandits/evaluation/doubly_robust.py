"""Doubly robust estimates: the structure predicts, and the log corrects what it gets wrong.

This module knows the structure as a model of rewards. It must not know how a policy chooses.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from structuredbandits.evaluation.decisions import DecisionLog
from structuredbandits.evaluation.ips import Terms, propensity_weights
from structuredbandits.structure import Structure
from structuredbandits.structure.theta import FloatArray

Model = Literal["posterior", "prior"]


def predicted_rewards(structure: Structure, log: DecisionLog, model: Model) -> FloatArray:
    """Return (decisions, arms): the mean rewards that the structure expects.

    "prior" expects the mean over Θ, weighted by the prior, for everybody. "posterior" weighs Θ by
    how well each θ fits what the subject was shown *before* the decision; its own reward is not
    used, so that the estimate stays unbiased.
    """
    prior = structure.prior if structure.prior is not None else structure.parameters.weights
    if model == "prior" or not log.has_subjects:
        return np.broadcast_to(prior @ structure.means, (len(log), structure.n_arms))
    expected = np.empty((len(log), structure.n_arms))
    belief = Belief(structure, prior)
    last = -1
    for row in range(len(log)):
        subject = int(log.subjects[row])
        if subject != last:
            belief.start()
            last = subject
        expected[row] = belief.expected()
        belief.learn(int(log.chosen[row]), float(log.rewards[row]))
    return expected


class Belief:
    """The posterior over Θ of one subject, for normal rewards.

    Given θ, arm k's true mean is N(μ_k(θ), e_k(θ)²) with e the standard error of a learned mean
    (0 if the structure is exact), and its rewards are N(mean, σ_k²).
    """

    def __init__(self, structure: Structure, prior: FloatArray) -> None:
        self._means = structure.means
        errors = structure.standard_errors
        self._errors = np.zeros_like(self._means) if errors is None else np.square(errors)
        self._noise = np.square(structure.sigma)
        with np.errstate(divide="ignore"):
            self._log_prior = np.log(prior)
        self.start()

    def start(self) -> None:
        """Begin with a new subject."""
        self._counts = np.zeros(self._means.shape[1])
        self._sums = np.zeros(self._means.shape[1])
        self._fit = np.zeros_like(self._means)
        self._expected = self._means.copy()

    def learn(self, arm: int, reward: float) -> None:
        """Take in one reward: one column of the fit changes."""
        self._counts[arm] += 1.0
        self._sums[arm] += reward
        noise = self._noise[arm] / self._counts[arm]
        variance = noise + self._errors[:, arm]
        distance = self._sums[arm] / self._counts[arm] - self._means[:, arm]
        self._fit[:, arm] = -0.5 * np.log(variance) - 0.5 * np.square(distance) / variance
        self._expected[:, arm] = self._means[:, arm] + self._errors[:, arm] / variance * distance

    def expected(self) -> FloatArray:
        """Return (arms,): the mean rewards as expected now."""
        scores = self._log_prior + self._fit.sum(axis=1)
        weights = np.exp(scores - scores.max())
        return np.asarray(weights @ self._expected / weights.sum())


def doubly_robust_terms(shares: FloatArray, expected: FloatArray, log: DecisionLog) -> Terms:
    """Return the terms: what the model expects of the policy, corrected by weighted errors."""
    weights = propensity_weights(shares, log)
    surprise = log.rewards - expected[np.arange(len(log)), log.chosen]
    values = (shares * expected).sum(axis=1) + weights * surprise
    return Terms(values, np.ones(len(log)), weights)
