"""What has been seen of each arm: the sufficient statistics of every policy.

They live in one block of floats, so that a run's evidence is a single small array that is cheap
to pass, to store and to stack for many subjects. Counts are floats too: exact up to 2⁵³.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structuredbandits._compiled import inline


class Evidence(NamedTuple):
    """Rows of an evidence block, each of shape (arms,)."""

    counts: np.ndarray  # rewards received, n_k
    sums: np.ndarray  # sum of rewards
    squares: np.ndarray  # sum of squared rewards
    means: np.ndarray  # empirical means, mu_hat_k
    scales: np.ndarray  # sigma_k / sqrt(n_k): radius of the mean in units of q(t)
    pending: np.ndarray  # pulls whose reward has not come yet
    sigmas: np.ndarray  # sub-Gaussian proxy of each arm


ROWS = len(Evidence._fields)


def new_block(sigma: np.ndarray) -> np.ndarray:
    """Evidence before the first reward.

    Parameters
    ----------
    sigma : (arms,) array

    Returns
    -------
    (rows, arms) array
    """
    block = np.zeros((len(sigma), ROWS)).T  # an arm's numbers lie side by side: one cache line
    block[4] = math.inf
    block[6] = sigma
    return block


@inline
def evidence_of(block: np.ndarray) -> Evidence:
    """Named rows of an evidence block."""
    return Evidence(block[0], block[1], block[2], block[3], block[4], block[5], block[6])


@inline
def record(evidence: Evidence, arm: int, reward: float) -> None:
    """Add one reward of one arm."""
    count = evidence.counts[arm] + 1.0
    total = evidence.sums[arm] + reward
    evidence.counts[arm] = count
    evidence.sums[arm] = total
    evidence.squares[arm] += reward * reward
    summarise(evidence, arm)


@inline
def summarise(evidence: Evidence, arm: int) -> None:
    """Mean and scale of one arm from its counts and sums."""
    count = evidence.counts[arm]
    if count > 0.0:
        evidence.means[arm] = evidence.sums[arm] / count
        evidence.scales[arm] = evidence.sigmas[arm] / math.sqrt(count)
    else:
        evidence.means[arm] = 0.0
        evidence.scales[arm] = math.inf
