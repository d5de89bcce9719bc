"""Index policies: everything that follows from an index function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from structuredbandits._compiled import borrow, kernel
from structuredbandits.confidence.evidence import evidence_of
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.protocol import Moment, index_or_infinity, leading_mean
from structuredbandits.policies.ties import share_of_ties


@dataclass(frozen=True, repr=False)
class IndexAlgorithm(Algorithm):
    """An algorithm that pulls the arm of the largest index."""

    #: Whether the index draws random numbers, so that comparing it once is not a probability.
    random_index: ClassVar[bool] = False

    classical: ClassVar[bool] = True

    @property
    def shares_are_compiled(self) -> bool:  # type: ignore[override]  # a class variable elsewhere
        """Whether the indices can be compared for many subjects in compiled code."""
        return not self.random_index

    def choice_probabilities(self, snapshot: Snapshot, candidates: np.ndarray) -> np.ndarray | None:
        if self.random_index:
            return None
        values = indices(
            snapshot.agent, snapshot.block, candidates, snapshot.moment, snapshot.addresses
        )
        return share_of_ties(values, snapshot.evidence.pending[candidates])


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
