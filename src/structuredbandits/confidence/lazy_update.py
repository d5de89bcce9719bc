"""A confidence set that is updated lazily: in a simulation only the competitive arms are read.

The end of an interval fluctuates around a value and admits and excludes the same θ repeatedly.
Where that does not change which arms are competitive, the set is not updated.
"""

from __future__ import annotations

from structuredbandits._compiled import inline
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.intervals import frame_value, mean_among_values
from structuredbandits.confidence.memory import (
    ACTIVE,
    HEAD_IN,
    HEAD_OUT,
    LAZY_LIMIT,
    OTHERS_LAG,
    TAIL_IN,
    TAIL_OUT,
    ConfidenceState,
)
from structuredbandits.confidence.sorted_tables import SEVERAL, SortedTables

# How many θ an end of an interval may pass before a lazy set follows.
_LAZY_LIMIT = 4

# The same while one arm alone competes, as a multiple: its interval then changes so rarely that a
# longer search pays.
_ALONE = 8


@inline
def make_lazy(state: ConfidenceState) -> None:
    """Update the set lazily from now on: only the competitive arms are exact in every round."""
    state.registers[LAZY_LIMIT] = _LAZY_LIMIT


@inline
def widen(
    tables: SortedTables, evidence: Evidence, state: ConfidenceState, arm: int, moved: int
) -> None:
    """Widen the frame of an arm whose ends have just passed ``moved`` θ.

    The wider frame covers only places of the ends that leave the competitive arms alone.
    """
    if tables.values.shape[0] > 1 or state.head[arm] >= state.tail[arm]:
        return  # with bounds, a θ has two places
    if state.registers[ACTIVE] == 1 and state.active[0] == arm:
        anchor = _find_anchor(tables, evidence, state, arm)
        if anchor >= 0:
            _widen_outwards(tables, state, arm, _ALONE * state.registers[LAZY_LIMIT])
            frame_value(tables, state, arm, TAIL_IN, 0, anchor + 1)
            frame_value(tables, state, arm, HEAD_IN, 0, anchor + 1)
            return
    if moved <= state.registers[LAZY_LIMIT]:
        _widen_outwards(tables, state, arm, state.registers[LAZY_LIMIT])
        _widen_inwards(tables, state, arm)


@inline
def _find_anchor(tables: SortedTables, evidence: Evidence, state: ConfidenceState, arm: int) -> int:
    """Place of a plausible θ near the arm's mean, in its order; -1 if there is none so near.

    While one arm alone competes, it goes on doing so as long as this θ is plausible.
    """
    values, order = tables.values[0, arm], tables.orders[0, arm]
    head, tail = state.head[arm], state.tail[arm]
    low, high = head, tail - 1  # the mean lies inside the arm's interval
    mean = mean_among_values(tables, evidence, arm)
    while low < high:
        middle = (low + high) >> 1
        if values[middle + 1] < mean:
            low = middle + 1
        else:
            high = middle
    place: int = low
    for step in range(_ALONE * state.registers[LAZY_LIMIT]):
        place += step if step % 2 == 1 else -step  # on both sides in turn
        if head <= place < tail and state.exclusions[order[place]] == 0:
            return place
    return -1


@inline
def _widen_outwards(tables: SortedTables, state: ConfidenceState, arm: int, most: int) -> None:
    """Let the ends move out over θ that belong to competitive arms or are excluded by others."""
    order = tables.orders[0, arm]
    tail, last = state.tail[arm], min(state.tail[arm] + most, order.size)
    while tail < last and _may_enter(tables, state, order[tail]):
        tail += 1
    head, first = state.head[arm], max(state.head[arm] - most, 0)
    while head > first and _may_enter(tables, state, order[head - 1]):
        head -= 1
    frame_value(tables, state, arm, TAIL_OUT, 0, tail + 1)
    frame_value(tables, state, arm, HEAD_OUT, 0, head)


