"""How many rounds can be played without a decision or an update of the confidence set.

While one arm alone competes, a round needs no decision: the arm is pulled again until an end of its
interval leaves its frame. With S the sum of n rewards and N = n q s = q sigma sqrt(n), the ends are
(S ± N)/n, so the frame is left when S leaves lines in n. Some rounds ahead, N lies between two
numbers known now; two straight lines then bound S, and a round costs a reward and two comparisons.
The lines of limited rewards come from the convexity of their divergence (see `divergence`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.confidence.divergence import most_successes
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.intervals import for_families
from structuredbandits.confidence.memory import (
    ACTIVE,
    HEAD_IN,
    HEAD_OUT,
    LATEST,
    NEXT_Q,
    TAIL_IN,
    TAIL_OUT,
    ConfidenceState,
)
from structuredbandits.confidence.sorted_tables import SortedTables

# Further ahead N is less certain: by one part in twice the number of rewards seen.
_AHEAD, _SHARE = 256, 32.0
# Lines of limited rewards cost more, so that looking further ahead pays.
_AHEAD_OF_RATES, _SHARE_OF_RATES = 2048, 8.0
_FEWEST = 2  # fewer rounds cost more than they save

# The lines are this much closer, relative to the numbers added, so that rounding changes nothing.
_CLOSER = 2.0**-44


class FastForward(NamedTuple):
    """Rounds in which one arm is pulled without a decision.

    They end as soon as the sum of its rewards leaves the two lines: after i more rewards it has to
    lie between low + i low_step and high + i high_step.
    """

    arm: int
    rounds: int  # at most; 0: the next round needs a decision
    low: float
    low_step: float
    high: float
    high_step: float


#: The next round needs a decision.
NO_FAST_FORWARD = FastForward(0, 0, 0.0, 0.0, 0.0, 0.0)


@inline
def fast_forward_of(
    tables: SortedTables,
    evidence: Evidence,
    state: ConfidenceState,
    root_alpha: float,
    widths: np.ndarray,
    t: int,
    most: int,
) -> FastForward:
    """Fast-forward the only competitive arm after t rewards, for at most ``most`` rounds.

    ``widths``: (horizon + 1,), sqrt(2 log t) for each t.
    """
    arm = state.registers[LATEST]
    if state.registers[ACTIVE] != 1 or state.active[0] != arm:
        return NO_FAST_FORWARD
    count, frame = evidence.counts[arm], state.latest
    rounds = min(most, _AHEAD, int(count / _SHARE))
    if tables.cumulants.size > 0:
        rounds = min(most, _AHEAD_OF_RATES, int(count / _SHARE_OF_RATES))
    if root_alpha * widths[t + rounds] >= frame[NEXT_Q]:  # by then another arm admits a θ
        rounds = _rounds_before(frame[NEXT_Q], root_alpha, widths, t, rounds)
    if rounds < _FEWEST:
        return NO_FAST_FORWARD
    end, least_q, largest_q = (
        count + rounds,
        root_alpha * widths[t],
        root_alpha * widths[t + rounds],
    )
    low, last_low, high, last_high = _lines(tables, evidence, state, end, least_q, largest_q)
    if not low < evidence.sums[arm] < high:
        return NO_FAST_FORWARD
    # The larger of two lines is convex and the smaller concave: chords lie on the safe side.
    low_step, high_step = (last_low - low) / rounds, (last_high - high) / rounds
    return FastForward(
        arm,
        rounds,
        low,
        low_step if abs(low) < math.inf else 0.0,
        high,
        high_step if abs(high) < math.inf else 0.0,
    )


def _lines(
    tables: SortedTables,
    evidence: Evidence,
    state: ConfidenceState,
    end: float,
    least_q: float,
    largest_q: float,
) -> tuple[float, float, float, float]:
    """First and last value of the lower and of the upper line, for sums of rewards.

    They are for the latest arm, from its number of rewards to ``end``.
    """
    raise TypeError("_lines is for compiled code")


def _lines_of_gaussian(
    tables: SortedTables,
    evidence: Evidence,
    state: ConfidenceState,
    end: float,
    least_q: float,
    largest_q: float,
) -> tuple[float, float, float, float]:
    arm, frame = state.registers[LATEST], state.latest
    count, sigma = evidence.counts[arm], evidence.sigmas[arm]
    least, largest = least_q * sigma * math.sqrt(count), largest_q * sigma * math.sqrt(end)
    return (
        _above(count, frame, least, largest),
        _above(end, frame, least, largest),
        _below(count, frame, least, largest),
        _below(end, frame, least, largest),
    )


def _lines_of_rates(
    tables: SortedTables,
    evidence: Evidence,
    state: ConfidenceState,
    end: float,
    least_q: float,
    largest_q: float,
) -> tuple[float, float, float, float]:
    arm, frame = state.registers[LATEST], state.latest
    count, floor, width = evidence.counts[arm], tables.limits.floors[arm], tables.limits.ranges[arm]
    least, largest = 0.5 * least_q * least_q, 0.5 * largest_q * largest_q
    most, last_most = most_successes(count, end, frame[TAIL_OUT], frame[HEAD_IN], least, largest)
    # Failures are limited as successes are, with the natural parameters negated.
    fewest, last_fewest = most_successes(
        count, end, -frame[HEAD_OUT], -frame[TAIL_IN], least, largest
    )
    closer = _CLOSER * abs(floor) * end
    return (
        floor * count + width * (count - fewest) + closer,
        floor * end + width * (end - last_fewest) + closer,
        floor * count + width * most - closer,
        floor * end + width * last_most - closer,
    )


for_families(_lines, _lines_of_gaussian, _lines_of_rates)


@inline
def _rounds_before(
    next_q: float, root_alpha: float, widths: np.ndarray, t: int, rounds: int
) -> int:
    """Number of rounds before q reaches ``next_q``; in the last of ``rounds`` it has."""
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
    """The sum of ``count`` rewards above which neither end passes a value from above."""
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
