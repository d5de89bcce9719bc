"""Many logs of a bandit at once: a single stream, or subjects of several hidden kinds.

The logging policy shows the arm that looks best so far, and with the floor's probability a random
one: so probabilities depend on what happened, and bad arms become rare.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: Mean rewards of three arms for three kinds of subjects; the last arm is never the best.
KINDS = np.array([[0.30, 0.55, 0.15], [0.50, 0.20, 0.10], [0.25, 0.45, 0.20]])
SHARES = np.array([0.5, 0.3, 0.2])
ROUNDS = 10  # decisions per subject


class Logs(NamedTuple):
    """Logs side by side: (logs, decisions) each."""

    arms: np.ndarray
    rewards: np.ndarray
    probabilities: np.ndarray
    target: np.ndarray
    """Probability with which a policy that learns would have shown the same arm."""
    target_values: np.ndarray
    """What its choice is worth."""
    target_model: np.ndarray
    """What `PREDICTED` makes of its choice."""
    clusters: np.ndarray
    """(decisions,): the independent unit of each decision."""
    kinds: np.ndarray
    """The hidden kind of the subject."""


#: A model of the rewards that is wrong, as models are.
PREDICTED = np.array([0.45, 0.35, 0.25])


def draw_logs(
    generator: np.random.Generator, logs: int, n: int, floor: float, gaussian: bool, subjects: bool
) -> Logs:
    """Draw logs of n decisions each."""
    units, rounds = (n // ROUNDS, ROUNDS) if subjects else (1, n)
    n_kinds, n_arms = KINDS.shape
    shape = (logs, units, rounds)
    kinds = generator.choice(n_kinds, size=(logs, units), p=SHARES) if subjects else None
    means = KINDS[kinds] if kinds is not None else np.broadcast_to(KINDS[0], (logs, units, n_arms))
    belief = np.broadcast_to(np.log(SHARES), (logs, units, n_kinds)).copy()
    counts, sums = np.zeros((2, logs, units, n_arms))
    arms = np.empty(shape, dtype=np.int8)
    rewards, probabilities, target, values, model = np.empty((5, *shape))
    for t in range(rounds):
        if subjects:
            weights = np.exp(belief - belief.max(axis=-1, keepdims=True))
            looks = (weights / weights.sum(axis=-1, keepdims=True)) @ KINDS
        else:
            looks = np.where(counts > 0, sums / np.maximum(counts, 1.0), 9.0)
            looks = looks + 1e-9 * generator.random(looks.shape)
        shares = floor / n_arms + (1.0 - floor) * np.eye(n_arms)[looks.argmax(axis=-1)]
        learner = np.exp(4.0 * np.clip(looks, 0.0, 1.0))
        learner /= learner.sum(axis=-1, keepdims=True)
        uniform = generator.random((logs, units, 1))
        arm = (uniform > shares.cumsum(axis=-1)).sum(axis=-1).clip(max=n_arms - 1)
        chosen = arm[..., np.newaxis]
        mean = np.take_along_axis(means, chosen, axis=-1)[..., 0]
        if gaussian:
            reward = mean + generator.standard_normal(mean.shape)
        else:
            reward = (generator.random(mean.shape) < mean).astype(float)
        arms[..., t], rewards[..., t] = arm, reward
        probabilities[..., t] = np.take_along_axis(shares, chosen, axis=-1)[..., 0]
        target[..., t] = np.take_along_axis(learner, chosen, axis=-1)[..., 0]
        values[..., t] = (learner * means).sum(axis=-1)
        model[..., t] = learner @ PREDICTED
        if subjects:
            table = KINDS.T[arm]
            seen = reward[..., np.newaxis]
            belief += (
                -0.5 * np.square(seen - table)
                if gaussian
                else np.log(np.where(seen > 0, table, 1.0 - table))
            )
        else:
            np.put_along_axis(
                counts, chosen, np.take_along_axis(counts, chosen, axis=-1) + 1.0, axis=-1
            )
            added = np.take_along_axis(sums, chosen, axis=-1) + reward[..., np.newaxis]
            np.put_along_axis(sums, chosen, added, axis=-1)
    clusters = np.repeat(np.arange(units), rounds) if subjects else np.arange(n)
    flat = [x.reshape(logs, -1) for x in (arms, rewards, probabilities, target, values, model)]
    hidden = kinds if kinds is not None else np.zeros((logs, 1), dtype=np.int64)
    return Logs(*flat, clusters, np.repeat(hidden, n // hidden.shape[1], axis=1))
