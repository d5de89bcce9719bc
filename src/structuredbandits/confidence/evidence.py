"""The evidence of a run: the sufficient statistics of each arm.

They are one block of floats, so that a run's evidence is a single small array that is cheap to
pass, to store and to stack for many subjects. Counts are floats too: exact up to 2⁵³.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.confidence.radius import scale_of


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
#: Places of the stored rows in a block.
COUNTS, SUMS, SQUARES, PENDING = (
    Evidence._fields.index(name) for name in ("counts", "sums", "squares", "pending")
)


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
    rows = rows_of(block)
    rows.scales[:] = math.inf
    rows.sigmas[:] = sigma
    return block


def new_blocks(sigma: np.ndarray, n_subjects: int) -> np.ndarray:
    """Evidence of many subjects before their first reward: (subjects, rows, arms)."""
    return np.repeat(new_block(sigma)[None], n_subjects, axis=0)


def rows_of(block: np.ndarray) -> Evidence:
    """Named rows of one block or of a stack of blocks, for Python; they share its memory.

    Parameters
    ----------
    block : (rows, arms) or (subjects, rows, arms)

    Returns
    -------
    Evidence
        Rows of shape (arms,) or (subjects, arms).

    Examples
    --------
    >>> blocks = new_blocks(np.ones(2), n_subjects=3)
    >>> rows_of(blocks).counts[:, 0] = 5.0
    >>> rows_of(blocks).counts.shape, rows_of(blocks[0]).counts.tolist()
    ((3, 2), [5.0, 0.0])
    """
    return Evidence(*(block if block.ndim == 2 else block.transpose(1, 0, 2)))


@inline
def evidence_of(block: np.ndarray) -> Evidence:
    """Named rows of an evidence block, for compiled code."""
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
        evidence.scales[arm] = scale_of(evidence.sigmas[arm], count)
    else:
        evidence.means[arm] = 0.0
        evidence.scales[arm] = math.inf
