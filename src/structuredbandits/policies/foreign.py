"""Steps 1 and 2 of Algorithm-C for an inner policy that is a Python object."""

from __future__ import annotations

import numpy as np

from structuredbandits._compiled import borrow, kernel, unowned
from structuredbandits.confidence.evidence import evidence_of
from structuredbandits.confidence.memory import box_of
from structuredbandits.policies.frame import Frame
from structuredbandits.policies.narrowing import narrow
from structuredbandits.policies.protocol import moment_at
from structuredbandits.policies.steps import DECIDED, HORIZON, RECEIVED


@kernel
def candidates_for(frame: Frame, allowed: np.ndarray) -> np.ndarray:
    """The arms among which the object chooses: (candidates,); a single one if it is settled."""
    agent, memory, clock = unowned(frame.agent), unowned(frame.memory), frame.clock
    evidence = evidence_of(frame.block)
    moment = moment_at(clock[RECEIVED], clock[DECIDED], clock[HORIZON])
    arm, candidates, n_candidates = narrow(
        agent, box_of(memory), evidence, allowed, moment, borrow(frame.addresses)
    )
    if arm >= 0:
        single = np.empty(1, dtype=np.int64)
        single[0] = arm
        return single
    result: np.ndarray = candidates[:n_candidates].copy()
    return result
