"""Updating one arm's interval: the θ that its ends pass, and the arms that become competitive."""

from __future__ import annotations

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.intervals import frame_value, interval_of
from structuredbandits.confidence.memory import (
    ACTIVE,
    HEAD_IN,
    HEAD_OUT,
    PLAUSIBLE,
    TAIL_IN,
    TAIL_OUT,
    ConfidenceState,
)
from structuredbandits.confidence.sorted_tables import SEVERAL, SortedTables


@inline
def frame_arm(tables: SortedTables, state: ConfidenceState, arm: int) -> None:
    """Keep the four values around the arm's positions."""
    upper = tables.values.shape[0] - 1
    frame_value(tables, state, arm, TAIL_IN, 0, state.tail[arm])
    frame_value(tables, state, arm, TAIL_OUT, 0, state.tail[arm] + 1)
    frame_value(tables, state, arm, HEAD_OUT, upper, state.head[arm])
    frame_value(tables, state, arm, HEAD_IN, upper, state.head[arm] + 1)


@inline
def list_active(state: ConfidenceState, n_arms: int) -> None:
    """Update the list of the competitive arms, in ascending order."""
    active = 0
    for arm in range(n_arms):
        state.active[active] = arm  # overwritten by the next arm unless it counts
        active += 1 if state.support[arm] > 0 else 0
    state.registers[ACTIVE] = active


@inline
def _admit(tables: SortedTables, state: ConfidenceState, ranks: np.ndarray, parameter: int) -> int:
    """Count one exclusion of this θ less; returns whether the competitive arms may have changed.

    Whether it becomes plausible is unpredictable, so the common case (one optimal arm) has no
    branch on it.
    """
    excluded = state.exclusions[parameter] - 1
    state.exclusions[parameter] = excluded
    enters = 1 if excluded == 0 else 0
    state.registers[PLAUSIBLE] += enters
    for arm in range(ranks.shape[1]):  # no columns unless the largest means are asked for
        if enters == 1 and ranks[parameter, arm] > state.top[arm]:
            state.top[arm] = ranks[parameter, arm]
    only = tables.only_optimal[parameter]
    if only != SEVERAL:
        supported = state.support[only]
        state.support[only] = supported + enters
        return enters if supported == 0 else 0
    if enters == 1:
        for entry in range(tables.optimal_start[parameter], tables.optimal_start[parameter + 1]):
            state.support[tables.optimal_arms[entry]] += 1
    return enters


@inline
def _exclude(tables: SortedTables, state: ConfidenceState, parameter: int) -> int:
    """Count one exclusion of this θ more; returns whether the competitive arms may have changed."""
    excluded = state.exclusions[parameter] + 1
    state.exclusions[parameter] = excluded
    leaves = 1 if excluded == 1 else 0
    state.registers[PLAUSIBLE] -= leaves
    only = tables.only_optimal[parameter]
    if only != SEVERAL:
        supported = state.support[only] - leaves
        state.support[only] = supported
        return leaves if supported == 0 else 0
    if leaves == 1:
        for entry in range(tables.optimal_start[parameter], tables.optimal_start[parameter + 1]):
            state.support[tables.optimal_arms[entry]] -= 1
    return leaves


@inline
def _move_tail(
    tables: SortedTables, state: ConfidenceState, ranks: np.ndarray, arm: int, upper_end: float
) -> None:
    """Move the position from which the arm excludes θ to the new upper end of its interval."""
    values, order = tables.values[0, arm], tables.orders[0, arm]
    position = state.tail[arm]
    news = 0
    while values[np.uint32(position + 1)] < upper_end:
        news |= _admit(tables, state, ranks, order[np.uint32(position)])
        position += 1
    while not values[np.uint32(position)] < upper_end:
        position -= 1
        news |= _exclude(tables, state, order[np.uint32(position)])
    state.tail[arm] = position
    frame_value(tables, state, arm, TAIL_IN, 0, position)
    frame_value(tables, state, arm, TAIL_OUT, 0, position + 1)
    if news != 0:
        list_active(state, tables.support.size)


@inline
def _move_head(
    tables: SortedTables, state: ConfidenceState, ranks: np.ndarray, arm: int, lower_end: float
) -> None:
    """Move the position up to which the arm excludes θ to the new lower end of its interval."""
    last = tables.values.shape[0] - 1
    values, order = tables.values[last, arm], tables.orders[last, arm]
    position = state.head[arm]
    news = 0
    while values[np.uint32(position)] > lower_end:
        position -= 1
        news |= _admit(tables, state, ranks, order[np.uint32(position)])
    while not values[np.uint32(position + 1)] > lower_end:
        news |= _exclude(tables, state, order[np.uint32(position)])
        position += 1
    state.head[arm] = position
    frame_value(tables, state, arm, HEAD_OUT, last, position)
    frame_value(tables, state, arm, HEAD_IN, last, position + 1)
    if news != 0:
        list_active(state, tables.support.size)


@inline
def update(
    tables: SortedTables,
    evidence: Evidence,
    state: ConfidenceState,
    ranks: np.ndarray,
    arm: int,
    q: float,
) -> None:
    """Bring one arm's interval to its mean, its count and q."""
    lower_end, upper_end = interval_of(tables, evidence, state, arm, q)
    if not state.frames[arm, TAIL_IN] < upper_end <= state.frames[arm, TAIL_OUT]:
        _move_tail(tables, state, ranks, arm, upper_end)
    if not state.frames[arm, HEAD_OUT] <= lower_end < state.frames[arm, HEAD_IN]:
        _move_head(tables, state, ranks, arm, lower_end)
