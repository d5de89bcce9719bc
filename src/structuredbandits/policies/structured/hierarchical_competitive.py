"""Hierarchical Thompson sampling among the arms that may be best at a plausible θ.

It combines the confidence set of Appendix A with the hierarchical model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits.confidence.confidence_set import ConfidenceParameters
from structuredbandits.confidence.event_driven_set import follow, rebuild
from structuredbandits.confidence.memory import (
    EMPTY_ROUNDS,
    PLAUSIBLE,
    Memory,
    confidence_state,
    new_memory,
)
from structuredbandits.confidence.radius import multiplier
from structuredbandits.confidence.sorted_tables import SortedTables, sorted_tables
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.candidates import candidate_arms, competitive_candidates
from structuredbandits.policies.max_of_normals import precise_normals
from structuredbandits.policies.parameter_checks import LARGEST, positive
from structuredbandits.policies.protocol import decide, implements, learn, restore
from structuredbandits.policies.registration import register
from structuredbandits.policies.structured.hierarchical import (
    Hierarchical,
    HierarchicalAgent,
    draw_arm,
    winning_shares,
)
from structuredbandits.policies.structured.hierarchical_model import (
    require_errors,
    widened,
)

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class HierarchicalCompetitiveAgent(NamedTuple):
    """Parameters of the competitive version in compiled code."""

    inner: HierarchicalAgent
    tables: SortedTables
    root_alpha: float
    ranks: np.ndarray  # (0, 0): the largest means are not asked for


class SetWithTree(NamedTuple):
    """Memory of a run that keeps a confidence set and, inside, a posterior."""

    integers: np.ndarray
    floats: np.ndarray
    marks: np.ndarray
    inner: Memory


@register(
    summary="Hierarchical Thompson sampling among the competitive arms.",
    use="Structures learned from data with enough observations that some arms can be ruled out.",
    reference="S. Gupta et al., IEEE JSAIT 1(3), 2020, Appendix A, around Hierarchical.",
    needs=("standard errors",),
    colour="purple",
    line="solid",
    order=140,
)
@dataclass(frozen=True, repr=False)
class HierarchicalCompetitive(Algorithm):
    """`Hierarchical` among the arms that are possibly optimal at a plausible θ.

    The confidence set is that of Appendix A for the bounds mu_k(θ) ± ``errors`` · e_k(θ), with e
    the standard error. While no θ is plausible all arms are candidates.

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
    bound on the regret of hierarchical Thompson sampling among the candidates. With small
    counts the bounds are wide and few arms are excluded: expect about the regret of
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

    alpha: float = positive(3.0)
    errors: float = positive(2.0, at_most=LARGEST)
    noise: float | None = positive(None, at_most=LARGEST)
    use_prior: bool = True
    spread: float = positive(1.0)
    name: ClassVar[str] = "hierarchical-c"

    @property
    def _inner(self) -> Hierarchical:
        return Hierarchical(self.noise, self.use_prior, self.spread)

    def check(self, structure: Structure) -> None:
        require_errors(self.name, structure)

    def confidence_parameters(self, structure: Structure) -> ConfidenceParameters:
        """The set over the bounds that the map's standard errors imply."""
        bounds = widened(structure, float(self.errors))
        return ConfidenceParameters(float(self.alpha), "box", bounds)

    def candidates(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        return candidate_arms(snapshot, allowed)

    def agent(
        self, structure: Structure, rounds: int, horizon: int
    ) -> HierarchicalCompetitiveAgent:
        return HierarchicalCompetitiveAgent(
            self._inner.agent(structure, rounds, horizon),
            sorted_tables(self.confidence_parameters(structure).structure),
            math.sqrt(self.alpha),
            np.empty((0, 0), dtype=np.int32),
        )

    def memory(self, structure: Structure) -> Memory:
        outer = new_memory(structure.n_arms, structure.n_parameters)
        whole: Any = SetWithTree(*outer, self._inner.memory(structure))
        return whole  # type: ignore[no-any-return]  # compiled code asks only for its fields

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        result = np.zeros(snapshot.n_arms)
        memory: Any = snapshot.memory
        candidates = self.candidates(snapshot, allowed)
        result[candidates] = winning_shares(
            snapshot.agent.inner,
            memory.inner.floats,
            snapshot.block,
            candidates,
            precise_normals(),
        )
        return result


@implements(restore, HierarchicalCompetitiveAgent)
def _restore(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
    q = multiplier(agent.root_alpha, moment.width)
    rebuild(agent.tables, evidence, confidence_state(memory), agent.ranks, q)
    restore(agent.inner, memory.inner, evidence, moment)


@implements(learn, HierarchicalCompetitiveAgent)
def _learn(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
    q = multiplier(agent.root_alpha, moment.width)
    follow(agent.tables, evidence, confidence_state(memory), agent.ranks, arm, q)
    learn(agent.inner, memory.inner, evidence, arm, moment)


@implements(decide, HierarchicalCompetitiveAgent)
def _decide(
    agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    state = confidence_state(memory)
    if state.registers[PLAUSIBLE] == 0:
        state.registers[EMPTY_ROUNDS] += 1
    candidates, n_candidates = competitive_candidates(agent.tables, state, allowed)
    return draw_arm(agent.inner, memory.inner.floats, evidence, candidates, n_candidates, generator)
