"""UCB-S: optimism over the plausible θ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits._compiled import inline, kernel
from structuredbandits.confidence.confidence_set import ConfidenceParameters
from structuredbandits.confidence.event_driven_set import follow, rebuild
from structuredbandits.confidence.memory import (
    EMPTY_ROUNDS,
    PLAUSIBLE,
    REGISTERS_ROW,
    ConfidenceState,
    Memory,
    confidence_state,
    new_memory,
)
from structuredbandits.confidence.radius import multiplier
from structuredbandits.confidence.sorted_tables import (
    SortedTables,
    order_of_means,
    ranks,
    sorted_tables,
)
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.candidates import candidate_arms
from structuredbandits.policies.classical.ucb import UCBAgent
from structuredbandits.policies.index_policy import indices
from structuredbandits.policies.parameter_checks import positive
from structuredbandits.policies.protocol import choose, decide, implements, learn, restore
from structuredbandits.policies.registration import register
from structuredbandits.policies.ties import share_of_ties, take_larger

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class UCBSAgent(NamedTuple):
    """Parameters of UCB-S in compiled code."""

    inner: UCBAgent  # chooses while no θ is plausible
    tables: SortedTables
    order: np.ndarray  # (arms, parameters) the θ in ascending order of each arm's upper mean
    ranks: np.ndarray  # (parameters, arms) position of each θ in that order
    root_alpha: float


@register(
    summary="The arm with the largest mean at any parameter that is still plausible.",
    use="The baseline among structured policies; Algorithm-C usually has less regret.",
    colour="orange",
    order=110,
)
@dataclass(frozen=True, repr=False)
class UCBS(Algorithm):
    """argmax_k of the largest mean of arm k over the plausible θ; no forced first pulls.

    While no θ is plausible it is UCB.

    References
    ----------
    T. Lattimore, R. Munos, "Bounded regret for finite-armed structured bandits", NIPS 2014.
    """

    alpha: float = positive(3.0)
    name: ClassVar[str] = "ucb-s"

    def agent(self, structure: Structure, rounds: int, horizon: int) -> UCBSAgent:
        root = math.sqrt(self.alpha)
        tables, order = sorted_tables(structure), order_of_means(structure)
        return UCBSAgent(UCBAgent(root), tables, order, ranks(structure), root)

    def memory(self, structure: Structure) -> Memory:
        return new_memory(structure.n_arms, structure.n_parameters)

    def confidence_parameters(self, structure: Structure) -> ConfidenceParameters:
        return ConfidenceParameters(float(self.alpha), "box", structure)

    def candidates(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        """The competitive arms; it may pull another one whose mean is uncertain."""
        return candidate_arms(snapshot, allowed)

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        return optimistic_probabilities(snapshot, allowed)


def optimistic_probabilities(snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
    """Probability with which `decide_optimistically` chooses each arm: (arms,)."""
    result = np.zeros(snapshot.n_arms)
    if snapshot.memory.integers[REGISTERS_ROW, PLAUSIBLE] == 0:
        values = indices(
            snapshot.agent.inner, snapshot.block, allowed, snapshot.moment, snapshot.addresses
        )
        pending = snapshot.evidence.pending[allowed]
    else:
        values = largest_means(snapshot.agent, snapshot.memory, allowed)
        pending = np.zeros(allowed.size)
    result[allowed] = share_of_ties(values, pending)
    return result


@implements(restore, UCBSAgent)
def _restore(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
    q = multiplier(agent.root_alpha, moment.width)
    rebuild(agent.tables, evidence, confidence_state(memory), agent.ranks, q)


@implements(learn, UCBSAgent)
def _learn(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
    q = multiplier(agent.root_alpha, moment.width)
    follow(agent.tables, evidence, confidence_state(memory), agent.ranks, arm, q)


@inline
def _largest_mean(agent: Any, state: ConfidenceState, arm: int) -> float:
    """Largest (upper) mean of the arm over the plausible θ; at least one must be plausible.

    ``state.top`` is raised when a θ enters; the θ that left since are passed here.
    """
    bounds, order = agent.tables.bounds, agent.order[arm]
    top = state.top[arm]
    while state.exclusions[order[top]] != 0:
        top -= 1
    state.top[arm] = top
    value: float = bounds[bounds.shape[0] - 1, order[top], arm]
    return value


@implements(decide, UCBSAgent)
def decide_optimistically(
    agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    """The arm with the largest mean at a plausible θ; the inner agent's if none is plausible."""
    state = confidence_state(memory)
    if state.registers[PLAUSIBLE] == 0:
        state.registers[EMPTY_ROUNDS] += 1
        return choose(agent.inner, evidence, allowed, allowed.size, moment, generator)
    best, chosen, ties = -math.inf, -1, 0
    for place in range(allowed.size):
        arm = np.int64(allowed[place])
        value = _largest_mean(agent, state, arm)
        best, chosen, ties = take_larger(best, chosen, ties, value, arm, generator)
    return chosen


@kernel
def largest_means(agent: Any, memory: Memory, allowed: np.ndarray) -> np.ndarray:
    """Largest mean of each allowed arm over the plausible θ: (allowed,)."""
    state = confidence_state(memory)
    values = np.empty(allowed.size)
    for place in range(allowed.size):
        values[place] = _largest_mean(agent, state, allowed[place])
    return values
