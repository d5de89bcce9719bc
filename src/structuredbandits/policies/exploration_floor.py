"""An exploration floor: every allowed arm keeps a known probability, so that logs can be reused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.algorithm import (
    Algorithm,
    Snapshot,
)
from structuredbandits.policies.labels import Parts, plain
from structuredbandits.policies.parameter_checks import is_number
from structuredbandits.policies.protocol import decide, implements, learn, restore

if TYPE_CHECKING:
    from structuredbandits.confidence.confidence_set import ConfidenceParameters
    from structuredbandits.confidence.memory import Memory
    from structuredbandits.structure import Structure


class FloorAgent(NamedTuple):
    """Parameters of an exploration floor in compiled code."""

    inner: Any
    floor: float


@dataclass(frozen=True, repr=False)
class ExplorationFloor(Algorithm):
    """With probability ``floor`` any allowed arm, uniformly; otherwise what the algorithm chooses.

    It costs at most ``floor`` times the mean gap per round. In return every arm's probability is at
    least floor / (number of allowed arms), which off-policy estimates need.

    Examples
    --------
    >>> from structuredbandits.policies.classical.ucb import UCB
    >>> ExplorationFloor(UCB(), floor=0.1)
    ExplorationFloor(UCB(), floor=0.1)
    """

    algorithm: Algorithm
    floor: float = 0.05
    name: ClassVar[str] = "floor"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.algorithm, Algorithm):
            raise InvalidPolicy(f"{self.algorithm!r} is not an algorithm; give one such as UCB().")
        if isinstance(self.algorithm, ExplorationFloor):
            raise InvalidPolicy(
                f"{self.algorithm!r} has a floor already; give one floor, as high as you need."
            )
        if self.algorithm.external is not None:
            raise InvalidPolicy(
                f"an exploration floor needs a compiled algorithm inside, and {self.algorithm!r} "
                "chooses with a Python object; give an algorithm such as Competitive(UCB())."
            )
        if not (is_number(self.floor) and 0.0 < self.floor <= 1.0):
            raise InvalidPolicy(
                f"the exploration floor is {self.floor!r}; give a probability above 0, at most 1."
            )

    @property
    def needs_unit_rewards(self) -> bool:  # type: ignore[override]  # a class variable elsewhere
        """Whether the algorithm inside needs rewards in [0, 1]."""
        return self.algorithm.needs_unit_rewards

    def check(self, structure: Structure) -> None:
        self.algorithm.check(structure)

    @property
    def refutation_alpha(self) -> float | None:
        """That of the algorithm inside."""
        return self.algorithm.refutation_alpha

    def confidence_parameters(self, structure: Structure) -> ConfidenceParameters | None:
        return self.algorithm.confidence_parameters(structure)

    def candidates(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        """The competitive arms of the algorithm inside; the floor may choose any allowed arm."""
        return self.algorithm.candidates(_inside(snapshot), allowed)

    def agent(self, structure: Structure, rounds: int, horizon: int) -> FloorAgent:
        return FloorAgent(self.algorithm.agent(structure, rounds, horizon), float(self.floor))

    def memory(self, structure: Structure) -> Memory:
        return self.algorithm.memory(structure)

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray | None:
        shares = self.algorithm.probabilities(_inside(snapshot), allowed)
        if shares is None:
            return None
        result = (1.0 - self.floor) * shares
        result[allowed] += self.floor / allowed.size
        return np.asarray(result)

    def label_parts(self) -> Parts:
        return self.algorithm.label_parts().inside({"floor": self.floor})

    def __repr__(self) -> str:
        return f"ExplorationFloor({self.algorithm!r}, floor={plain(self.floor)!r})"


def _inside(snapshot: Snapshot) -> Snapshot:
    """The run of the algorithm inside."""
    return snapshot._replace(agent=snapshot.agent.inner)


@implements(restore, FloorAgent)
def _restore(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
    restore(agent.inner, memory, evidence, moment)


@implements(learn, FloorAgent)
def _learn(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
    learn(agent.inner, memory, evidence, arm, moment)


@implements(decide, FloorAgent)
def _decide(
    agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    if generator.random() < agent.floor:
        return allowed[int(generator.random() * allowed.size)]
    return decide(agent.inner, memory, evidence, allowed, moment, generator)
