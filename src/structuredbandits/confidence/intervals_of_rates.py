"""Limited rewards: whether an interval passes a θ, without computing its ends.

A value x is inside the interval of an arm if n a - S x + A(S, n) < c, with a = log(1 + e^x) (see
`divergence`). The a of all values are tables, and those around an arm's positions are kept, so a
reward costs two logarithms. Where rounding could matter the ends are computed, so that the set
depends on the evidence alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structuredbandits._compiled import called, inline
from structuredbandits.confidence.divergence import CERTAIN, ROUNDING, successes_of, upper_end
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.memory import (
    FRAME,
    HEAD_IN,
    HEAD_OUT,
    NEXT_Q,
    TAIL_IN,
    TAIL_OUT,
    ConfidenceState,
)
from structuredbandits.confidence.sorted_tables import SortedTables

# In place of a beyond the first and the last θ: always inside, or always outside.
_SURE = 1e200


class RateEvidence(NamedTuple):
    """The rewards of an arm, in units of their limits."""

    n: float  # rewards
    successes: float  # S
    x: float  # natural parameter of the mean
    constant: float  # A(S, n)


@inline
def rate_evidence(tables: SortedTables, evidence: Evidence, arm: int) -> RateEvidence:
    """The rewards of an arm that was seen."""
    count, limits = evidence.counts[arm], tables.limits
    successes = successes_of(evidence.sums[arm], count, limits.floors[arm], limits.ranges[arm])
    failures = count - successes
    if successes <= 0.0:
        return RateEvidence(count, successes, -math.inf, 0.0)
    if failures <= 0.0:
        return RateEvidence(count, successes, math.inf, 0.0)
    log_success, log_failure = math.log(successes / count), math.log(failures / count)
    constant = successes * log_success + failures * log_failure
    return RateEvidence(count, successes, log_success - log_failure, constant)


@called
def _boundary(
    values: np.ndarray,
    cumulants: np.ndarray,
    position: int,
    is_head: bool,
    seen: RateEvidence,
    c: float,
) -> int:
    """The position between the values inside an end and those outside; -1 if rounding matters."""
    last, limit = values.size - 2, c - seen.constant
    while position < last and (
        is_head != _is_inside(values[position + 1], cumulants[position + 1], is_head, seen, limit)
    ):
        position += 1
    while position > 0 and (
        is_head == _is_inside(values[position], cumulants[position], is_head, seen, limit)
    ):
        position -= 1
    for place in range(max(position, 1), min(position + 1, last) + 1):
        x, a = values[place], cumulants[place]
        near = abs(seen.n * a - seen.successes * x - limit) <= _error(seen.n, abs(x))
        if near and not (x >= seen.x if is_head else x <= seen.x):
            return -1
    return position


@inline
def _is_inside(x: float, a: float, is_head: bool, seen: RateEvidence, limit: float) -> bool:
    """Whether a value is inside the lower end, or the upper one; limit = c - A(S, n)."""
    mean_or_further = x >= seen.x if is_head else x <= seen.x
    return mean_or_further or seen.n * a - seen.successes * x < limit


@inline
def _error(count: float, x: float) -> float:
    """A bound of the rounding error of the divergence at values up to x."""
    return ROUNDING * count * (2.0 + 2.0 * x)


def frame_value(
    tables: SortedTables, state: ConfidenceState, arm: int, column: int, side: int, place: int
) -> None:
    """Keep one value and its a as a column of the arm's frames."""
    state.frames[arm, column] = tables.values[side, arm, place]
    state.frames[tables.support.size + arm, column] = tables.cumulants[side, arm, place]


def mean_among_values(tables: SortedTables, evidence: Evidence, arm: int) -> float:
    """The natural parameter of the mean of the arm's rewards."""
    mean: float = rate_evidence(tables, evidence, arm).x
    return mean


def interval_of(
    tables: SortedTables, evidence: Evidence, state: ConfidenceState, arm: int, q: float
) -> tuple[float, float]:
    """The ends of an arm's interval, or the values next to them outside: no θ lies between."""
    c = 0.5 * q * q
    seen, upper = rate_evidence(tables, evidence, arm), tables.values.shape[0] - 1
    values = tables.values[upper, arm]
    head = _boundary(values, tables.cumulants[upper, arm], state.head[arm], True, seen, c)
    low = values[head] if head >= 0 else -upper_end(seen.n - seen.successes, seen.n, c)
    values = tables.values[0, arm]
    tail = _boundary(values, tables.cumulants[0, arm], state.tail[arm], False, seen, c)
    high = values[tail + 1] if tail >= 0 else upper_end(seen.successes, seen.n, c)
    return low, high


def foresee(tables: SortedTables, evidence: Evidence, state: ConfidenceState, arm: int) -> None:
    """Compute the q = sqrt(2 c) at which the interval next admits a θ, early by rounding errors."""
    seen, soonest = rate_evidence(tables, evidence, arm), math.inf
    for place in (HEAD_OUT, TAIL_OUT):
        x = state.frames[arm, place]
        if abs(x) < math.inf:
            a = state.frames[tables.support.size + arm, place]
            c = seen.constant + seen.n * a - seen.successes * x - _error(seen.n, abs(x))
            soonest = min(soonest, c)
    state.frames[arm, NEXT_Q] = math.sqrt(2.0 * max(soonest, 0.0))


def keep_latest(tables: SortedTables, state: ConfidenceState, arm: int) -> None:
    """Keep a and x of the latest frame; the first column has the size of rounding errors."""
    n_arms, largest = tables.support.size, 0.0
    kept, a, b = state.frames[n_arms + arm], state.frames[2 * n_arms], state.frames[2 * n_arms + 1]
    for place in range(1, FRAME):
        x = state.latest[place]
        if abs(x) < math.inf:
            a[place], b[place] = kept[place], x
            if abs(x) < CERTAIN:
                largest = max(largest, abs(x))
        else:
            a[place], b[place] = _SURE if place in (HEAD_OUT, TAIL_OUT) else -_SURE, 0.0
    a[0] = _error(1.0, largest)


def stays_in_frame(
    tables: SortedTables, evidence: Evidence, state: ConfidenceState, arm: int, q: float
) -> bool:
    """Whether both ends of the arm's interval surely are within the latest frame."""
    c = 0.5 * q * q
    seen, n_arms, frame = rate_evidence(tables, evidence, arm), tables.support.size, state.latest
    count, successes = seen.n, seen.successes
    a, b = state.frames[2 * n_arms], state.frames[2 * n_arms + 1]
    error = a[0] * count
    less, more = c - error - seen.constant, c + error - seen.constant
    return bool(
        (frame[TAIL_IN] < seen.x or count * a[TAIL_IN] - successes * b[TAIL_IN] < less)
        and (frame[HEAD_IN] > seen.x or count * a[HEAD_IN] - successes * b[HEAD_IN] < less)
        and frame[TAIL_OUT] >= seen.x
        and count * a[TAIL_OUT] - successes * b[TAIL_OUT] > more
        and frame[HEAD_OUT] <= seen.x
        and count * a[HEAD_OUT] - successes * b[HEAD_OUT] > more
    )
