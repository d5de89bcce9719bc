"""How long one arm's rewards can go on without a look at the set.

While one arm alone competes, a round needs no decision: the arm is pulled again until an end of its
interval leaves its frame. With S the sum of n rewards and N = n q s = q sigma sqrt(n), the ends are
(S ± N)/n, so the frame is left when S leaves lines in n. Some rounds ahead, N lies between two
numbers known now; two straight lines then bound S, and a round costs a reward and two comparisons.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.memory import (
    ACTIVE,
    HEAD_IN,
    HEAD_OUT,
    LATEST,
    NEXT_Q,
    TAIL_IN,
    TAIL_OUT,
    Box,
)

# Further ahead N is less certain, by one part in twice as many as the rewards seen.
_AHEAD, _SHARE = 256, 32.0
_FEWEST = 2  # below, asking costs more than it saves

# The lines are this much closer, relative to the numbers added, so that rounding changes nothing.
_CLOSER = 2.0**-44


class Corridor(NamedTuple):
    """Where the sum of an arm's rewards may go: after i more of them between two lines in i."""

    arm: int
    rounds: int  # that many at most; 0: each round needs a decision
    low: float
    low_step: float
    high: float
    high_step: float


#: Each round needs a decision.
NO_CORRIDOR = Corridor(0, 0, 0.0, 0.0, 0.0, 0.0)


@inline
def corridor_of(
    evidence: Evidence, box: Box, root_alpha: float, widths: np.ndarray, t: int, most: int
) -> Corridor:
    """The corridor of the arm that alone competes, after t rewards, for at most so many rounds.

    ``widths``: (horizon + 1,), sqrt(2 log t) for each t.
    """
    arm = box.registers[LATEST]
    if box.registers[ACTIVE] != 1 or box.active[0] != arm:
        return NO_CORRIDOR
    count, frame = evidence.counts[arm], box.latest
    rounds = min(most, _AHEAD, int(count / _SHARE))
    if root_alpha * widths[t + rounds] >= frame[NEXT_Q]:  # before, another arm lets a θ in
        rounds = _rounds_before(frame[NEXT_Q], root_alpha, widths, t, rounds)
    if rounds < _FEWEST:
        return NO_CORRIDOR
    sigma, end = evidence.sigmas[arm], count + rounds
    least = root_alpha * widths[t] * sigma * math.sqrt(count)
    largest = root_alpha * widths[t + rounds] * sigma * math.sqrt(end)
    low = _above(count, frame, least, largest)
    high = _below(count, frame, least, largest)
    if not low < evidence.sums[arm] < high:
        return NO_CORRIDOR
    # The larger of two lines is convex and the smaller concave: chords lie on the safe side.
    low_step = (_above(end, frame, least, largest) - low) / rounds
    high_step = (_below(end, frame, least, largest) - high) / rounds
    return Corridor(
        arm,
        rounds,
        low,
        low_step if abs(low) < math.inf else 0.0,
        high,
        high_step if abs(high) < math.inf else 0.0,
    )


@inline
def _rounds_before(
    next_q: float, root_alpha: float, widths: np.ndarray, t: int, rounds: int
) -> int:
    """How many of these rounds end before q reaches a value, which the last does."""
    low, high = 0, rounds - 1
    while low < high:
        middle = (low + high + 1) >> 1
        if root_alpha * widths[t + middle] < next_q:
            low = middle
        else:
            high = middle - 1
    return low


@inline
def _above(count: float, frame: np.ndarray, least: float, largest: float) -> float:
    """A sum of so many rewards above this keeps both ends above what they must not pass."""
    first: float = _shifted(count * frame[TAIL_IN], -least, 1.0)
    second: float = _shifted(count * frame[HEAD_OUT], largest, 1.0)
    return max(first, second)


@inline
def _below(count: float, frame: np.ndarray, least: float, largest: float) -> float:
    first: float = _shifted(count * frame[TAIL_OUT], -largest, -1.0)
    second: float = _shifted(count * frame[HEAD_IN], least, -1.0)
    return min(first, second)


@inline
def _shifted(line: float, shift: float, side: float) -> float:
    if abs(line) == math.inf:
        return line
    return line + shift + side * _CLOSER * (abs(line) + abs(shift))
