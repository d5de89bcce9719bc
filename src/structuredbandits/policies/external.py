"""Steps 1 and 2 of Algorithm-C where step 3 is an external Python object."""

from __future__ import annotations

import numpy as np

from structuredbandits._compiled import borrow, kernel, unowned
from structuredbandits.confidence.evidence import evidence_of
from structuredbandits.confidence.memory import confidence_state
from structuredbandits.policies.candidates import narrow
from structuredbandits.policies.compiled_run import CompiledRun
from structuredbandits.policies.protocol import moment_at
from structuredbandits.policies.run_kernels import DECIDED, HORIZON, RECEIVED


@kernel
def candidates_for(run: CompiledRun, allowed: np.ndarray) -> np.ndarray:
    """The arms among which the object chooses: (candidates,); a single one if it is settled."""
    agent, memory, clock = unowned(run.agent), unowned(run.memory), run.clock
    evidence = evidence_of(run.block)
    moment = moment_at(clock[RECEIVED], clock[DECIDED], clock[HORIZON])
    arm, candidates, n_candidates = narrow(
        agent, confidence_state(memory), evidence, allowed, moment, borrow(run.addresses)
    )
    if arm >= 0:
        single = np.empty(1, dtype=np.int64)
        single[0] = arm
        return single
    result: np.ndarray = candidates[:n_candidates].copy()
    return result
