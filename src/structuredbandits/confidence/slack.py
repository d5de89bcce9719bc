"""A set that may lag: in a simulation only the competitive arms are read, not the set itself.

The end of an interval wanders around a value and lets the same θ in and out again and again. Where
that changes no arm's standing, the set need not follow, and the round costs nothing more.
"""

from __future__ import annotations

from structuredbandits._compiled import inline
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.memory import (
    ACTIVE,
    HEAD_IN,
    HEAD_OUT,
    OTHERS_LAG,
    SLACK,
    TAIL_IN,
    TAIL_OUT,
    Box,
)
from structuredbandits.confidence.tables import SEVERAL, BoxTables

# How many θ an end of a relaxed run's interval may pass before the set follows.
_SLACK = 4

# The same while one arm alone competes, as a multiple: its interval is then looked at so rarely
# that a longer search pays.
_ALONE = 8


@inline
def relax(box: Box) -> None:
    """From now on only the competitive arms are read, not the set itself: it may lag behind.

    The end of an interval wanders around a value and lets the same θ in and out again and again.
    Where that changes no arm's standing, the set of a relaxed run need not follow.
    """
    box.registers[SLACK] = _SLACK


@inline
def widen(tables: BoxTables, evidence: Evidence, box: Box, arm: int, moved: int) -> None:
    """Widen the frame of an arm whose ends have just moved by so many θ.

    The wider frame covers only places of the ends that leave the competitive arms alone.
    """
    if tables.values.shape[0] > 1 or box.head[arm] >= box.tail[arm]:
        return  # with bounds, a θ has two places
    if box.registers[ACTIVE] == 1 and box.active[0] == arm:
        anchor = _find_anchor(tables, evidence, box, arm)
        if anchor >= 0:
            _widen_outwards(tables, box, arm, _ALONE * box.registers[SLACK])
            box.frames[arm, TAIL_IN] = tables.values[0, arm, anchor + 1]
            box.frames[arm, HEAD_IN] = tables.values[0, arm, anchor + 1]
            return
    if moved <= box.registers[SLACK]:
        _widen_outwards(tables, box, arm, box.registers[SLACK])
        _widen_inwards(tables, box, arm)


@inline
def _find_anchor(tables: BoxTables, evidence: Evidence, box: Box, arm: int) -> int:
    """Place of a plausible θ near the arm's mean, in its order; -1 if there is none so near.

    While one arm alone competes, it goes on doing so as long as this θ is plausible.
    """
    values, order = tables.values[0, arm], tables.orders[0, arm]
    head, tail = box.head[arm], box.tail[arm]
    low, high = head, tail - 1  # the mean lies inside the arm's interval
    mean = evidence.means[arm]
    while low < high:
        middle = (low + high) >> 1
        if values[middle + 1] < mean:
            low = middle + 1
        else:
            high = middle
    place: int = low
    for step in range(_ALONE * box.registers[SLACK]):
        place += step if step % 2 == 1 else -step  # on both sides in turn
        if head <= place < tail and box.exclusions[order[place]] == 0:
            return place
    return -1


@inline
def _widen_outwards(tables: BoxTables, box: Box, arm: int, most: int) -> None:
    """Let the ends move out over θ that belong to competitive arms or are excluded by others."""
    values, order = tables.values[0, arm], tables.orders[0, arm]
    tail, last = box.tail[arm], min(box.tail[arm] + most, order.size)
    while tail < last and _may_enter(tables, box, order[tail]):
        tail += 1
    head, first = box.head[arm], max(box.head[arm] - most, 0)
    while head > first and _may_enter(tables, box, order[head - 1]):
        head -= 1
    box.frames[arm, TAIL_OUT] = values[tail + 1]
    box.frames[arm, HEAD_OUT] = values[head]


@inline
def _widen_inwards(tables: BoxTables, box: Box, arm: int) -> None:
    """Let the ends move in as long as what remains keeps every competitive arm competitive."""
    values, order, slack = tables.values[0, arm], tables.orders[0, arm], box.registers[SLACK]
    head, tail = box.head[arm], box.tail[arm]
    inner_tail, first = tail, max(tail - slack, head)
    while inner_tail > first and _can_be_spared(tables, box, order[inner_tail - 1]):
        inner_tail -= 1
    inner_head, last = head, min(head + slack, inner_tail)
    while inner_head < last and _can_be_spared(tables, box, order[inner_head]):
        inner_head += 1
    for place in range(inner_tail, tail):
        _take_back(tables, box, order[place])
    for place in range(head, inner_head):
        _take_back(tables, box, order[place])
    box.frames[arm, TAIL_IN] = values[inner_tail]
    box.frames[arm, HEAD_IN] = values[inner_head + 1]


@inline
def still_holds(tables: BoxTables, box: Box, arm: int, other: int, head: int, tail: int) -> bool:
    """Whether the frame of ``arm`` may stay, after another arm's ends moved out from these places.

    A θ that the other arm no longer excludes must belong to a competitive arm, or lie where the
    frame does not reach.
    """
    if tables.values.shape[0] > 1:
        return False
    order = tables.orders[0, other]
    for place in range(tail, box.tail[other]):
        if not _is_harmless(tables, box, arm, order[place]):
            return False
    for place in range(box.head[other], head):
        if not _is_harmless(tables, box, arm, order[place]):
            return False
    return True


@inline
def look_past(tables: BoxTables, box: Box, arm: int, other: int) -> None:
    """Let another arm's interval grow over θ that are harmless while the frame of ``arm`` stays.

    They need not be let in one by one; once that frame changes, all arms are made exact again.
    """
    if tables.values.shape[0] > 1:
        return
    values, order, most = tables.values[0, other], tables.orders[0, other], 2 * box.registers[SLACK]
    tail, last = box.tail[other], min(box.tail[other] + most, order.size)
    while tail < last and _is_harmless(tables, box, arm, order[tail]):
        tail += 1
    head, first = box.head[other], max(box.head[other] - most, 0)
    while head > first and _is_harmless(tables, box, arm, order[head - 1]):
        head -= 1
    box.frames[other, TAIL_OUT] = values[tail + 1]
    box.frames[other, HEAD_OUT] = values[head]
    box.registers[OTHERS_LAG] = 1


@inline
def _is_harmless(tables: BoxTables, box: Box, arm: int, parameter: int) -> bool:
    only, value = tables.only_optimal[parameter], tables.bounds[0, parameter, arm]
    if only != SEVERAL and box.support[only] > 0:
        return True
    return bool(value >= box.latest[TAIL_OUT] or value <= box.latest[HEAD_OUT])


@inline
def _may_enter(tables: BoxTables, box: Box, parameter: int) -> bool:
    """Whether a θ that this arm excludes can become plausible without making an arm competitive."""
    only = tables.only_optimal[parameter]
    return bool(box.exclusions[parameter] > 1 or (only != SEVERAL and box.support[only] > 0))


@inline
def _can_be_spared(tables: BoxTables, box: Box, parameter: int) -> bool:
    """Whether a θ can leave as well; if so, its support is taken away until ``_take_back``."""
    if box.exclusions[parameter] > 0:
        return True
    only = tables.only_optimal[parameter]
    if only == SEVERAL or box.support[only] <= 1:
        return False
    box.support[only] -= 1
    return True


@inline
def _take_back(tables: BoxTables, box: Box, parameter: int) -> None:
    if box.exclusions[parameter] == 0:
        box.support[tables.only_optimal[parameter]] += 1
