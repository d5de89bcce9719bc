"""Hierarchical Thompson sampling among the arms that may be best at a plausible θ.

This room joins Appendix A's confidence set with the hierarchical model. It must not know how
either of them is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits.confidence.box import follow, rebuild
from structuredbandits.confidence.memory import EMPTY_ROUNDS, PLAUSIBLE, Memory, box_of, new_memory
from structuredbandits.confidence.tables import BoxTables, box_tables
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.narrowing import candidate_arms, competitive_candidates
from structuredbandits.policies.protocol import decide, implements, learn, restore
from structuredbandits.policies.structured.hierarchical import (
    Hierarchical,
    HierarchicalAgent,
    draw_arm,
    winning_shares,
)
from structuredbandits.policies.structured.hierarchical_bounds import widened
from structuredbandits.policies.structured.hierarchical_model import (
    require_errors,
    require_settings,
)
from structuredbandits.policies.structured.hierarchical_shares import normal_tables

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class HierarchicalCompetitiveAgent(NamedTuple):
    """Parameters of the competitive version in compiled code."""

    inner: HierarchicalAgent
    tables: BoxTables
    root_alpha: float
    ranks: np.ndarray  # (0, 0): the largest means are not asked for


class SetWithTree(NamedTuple):
    """Memory of a run that keeps a confidence set and, inside, a posterior."""

    integers: np.ndarray
    floats: np.ndarray
    marks: np.ndarray
    inner: Memory


@dataclass(frozen=True, repr=False)
class HierarchicalCompetitive(Algorithm):
    """`Hierarchical` among the arms that are possibly optimal at a plausible θ.

    The confidence set is that of Appendix A for the bounds mu_k(θ) ± ``errors`` · e_k(θ), with e
    the standard error of the map. While no θ is plausible all arms are candidates.

    Parameters
    ----------
    alpha
        Width of the confidence set.
    errors
        How many standard errors the bounds reach to either side.
    noise, use_prior, spread
        As in `Hierarchical`.

    Notes
    -----
    Proved: if the true means at the true θ lie within the bounds, it is ruled out at round t with
    probability at most 2K t^(1 − alpha), so the best arm is then a candidate (Appendix A). Not
    proved: that the bounds hold, which at 2 standard errors fails for one mean in twenty; and any
    bound on the regret of hierarchical Thompson sampling among the candidates. On maps with small
    counts the bounds are wide and few arms are set aside: expect about the regret of
    `Hierarchical`.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], arms=["a", "b"], sigma=0.1,
    ...     standard_errors=[[0.1, 0.1], [0.1, 0.1]])
    >>> policy = HierarchicalCompetitive().start(known, seed=7)
    >>> policy.update("a", 1.02)
    >>> policy.competitive_arms, list(policy.confidence_set)
    (('a',), [0])
    """

    alpha: float = 3.0
    errors: float = 2.0
    noise: float | None = None
    use_prior: bool = True
    spread: float = 1.0
    name: ClassVar[str] = "hierarchical-c"

    def __post_init__(self) -> None:
        settings = {key: getattr(self, key) for key in ("alpha", "errors", "noise", "spread")}
        require_settings("HierarchicalCompetitive", **settings)

    @property
    def _inner(self) -> Hierarchical:
        return Hierarchical(self.noise, self.use_prior, self.spread)

    def check(self, structure: Structure) -> None:
        require_errors(self.name, structure)

    def set_structure(self, structure: Structure) -> Structure:
        """The bounds over which the confidence set is kept."""
        return widened(structure, float(self.errors))

    def agent(
        self, structure: Structure, rounds: int, horizon: int
    ) -> HierarchicalCompetitiveAgent:
        return HierarchicalCompetitiveAgent(
            self._inner.agent(structure, rounds, horizon),
            box_tables(self.set_structure(structure)),
            math.sqrt(self.alpha),
            np.empty((0, 0), dtype=np.int32),
        )

    def memory(self, structure: Structure) -> Memory:
        outer = new_memory(structure.n_arms, structure.n_parameters)
        whole: Any = SetWithTree(*outer, self._inner.memory(structure))
        return whole  # type: ignore[no-any-return]  # compiled code asks only for its fields

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        result = np.zeros(snapshot.block.shape[1])
        memory: Any = snapshot.memory
        candidates = candidate_arms(snapshot.agent, memory, snapshot.block, allowed)
        result[candidates] = winning_shares(
            snapshot.agent.inner,
            memory.inner.floats,
            snapshot.block,
            candidates,
            *normal_tables(),
        )
        return result


@implements(restore, HierarchicalCompetitiveAgent)
def _restore(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
    q = agent.root_alpha * moment.width
    rebuild(agent.tables, evidence, box_of(memory), agent.ranks, q)
    restore(agent.inner, memory.inner, evidence, moment)


@implements(learn, HierarchicalCompetitiveAgent)
def _learn(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
    q = agent.root_alpha * moment.width
    follow(agent.tables, evidence, box_of(memory), agent.ranks, arm, q)
    learn(agent.inner, memory.inner, evidence, arm, moment)


@implements(decide, HierarchicalCompetitiveAgent)
def _decide(
    agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    box = box_of(memory)
    if box.registers[PLAUSIBLE] == 0:
        box.registers[EMPTY_ROUNDS] += 1
    candidates, n_candidates = competitive_candidates(agent.tables, box, allowed)
    return draw_arm(agent.inner, memory.inner.floats, evidence, candidates, n_candidates, generator)
