"""Replay: run the policy on a uniformly random log and keep the decisions on which both agree."""

from __future__ import annotations

import numpy as np

from structuredbandits.errors import InvalidInput
from structuredbandits.evaluation._decision_log import DecisionLog
from structuredbandits.evaluation._ips import Terms
from structuredbandits.evaluation._target_policy import AlgorithmTarget, Target
from structuredbandits.progress import Reporter

_TOLERANCE = 1e-6


def replay_terms(
    target: Target, log: DecisionLog, generator: np.random.Generator, reporter: Reporter
) -> Terms:
    """Return the terms of the mean reward over the decisions in which the policy agrees.

    The policy learns from these decisions only, so on a log of uniformly random choices they form
    a run of the policy itself.
    """
    _check_uniform(log)
    agreed = np.zeros(len(log))
    last = -1
    for row in range(len(log)):
        subject = int(log.subjects[row]) if log.has_subjects else 0
        if subject != last:
            target.start()
            last = subject
        agreed[row] = _step(target, log, row, generator)
        reporter.advance()
    return Terms(agreed * log.rewards, agreed, agreed)


def _step(target: Target, log: DecisionLog, row: int, generator: np.random.Generator) -> bool:
    shown, reward = int(log.chosen[row]), float(log.rewards[row])
    if isinstance(target, AlgorithmTarget):
        arm = target.pull(log.allowed_arms(row))
        if arm != shown:
            target.reject(arm)
            return False
        target.accept(arm, reward)
        return True
    shares = target.probabilities(log, row)
    if generator.choice(len(shares), p=shares) != shown:
        return False
    target.learn(shown, reward)
    return True


def _check_uniform(log: DecisionLog) -> None:
    number = len(log.arms) if log.allowed is None else log.allowed.sum(axis=1)
    wrong = np.abs(log.probabilities * number - 1.0) > _TOLERANCE
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInput(
            f"replay needs a log of uniformly random choices, but a decision has probability "
            f"{log.probabilities[row]:g}; use method='snips' or 'dr'."
        )
