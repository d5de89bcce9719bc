"""A simulated run beside the loop in Python that it stands for."""

from __future__ import annotations

import numpy as np

from structuredbandits.simulation.seeds import policy_sequence
from structuredbandits.simulation.task import Task, TaskResult


def outcome(task: Task) -> tuple[TaskResult, TaskResult]:
    """What the simulator finds, and what the policy itself does with the same random numbers."""
    horizon = task.checkpoints[-1]
    sequence = policy_sequence(task.seed, task.first_run, task.algorithm.label, task.theta)
    policy = task.algorithm.start(task.structure, seed=sequence, horizon=horizon)
    rewards = task.environment.rewards(task.theta, task.seed, task.first_run)
    means = task.structure.sign * task.environment.means_at(task.theta)
    gaps = max(means) - means
    regret, reward = [], []
    for t in range(1, horizon + 1):
        arm = policy.pull()
        policy.update(arm, rewards.draw(arm))
        if t in task.checkpoints:
            # In the order of the simulator, so that the sums agree to the last digit.
            regret.append(sum(n * gap for n, gap in zip(policy.counts, gaps, strict=True)))
            reward.append(task.structure.sign * sum(policy.run.evidence.sums.tolist()))
    return task.run(), TaskResult(
        np.array([regret]),
        np.array([reward]),
        np.array([policy.counts], dtype=np.int64),
        np.array([policy.empty_rounds]),
    )


def assert_equal(found: TaskResult, expected: TaskResult) -> None:
    for name, ours, theirs in zip(TaskResult._fields, found, expected, strict=True):
        assert ours.tolist() == theirs.tolist(), name
