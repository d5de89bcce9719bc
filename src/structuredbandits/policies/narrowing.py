"""Steps 1 and 2 of Algorithm-C, compiled: from a confidence set to the arms that may be pulled."""

from __future__ import annotations

from typing import Any

import numpy as np

from structuredbandits._compiled import inline, kernel
from structuredbandits.confidence.box import competitive_within
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.memory import (
    ACTIVE,
    ACTIVE_ROW,
    EMPTY_ROUNDS,
    SCRATCH_ROW,
    Box,
    Memory,
    box_of,
)
from structuredbandits.confidence.tables import BoxTables
from structuredbandits.policies.informative import informative_arm


@inline
def narrow(
    agent: Any, box: Box, evidence: Evidence, allowed: np.ndarray, moment: Any, generator: Any
) -> tuple[int, np.ndarray, int]:
    """Steps 1 and 2: an arm that is settled (or -1), and the candidates for step 3."""
    if box.registers[ACTIVE] == 0:  # no θ is plausible
        box.registers[EMPTY_ROUNDS] += 1
    arm = informative_arm(agent.informative, agent.tables, box, allowed, moment, generator)
    if arm < 0 and agent.pull_each_arm_first:
        arm = first_pull(evidence, allowed, generator)
    if arm >= 0:
        return arm, allowed, 0
    candidates, n_candidates = competitive_candidates(agent.tables, box, allowed)
    return -1, candidates, n_candidates


@inline
def competitive_candidates(
    tables: BoxTables, box: Box, allowed: np.ndarray
) -> tuple[np.ndarray, int]:
    """The allowed arms among which step 3 chooses, ascending, and how many they are."""
    row, n_candidates = ACTIVE_ROW, box.registers[ACTIVE]
    if n_candidates == 0:
        row, n_candidates = SCRATCH_ROW, allowed.size
        for place in range(n_candidates):  # a slice would take seconds to compile
            box.scratch[place] = allowed[place]
    elif allowed.size != tables.support.size:
        row, n_candidates = SCRATCH_ROW, competitive_within(tables, box, allowed, box.scratch)
    return box.rows[row], n_candidates


@inline
def first_pull(evidence: Evidence, allowed: np.ndarray, generator: Any) -> int:
    """An allowed arm that was never seen, with the fewest pending pulls; -1 if there is none."""
    chosen, ties = -1, 0
    for place in range(allowed.size):
        arm = allowed[place]
        if evidence.counts[arm] > 0.0:
            continue
        if chosen < 0 or evidence.pending[arm] < evidence.pending[chosen]:
            chosen, ties = arm, 1
        elif evidence.pending[arm] == evidence.pending[chosen]:
            ties += 1
            if generator.random() * ties < 1.0:
                chosen = arm
    return chosen


@kernel
def candidate_arms(
    agent: Any, memory: Memory, block: np.ndarray, allowed: np.ndarray
) -> np.ndarray:
    """The allowed arms among which step 3 would choose: (candidates,)."""
    candidates, n_candidates = competitive_candidates(agent.tables, box_of(memory), allowed)
    result: np.ndarray = candidates[:n_candidates].copy()
    return result
