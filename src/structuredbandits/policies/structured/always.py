"""One arm for everybody: the one that is best on average, or a given one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits.confidence.joint_set import scratch_memory
from structuredbandits.confidence.memory import Memory
from structuredbandits.errors import InvalidPolicy, suggestion
from structuredbandits.policies.parameter_checks import is_number, plain_value
from structuredbandits.policies.registration import register
from structuredbandits.policies.structured.population import population_of
from structuredbandits.policies.structured.score_policy import ScoreAlgorithm, scores_of

if TYPE_CHECKING:
    from structuredbandits.structure import Structure

# Arms are often called 1, 2, 3: numbers below this are taken for names.
_NUMBERED = 1_000_000


class AlwaysAgent(NamedTuple):
    """The order in which arms are preferred, in compiled code."""

    values: np.ndarray  # (arms,) mean over the prior; infinite for the given arm


@register(
    summary="The arm that is best on average, for everybody.",
    use="The baseline of every comparison: a policy that earns less is not worth its cost.",
    colour="grey",
    order=112,
)
@dataclass(frozen=True, repr=False)
class Always(ScoreAlgorithm):
    """argmax_k Σ_θ prior(θ) mu_k(θ), whatever the rewards are.

    Parameters
    ----------
    arm
        The name of the arm to pull. None: the one of the largest mean over the structure's prior.
        While the arm is not allowed, the allowed arm of the largest mean is pulled.

    References
    ----------
    R. C. Holte, "Very simple classification rules perform well on most commonly used datasets",
    Machine Learning 11, 1993, for comparing with the simplest rule first.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], arms=["a", "b"], sigma=1.0,
    ...     prior=[3, 1])
    >>> Always().start(known).pull(), Always(arm="b").start(known).pull()
    ('a', 'b')
    """

    arm: str | None = None
    name: ClassVar[str] = "always"

    def __post_init__(self) -> None:
        number = plain_value(self.arm)
        if is_number(number) and number in range(_NUMBERED):  # labels read 2 as 2.0
            object.__setattr__(self, "arm", str(int(number)))
        super().__post_init__()

    def check(self, structure: Structure) -> None:
        if self.arm is not None and self.arm not in structure.arms:
            raise InvalidPolicy(
                f"{self.label} names an arm that this structure does not have; "
                f"{suggestion(self.arm, structure.arms)}"
            )

    def agent(self, structure: Structure, rounds: int, horizon: int) -> AlwaysAgent:
        values = population_of(structure).means.copy()
        if self.arm is not None:
            values[structure.arm_index(self.arm)] = math.inf
        return AlwaysAgent(values)

    def memory(self, structure: Structure) -> Memory:
        return scratch_memory(structure.n_arms, 1, structure.n_arms)


@scores_of(AlwaysAgent)
def _score(agent: Any, floats: Any, evidence: Any, allowed: Any, moment: Any) -> Any:
    for place in range(allowed.size):
        floats[0, place] = agent.values[allowed[place]]
