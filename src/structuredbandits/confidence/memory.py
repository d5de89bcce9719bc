"""What a run remembers besides its evidence, and where an event-driven set keeps what in it.

Every policy uses the same three arrays, so that one compiled loop serves all; only the confidence
set gives their places the names of this file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structuredbandits._compiled import inline

# Registers: single numbers of a run.
PLAUSIBLE, ACTIVE, LATEST, EMPTY_ROUNDS, LAZY_LIMIT, OTHERS_LAG = 0, 1, 2, 3, 4, 5
_REGISTERS = 6
_INTEGER_ROWS = 7
ACTIVE_ROW, REGISTERS_ROW, SCRATCH_ROW = 3, 5, 6

# Columns of a frame: the q at which the arm's interval next admits a θ, and the four values around
# the interval's ends (inside and outside the lower end, inside and outside the upper end).
NEXT_Q, HEAD_OUT, HEAD_IN, TAIL_IN, TAIL_OUT = 0, 1, 2, 3, 4
FRAME = 5
# Limited rewards need more of each frame, and two rows more of the latest one.
_ROWS_PER_ARM, _MORE_ROWS = 2, 3


class Memory(NamedTuple):
    """What a run remembers besides its evidence; every policy uses the same three arrays."""

    integers: np.ndarray  # (rows, at least arms) int64
    floats: np.ndarray  # (rows, at least arms) float64
    marks: np.ndarray  # (parameters,) int16


class ConfidenceState(NamedTuple):
    """Named rows of a memory that holds an event-driven set.

    The four values around an arm's two positions are kept beside it: as long as the ends of its
    interval stay between them, no θ crosses, and a reward costs four comparisons.
    """

    head: np.ndarray  # (arms,) number of θ excluded from below, in the upper order
    tail: np.ndarray  # (arms,) position from which θ are excluded from above, in the lower order
    support: np.ndarray  # (arms,) number of plausible θ at which the arm is optimal
    active: np.ndarray  # (arms,) the competitive arms, ascending; registers[ACTIVE] of them
    top: np.ndarray  # (arms,) an upper bound of the position of the largest plausible value
    registers: np.ndarray  # single integers
    rows: np.ndarray  # all integer rows: candidates are one of two of them
    scratch: np.ndarray  # (arms,) candidates when only some arms are allowed
    frames: np.ndarray  # (2 arms + 3, 5) next_q and the values around the ends of each interval
    latest: np.ndarray  # (5,) frame of the latest reward's arm, with the smallest next_q of all
    exclusions: np.ndarray  # (parameters,) how many positions exclude each θ


def new_memory(n_arms: int, n_parameters: int) -> Memory:
    """Unfilled memory of a run; ``reset`` makes it a full set. No θ: the run keeps no set."""
    width = max(n_arms, _REGISTERS)
    return Memory(
        np.zeros((_INTEGER_ROWS, width), dtype=np.int64),
        np.zeros((_ROWS_PER_ARM * n_arms + _MORE_ROWS, FRAME)),
        np.zeros(n_parameters, dtype=np.int16),
    )


def keeps_set(memory: Memory) -> bool:
    """Whether a run has a confidence set; classical algorithms have none."""
    return memory.marks.size > 0


def count_empty_rounds(memory: Memory) -> int:
    """Decisions that were made while no θ was plausible."""
    return int(memory.integers[REGISTERS_ROW, EMPTY_ROUNDS]) if keeps_set(memory) else 0


@inline
def confidence_state(memory: Memory) -> ConfidenceState:
    """Named rows of a memory."""
    integers, floats = memory.integers, memory.floats
    return ConfidenceState(
        integers[0],
        integers[1],
        integers[2],
        integers[3],
        integers[4],
        integers[5],
        integers,
        integers[6],
        floats,
        floats[floats.shape[0] - 1],
        memory.marks,
    )
