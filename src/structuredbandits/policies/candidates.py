"""Steps 1 and 2 of Algorithm-C, compiled: from a confidence set to the arms that may be pulled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structuredbandits._compiled import inline, kernel
from structuredbandits.confidence.event_driven_set import competitive_within
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.memory import (
    ACTIVE,
    ACTIVE_ROW,
    EMPTY_ROUNDS,
    SCRATCH_ROW,
    ConfidenceState,
    Memory,
    confidence_state,
)
from structuredbandits.confidence.sorted_tables import SortedTables
from structuredbandits.policies.algorithm import Snapshot
from structuredbandits.policies.informative import informative_arm
from structuredbandits.policies.ties import take_larger


@inline
def narrow(
    agent: Any,
    state: ConfidenceState,
    evidence: Evidence,
    allowed: np.ndarray,
    moment: Any,
    generator: Any,
) -> tuple[int, np.ndarray, int]:
    """Steps 1 and 2: an arm that is already chosen (or -1), and the candidates for step 3."""
    if state.registers[ACTIVE] == 0:  # no θ is plausible
        state.registers[EMPTY_ROUNDS] += 1
    arm = informative_arm(agent.informative, agent.tables, state, allowed, moment, generator)
    if arm < 0 and agent.pull_each_arm_first:
        arm = first_pull(evidence, allowed, generator)
    if arm >= 0:
        return arm, allowed, 0
    candidates, n_candidates = competitive_candidates(agent.tables, state, allowed)
    return -1, candidates, n_candidates


@inline
def competitive_candidates(
    tables: SortedTables, state: ConfidenceState, allowed: np.ndarray
) -> tuple[np.ndarray, int]:
    """The allowed arms among which step 3 chooses, ascending, and how many they are."""
    row, n_candidates = ACTIVE_ROW, state.registers[ACTIVE]
    if n_candidates == 0:
        row, n_candidates = SCRATCH_ROW, allowed.size
        for place in range(n_candidates):  # a slice would take seconds to compile
            state.scratch[place] = allowed[place]
    elif allowed.size != tables.support.size:
        row, n_candidates = SCRATCH_ROW, competitive_within(tables, state, allowed, state.scratch)
    return state.rows[row], n_candidates


@inline
def first_pull(evidence: Evidence, allowed: np.ndarray, generator: Any) -> int:
    """An allowed arm that was never seen, with the fewest pending pulls; -1 if there is none."""
    best, chosen, ties = -math.inf, -1, 0
    for place in range(allowed.size):
        arm = np.int64(allowed[place])
        if evidence.counts[arm] == 0.0:
            fewer = -evidence.pending[arm]
            best, chosen, ties = take_larger(best, chosen, ties, fewer, arm, generator)
    return chosen


@kernel
def _candidate_arms(tables: SortedTables, memory: Memory, allowed: np.ndarray) -> np.ndarray:
    candidates, n_candidates = competitive_candidates(tables, confidence_state(memory), allowed)
    result: np.ndarray = candidates[:n_candidates].copy()
    return result


def candidate_arms(snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
    """The allowed arms among which step 3 would choose: (candidates,).

    For any algorithm whose agent has ``tables`` and whose memory begins with a confidence set.
    """
    kept = snapshot.memory
    memory = Memory(kept.integers, kept.floats, kept.marks)  # one type, whatever else is kept
    return np.asarray(_candidate_arms(snapshot.agent.tables, memory, allowed))
