"""The kernels of a run: one decision, one reward, a restore, and decisions for many subjects."""

from __future__ import annotations

from typing import Any

import numpy as np

from structuredbandits._compiled import borrow, inline, kernel, unowned
from structuredbandits.confidence.evidence import Evidence, evidence_of, record, summarise
from structuredbandits.confidence.memory import Memory
from structuredbandits.policies.compiled_run import CompiledRun
from structuredbandits.policies.protocol import Moment, decide, learn, moment_at, restore

# Positions in a run's clock, an int64 array.
RECEIVED, DECIDED, HORIZON = 0, 1, 2


@kernel
def decide_once(run: CompiledRun, allowed: np.ndarray) -> int:
    """Choose an arm, count the decision and the pending pull."""
    agent, memory, block = unowned(run.agent), unowned(run.memory), unowned(run.block)
    clock = run.clock
    evidence = evidence_of(block)
    moment = moment_at(clock[RECEIVED], clock[DECIDED], clock[HORIZON])
    generator = borrow(run.addresses)
    arm = decide(agent, memory, evidence, unowned(allowed), moment, generator)
    clock[DECIDED] += 1
    evidence.pending[arm] += 1.0
    return arm


@kernel
def learn_once(run: CompiledRun, arm: int, reward: float) -> None:
    """Take in one reward."""
    agent, memory, block = unowned(run.agent), unowned(run.memory), unowned(run.block)
    clock = run.clock
    evidence = evidence_of(block)
    record(evidence, arm, reward)
    if evidence.pending[arm] > 0.0:
        evidence.pending[arm] -= 1.0
    clock[RECEIVED] += 1
    moment = moment_at(clock[RECEIVED], clock[DECIDED], clock[HORIZON])
    learn(agent, memory, evidence, arm, moment)


@kernel
def restore_all(run: CompiledRun) -> None:
    """Means and scales from counts and sums, and the memory from them."""
    agent, memory, block = unowned(run.agent), unowned(run.memory), unowned(run.block)
    clock = run.clock
    evidence = evidence_of(block)
    for arm in range(block.shape[1]):
        summarise(evidence, arm)
    moment = moment_at(clock[RECEIVED], clock[DECIDED], clock[HORIZON])
    restore(agent, memory, evidence, moment)


@inline
def recall(
    agent: Any, memory: Memory, block: np.ndarray, decided: int, horizon: int
) -> tuple[Evidence, Moment]:
    """A subject's run from the counts and sums of its evidence: the memory is rebuilt."""
    evidence = evidence_of(block)
    received = 0.0
    for arm in range(block.shape[1]):
        summarise(evidence, arm)
        received += evidence.counts[arm]
    moment = moment_at(int(received), decided, horizon)
    restore(agent, memory, evidence, moment)
    return evidence, moment


@kernel
def decide_many(
    agent: Any,
    memory: Memory,
    blocks: np.ndarray,
    decided: np.ndarray,
    horizon: int,
    allowed: np.ndarray,
    addresses: np.ndarray,
) -> np.ndarray:
    """One decision for each of many subjects, from their evidence: (subjects,) arms.

    ``blocks`` is (subjects, rows, arms), ``decided`` (subjects,); neither is changed but for the
    derived rows of the evidence.
    """
    agent, memory = unowned(agent), unowned(memory)
    generator = borrow(addresses)
    chosen = np.empty(blocks.shape[0], dtype=np.int64)
    for subject in range(blocks.shape[0]):
        evidence, moment = recall(
            agent, memory, unowned(blocks[subject]), decided[subject], horizon
        )
        chosen[subject] = decide(agent, memory, evidence, allowed, moment, generator)
    return chosen