@inline
def _widen_inwards(tables: SortedTables, state: ConfidenceState, arm: int) -> None:
    """Let the ends move in as long as what remains keeps every competitive arm competitive."""
    order, lazy_limit = tables.orders[0, arm], state.registers[LAZY_LIMIT]
    head, tail = state.head[arm], state.tail[arm]
    inner_tail, first = tail, max(tail - lazy_limit, head)
    while inner_tail > first and _can_be_spared(tables, state, order[inner_tail - 1]):
        inner_tail -= 1
    inner_head, last = head, min(head + lazy_limit, inner_tail)
    while inner_head < last and _can_be_spared(tables, state, order[inner_head]):
        inner_head += 1
    for place in range(inner_tail, tail):
        _take_back(tables, state, order[place])
    for place in range(head, inner_head):
        _take_back(tables, state, order[place])
    frame_value(tables, state, arm, TAIL_IN, 0, inner_tail)
    frame_value(tables, state, arm, HEAD_IN, 0, inner_head + 1)


@inline
def still_holds(
    tables: SortedTables, state: ConfidenceState, arm: int, other: int, head: int, tail: int
) -> bool:
    """Whether the frame of ``arm`` may stay, after another arm's ends moved out from these places.

    A θ that the other arm no longer excludes must belong to a competitive arm, or lie where the
    frame does not reach.
    """
    if tables.values.shape[0] > 1:
        return False
    order = tables.orders[0, other]
    for place in range(tail, state.tail[other]):
        if not _is_harmless(tables, state, arm, order[place]):
            return False
    for place in range(state.head[other], head):
        if not _is_harmless(tables, state, arm, order[place]):
            return False
    return True


@inline
def look_past(tables: SortedTables, state: ConfidenceState, arm: int, other: int) -> None:
    """Let another arm's interval grow over θ that are harmless while the frame of ``arm`` stays.

    They need not be let in one by one; once that frame changes, all arms are made exact again.
    """
    if tables.values.shape[0] > 1:
        return
    order, most = tables.orders[0, other], 2 * state.registers[LAZY_LIMIT]
    tail, last = state.tail[other], min(state.tail[other] + most, order.size)
    while tail < last and _is_harmless(tables, state, arm, order[tail]):
        tail += 1
    head, first = state.head[other], max(state.head[other] - most, 0)
    while head > first and _is_harmless(tables, state, arm, order[head - 1]):
        head -= 1
    frame_value(tables, state, other, TAIL_OUT, 0, tail + 1)
    frame_value(tables, state, other, HEAD_OUT, 0, head)
    state.registers[OTHERS_LAG] = 1


@inline
def _is_harmless(tables: SortedTables, state: ConfidenceState, arm: int, parameter: int) -> bool:
    only, value = tables.only_optimal[parameter], tables.points[0, parameter, arm]
    if only != SEVERAL and state.support[only] > 0:
        return True
    return bool(value >= state.latest[TAIL_OUT] or value <= state.latest[HEAD_OUT])


@inline
def _may_enter(tables: SortedTables, state: ConfidenceState, parameter: int) -> bool:
    """Whether a θ that this arm excludes can become plausible without making an arm competitive."""
    only = tables.only_optimal[parameter]
    return bool(state.exclusions[parameter] > 1 or (only != SEVERAL and state.support[only] > 0))


@inline
def _can_be_spared(tables: SortedTables, state: ConfidenceState, parameter: int) -> bool:
    """Whether a θ can leave as well; if so, its support is taken away until ``_take_back``."""
    if state.exclusions[parameter] > 0:
        return True
    only = tables.only_optimal[parameter]
    if only == SEVERAL or state.support[only] <= 1:
        return False
    state.support[only] -= 1
    return True


@inline
def _take_back(tables: SortedTables, state: ConfidenceState, parameter: int) -> None:
    if state.exclusions[parameter] == 0:
        state.support[tables.only_optimal[parameter]] += 1
