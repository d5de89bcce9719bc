"""WAGP: global bandits, where every arm says something about one θ and none is explored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from structuredbandits.confidence.joint_set import scratch_memory
from structuredbandits.confidence.memory import Memory
from structuredbandits.policies.registration import register
from structuredbandits.policies.structured.invertible_arms import curves_of
from structuredbandits.policies.structured.score_policy import ScoreAlgorithm
from structuredbandits.policies.structured.ucb_g import RegionalAgent

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


@register(
    summary="The best arm at the average of the arms' estimates of the parameter.",
    use="One scalar parameter on which every arm's mean depends monotonically.",
    needs=("monotone means",),
    colour="teal",
    order=200,
)
@dataclass(frozen=True, repr=False)
class WAGP(ScoreAlgorithm):
    """argmax_k mu_k(θ̂), θ̂ = Σ (n_k/t) θ̂_k, θ̂_k = argmin over Θ of |mu_k(θ) − mu_hat_k|.

    Needs a scalar θ and means that are strictly monotone in it. The first arm is random.

    References
    ----------
    O. Atan, C. Tekin, M. van der Schaar, "Global multi-armed bandits with Hölder continuity",
    AISTATS 2015.

    Examples
    --------
    >>> from structuredbandits.structure import Interval, Structure
    >>> lines = {"up": lambda x: 2 * x, "down": lambda x: 3 - x}
    >>> known = Structure.from_functions(lines, Interval(0, 3, points=31), sigma=0.1)
    >>> policy = WAGP().start(known, seed=7)
    >>> policy.update("down", 2.5)  # so θ is 0.5
    >>> policy.pull()
    'down'
    """

    name: ClassVar[str] = "wagp"

    def check(self, structure: Structure) -> None:
        curves_of(structure, self.name)

    def agent(self, structure: Structure, rounds: int, horizon: int) -> RegionalAgent:
        one_group = np.zeros(structure.n_arms, dtype=np.int64)
        return RegionalAgent(
            curves_of(structure, self.name), one_group, np.zeros(1), np.zeros(1), 1.0
        )

    def memory(self, structure: Structure) -> Memory:
        return scratch_memory(structure.n_arms, 3, structure.n_arms)
