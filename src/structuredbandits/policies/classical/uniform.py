"""Uniform choice: every arm with the same probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.protocol import choose, implements
from structuredbandits.policies.registration import register

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class UniformAgent(NamedTuple):
    """Uniform choice has no parameters; the field keeps the tuple from being empty."""

    share: float


@register(
    summary="Every arm with the same probability.",
    use="An A/B test, and logs from which any other policy can be evaluated.",
    colour="teal",
    order=105,
)
@dataclass(frozen=True, repr=False)
class Uniform(Algorithm):
    """Any candidate, each with probability 1/K, K the number of candidates.

    References
    ----------
    T. Lattimore, C. Szepesvári, "Bandit Algorithms", 2020, chapter 6, for what exploring
    uniformly costs.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0)
    >>> Uniform().start(known).probabilities()
    {'1': 0.5, '2': 0.5}
    """

    name: ClassVar[str] = "uniform"
    classical: ClassVar[bool] = True

    def agent(self, structure: Structure, rounds: int, horizon: int) -> UniformAgent:
        return UniformAgent(1.0)

    def choice_probabilities(self, snapshot: Snapshot, candidates: np.ndarray) -> np.ndarray:
        return np.full(candidates.size, 1.0 / candidates.size)


@implements(choose, UniformAgent)
def _choose(
    agent: Any, evidence: Any, candidates: Any, n_candidates: Any, moment: Any, generator: Any
) -> Any:
    return candidates[int(generator.random() * n_candidates)]
