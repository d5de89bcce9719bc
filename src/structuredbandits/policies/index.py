"""Index policies: everything that follows from an index function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from structuredbandits._compiled import borrow, kernel
from structuredbandits.confidence.evidence import evidence_of
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.protocol import Moment, index_or_infinity, leading_mean


@dataclass(frozen=True, repr=False)
class IndexAlgorithm(Algorithm):
    """An algorithm that pulls the arm of the largest index."""

    #: Whether the index draws random numbers, so that it cannot be evaluated to explain a choice.
    random_index: ClassVar[bool] = False

    classical: ClassVar[bool] = True

    def choice_probabilities(self, snapshot: Snapshot, candidates: np.ndarray) -> np.ndarray | None:
        if self.random_index:
            return None
        values = indices(
            snapshot.agent, snapshot.block, candidates, snapshot.moment, snapshot.addresses
        )
        return share_of_ties(values, snapshot.block[5][candidates])


def share_of_ties(values: np.ndarray, pending: np.ndarray) -> np.ndarray:
    """Equal shares among the largest indices; infinite ones count only with the fewest pending.

    Examples
    --------
    >>> share_of_ties(np.array([1.0, 2.0, 2.0]), np.zeros(3)).tolist()
    [0.0, 0.5, 0.5]
    """
    best = values == values.max()
    if values.max() == np.inf:
        best &= pending == pending[best].min()
    return np.asarray(best / best.sum())


@kernel
def indices(
    agent: Any, block: np.ndarray, candidates: np.ndarray, moment: Moment, addresses: np.ndarray
) -> np.ndarray:
    """Index of each candidate: (candidates,)."""
    generator = borrow(addresses)
    evidence = evidence_of(block)
    leader = leading_mean(evidence, candidates, candidates.size)
    values = np.empty(candidates.size)
    for place in range(candidates.size):
        values[place] = index_or_infinity(
            agent, evidence, candidates[place], leader, candidates.size, moment, generator
        )
    return values
