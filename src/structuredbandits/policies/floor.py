"""An exploration floor: every allowed arm keeps a known probability, so that logs can be reused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.algorithm import (
    Algorithm,
    Snapshot,
    is_number,
    join_settings,
    plain,
)
from structuredbandits.policies.protocol import decide, implements, learn, restore

if TYPE_CHECKING:
    from structuredbandits.confidence.memory import Memory
    from structuredbandits.structure import Structure


class FloorAgent(NamedTuple):
    """Parameters of an exploration floor in compiled code."""

    inner: Any
    floor: float


@dataclass(frozen=True, repr=False)
class ExplorationFloor(Algorithm):
    """With probability ``floor`` any allowed arm, uniformly; otherwise what the algorithm chooses.

    Its cost is at most ``floor`` times the mean gap a round; what it buys is that every arm's
    probability is at least floor / (number of allowed arms), which off-policy estimates need.

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
        if not isinstance(self.algorithm, Algorithm):
            raise InvalidPolicy(f"{self.algorithm!r} is no algorithm; give one such as UCB().")
        if isinstance(self.algorithm, ExplorationFloor):
            raise InvalidPolicy(
                f"{self.algorithm!r} has a floor already; give one floor, as high as you need."
            )
        if getattr(self.algorithm, "foreign", None) is not None:
            raise InvalidPolicy(
                "an exploration floor goes around compiled algorithms only; give your own "
                "object a floor of its own."
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

    def set_structure(self, structure: Structure) -> Structure:
        return self.algorithm.set_structure(structure)

    def agent(self, structure: Structure, rounds: int, horizon: int) -> FloorAgent:
        return FloorAgent(self.algorithm.agent(structure, rounds, horizon), float(self.floor))

    def memory(self, structure: Structure) -> Memory:
        return self.algorithm.memory(structure)

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray | None:
        inner = snapshot._replace(agent=snapshot.agent.inner)
        shares = self.algorithm.probabilities(inner, allowed)
        if shares is None:
            return None
        result = (1.0 - self.floor) * shares
        result[allowed] += self.floor / allowed.size
        return np.asarray(result)

    @property
    def label(self) -> str:
        """The algorithm's label with the floor among its parameters."""
        inner = self.algorithm.label
        floor = join_settings({"floor": self.floor})
        return f"{inner[:-1]},{floor})" if inner.endswith(")") else f"{inner}({floor})"

    def __repr__(self) -> str:
        return f"ExplorationFloor({self.algorithm!r}, floor={plain(self.floor)!r})"


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
