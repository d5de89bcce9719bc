"""A set that may lag: in a simulation only the competitive arms are read, not the set itself.

The end of an interval wanders around a value and lets the same θ in and out again and again. Where
that changes no arm's standing, the set need not follow, and the round costs nothing more.
"""

from __future__ import annotations

from structuredbandits._compiled import inline
from structuredbandits.confidence.memory import (
    HEAD_IN,
    HEAD_OUT,
    SLACK,
    TAIL_IN,
    TAIL_OUT,
    Box,
)
from structuredbandits.confidence.tables import SEVERAL, BoxTables

# How many θ an end of a relaxed run's interval may pass before the set follows.
_SLACK = 4


@inline
def relax(box: Box) -> None:
    """From now on only the competitive arms are read, not the set itself: it may lag behind.

    The end of an interval wanders around a value and lets the same θ in and out again and again.
    Where that changes no arm's standing, the set of a relaxed run need not follow.
    """
    box.registers[SLACK] = _SLACK


@inline
def widen(tables: BoxTables, box: Box, arm: int) -> None:
    """Widen the arm's frame over all places of its ends that leave the competitive arms alone.

    The θ between the innermost ends must keep every competitive arm competitive, and those between
    the outermost must belong to competitive arms or be excluded by other arms.
    """
    values, order, slack = tables.values[0, arm], tables.orders[0, arm], box.registers[SLACK]
    head, tail = box.head[arm], box.tail[arm]
    if head >= tail or tables.values.shape[0] > 1:  # with bounds, a θ has two places
        return
    outer_tail, last = tail, min(tail + slack, order.size)
    while outer_tail < last and _may_enter(tables, box, order[outer_tail]):
        outer_tail += 1
    outer_head, first = head, max(head - slack, 0)
    while outer_head > first and _may_enter(tables, box, order[outer_head - 1]):
        outer_head -= 1
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
    box.frames[arm, TAIL_OUT] = values[outer_tail + 1]
    box.frames[arm, TAIL_IN] = values[inner_tail]
    box.frames[arm, HEAD_OUT] = values[outer_head]
    box.frames[arm, HEAD_IN] = values[inner_head + 1]


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
