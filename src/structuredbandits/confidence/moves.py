"""How one arm's interval moves: the θ that it passes, and the arms that they make competitive."""

from __future__ import annotations

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.memory import (
    ACTIVE,
    HEAD_IN,
    HEAD_OUT,
    PLAUSIBLE,
    TAIL_IN,
    TAIL_OUT,
    Box,
)
from structuredbandits.confidence.tables import SEVERAL, BoxTables


@inline
def frame_arm(tables: BoxTables, box: Box, arm: int) -> None:
    """Keep the four values around the arm's positions."""
    values, position = tables.values[0, arm], box.tail[arm]
    box.frames[arm, TAIL_IN] = values[position]
    box.frames[arm, TAIL_OUT] = values[position + 1]
    values, position = tables.values[tables.values.shape[0] - 1, arm], box.head[arm]
    box.frames[arm, HEAD_OUT] = values[position]
    box.frames[arm, HEAD_IN] = values[position + 1]


@inline
def list_active(box: Box, n_arms: int) -> None:
    """List the competitive arms anew, in ascending order."""
    active = 0
    for arm in range(n_arms):
        box.active[active] = arm  # overwritten by the next arm unless it counts
        active += 1 if box.support[arm] > 0 else 0
    box.registers[ACTIVE] = active


@inline
def _admit(tables: BoxTables, box: Box, ranks: np.ndarray, parameter: int) -> int:
    """One position fewer excludes this θ; returns whether the competitive arms may have changed.

    Whether it becomes plausible is unpredictable, so the common case (one optimal arm) has no
    branch on it.
    """
    excluded = box.exclusions[parameter] - 1
    box.exclusions[parameter] = excluded
    enters = 1 if excluded == 0 else 0
    box.registers[PLAUSIBLE] += enters
    for arm in range(ranks.shape[1]):  # no columns unless the largest means are asked for
        if enters == 1 and ranks[parameter, arm] > box.top[arm]:
            box.top[arm] = ranks[parameter, arm]
    only = tables.only_optimal[parameter]
    if only != SEVERAL:
        supported = box.support[only]
        box.support[only] = supported + enters
        return enters if supported == 0 else 0
    if enters == 1:
        for entry in range(tables.optimal_start[parameter], tables.optimal_start[parameter + 1]):
            box.support[tables.optimal_arms[entry]] += 1
    return enters


@inline
def _exclude(tables: BoxTables, box: Box, parameter: int) -> int:
    """One position more excludes this θ; returns whether the competitive arms may have changed."""
    excluded = box.exclusions[parameter] + 1
    box.exclusions[parameter] = excluded
    leaves = 1 if excluded == 1 else 0
    box.registers[PLAUSIBLE] -= leaves
    only = tables.only_optimal[parameter]
    if only != SEVERAL:
        supported = box.support[only] - leaves
        box.support[only] = supported
        return leaves if supported == 0 else 0
    if leaves == 1:
        for entry in range(tables.optimal_start[parameter], tables.optimal_start[parameter + 1]):
            box.support[tables.optimal_arms[entry]] -= 1
    return leaves


@inline
def _move_tail(tables: BoxTables, box: Box, ranks: np.ndarray, arm: int, upper_end: float) -> None:
    """Move the position from which the arm excludes θ to the new upper end of its interval."""
    values, order = tables.values[0, arm], tables.orders[0, arm]
    position = box.tail[arm]
    news = 0
    while values[np.uint32(position + 1)] < upper_end:
        news |= _admit(tables, box, ranks, order[np.uint32(position)])
        position += 1
    while not values[np.uint32(position)] < upper_end:
        position -= 1
        news |= _exclude(tables, box, order[np.uint32(position)])
    box.tail[arm] = position
    box.frames[arm, TAIL_IN] = values[position]
    box.frames[arm, TAIL_OUT] = values[position + 1]
    if news != 0:
        list_active(box, tables.support.size)


@inline
def _move_head(tables: BoxTables, box: Box, ranks: np.ndarray, arm: int, lower_end: float) -> None:
    """Move the position up to which the arm excludes θ to the new lower end of its interval."""
    last = tables.values.shape[0] - 1
    values, order = tables.values[last, arm], tables.orders[last, arm]
    position = box.head[arm]
    news = 0
    while values[np.uint32(position)] > lower_end:
        position -= 1
        news |= _admit(tables, box, ranks, order[np.uint32(position)])
    while not values[np.uint32(position + 1)] > lower_end:
        news |= _exclude(tables, box, order[np.uint32(position)])
        position += 1
    box.head[arm] = position
    box.frames[arm, HEAD_OUT] = values[position]
    box.frames[arm, HEAD_IN] = values[position + 1]
    if news != 0:
        list_active(box, tables.support.size)


@inline
def update(
    tables: BoxTables, evidence: Evidence, box: Box, ranks: np.ndarray, arm: int, q: float
) -> None:
    """Bring one arm's interval to its mean, its count and q."""
    radius = q * evidence.scales[arm]
    upper_end = evidence.means[arm] + radius
    if not box.frames[arm, TAIL_IN] < upper_end <= box.frames[arm, TAIL_OUT]:
        _move_tail(tables, box, ranks, arm, upper_end)
    lower_end = evidence.means[arm] - radius
    if not box.frames[arm, HEAD_OUT] <= lower_end < box.frames[arm, HEAD_IN]:
        _move_head(tables, box, ranks, arm, lower_end)
