"""UCB-S: optimism over the plausible θ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits._compiled import inline, kernel
from structuredbandits.confidence.box import follow, rebuild
from structuredbandits.confidence.memory import (
    EMPTY_ROUNDS,
    PLAUSIBLE,
    REGISTERS_ROW,
    Box,
    Memory,
    box_of,
    new_memory,
)
from structuredbandits.confidence.tables import BoxTables, box_tables, ranks
from structuredbandits.policies.algorithm import Algorithm, Snapshot, require_positive
from structuredbandits.policies.classical.ucb import UCBAgent
from structuredbandits.policies.index import indices, share_of_ties
from structuredbandits.policies.protocol import choose, decide, implements, learn, restore

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class UCBSAgent(NamedTuple):
    """Parameters of UCB-S in compiled code."""

    inner: UCBAgent  # chooses while no θ is plausible
    tables: BoxTables
    ranks: np.ndarray  # (parameters, arms) position of each θ in each arm's upper order
    root_alpha: float


@dataclass(frozen=True, repr=False)
class UCBS(Algorithm):
    """argmax_k of the largest mean of arm k over the plausible θ; no forced first pulls.

    While no θ is plausible it is UCB.

    References
    ----------
    T. Lattimore, R. Munos, "Bounded regret for finite-armed structured bandits", NIPS 2014.
    """

    alpha: float = 3.0
    name: ClassVar[str] = "ucb-s"

    def __post_init__(self) -> None:
        require_positive("UCBS", alpha=self.alpha)

    def agent(self, structure: Structure, rounds: int, horizon: int) -> UCBSAgent:
        root = math.sqrt(self.alpha)
        return UCBSAgent(UCBAgent(root), box_tables(structure), ranks(structure), root)

    def memory(self, structure: Structure) -> Memory:
        return new_memory(structure.n_arms, structure.n_parameters)

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        result = np.zeros(snapshot.block.shape[1])
        if snapshot.memory.integers[REGISTERS_ROW, PLAUSIBLE] == 0:
            values = indices(
                snapshot.agent.inner, snapshot.block, allowed, snapshot.moment, snapshot.addresses
            )
            pending = snapshot.block[5][allowed]
        else:
            values = largest_means(snapshot.agent, snapshot.memory, allowed)
            pending = np.zeros(allowed.size)
        result[allowed] = share_of_ties(values, pending)
        return result


@implements(restore, UCBSAgent)
def _restore(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
    q = agent.root_alpha * moment.width
    rebuild(agent.tables, evidence, box_of(memory), agent.ranks, q)


@implements(learn, UCBSAgent)
def _learn(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
    q = agent.root_alpha * moment.width
    follow(agent.tables, evidence, box_of(memory), agent.ranks, arm, q)


@inline
def _largest_mean(tables: BoxTables, box: Box, arm: int) -> float:
    """Largest (upper) mean of the arm over the plausible θ; at least one must be plausible.

    ``box.top`` is raised when a θ enters; the θ that left since are passed here.
    """
    last = tables.values.shape[0] - 1
    top = box.top[arm]
    while box.exclusions[tables.orders[last, arm, top]] != 0:
        top -= 1
    box.top[arm] = top
    value: float = tables.values[last, arm, top + 1]  # a sentinel stands first
    return value


@implements(decide, UCBSAgent)
def _decide(
    agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    box = box_of(memory)
    if box.registers[PLAUSIBLE] == 0:
        box.registers[EMPTY_ROUNDS] += 1
        return choose(agent.inner, evidence, allowed, allowed.size, moment, generator)
    best, chosen, ties = -math.inf, -1, 0
    for place in range(allowed.size):
        arm = allowed[place]
        value = _largest_mean(agent.tables, box, arm)
        if value > best:
            best, chosen, ties = value, arm, 1
        elif value == best:
            ties += 1
            if generator.random() * ties < 1.0:
                chosen = arm
    return chosen


@kernel
def largest_means(agent: Any, memory: Memory, allowed: np.ndarray) -> np.ndarray:
    """Largest mean of each allowed arm over the plausible θ: (allowed,)."""
    box = box_of(memory)
    values = np.empty(allowed.size)
    for place in range(allowed.size):
        values[place] = _largest_mean(agent.tables, box, allowed[place])
    return values
