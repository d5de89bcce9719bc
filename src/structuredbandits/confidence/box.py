"""The paper's confidence set, kept by events instead of being computed anew each round.

A θ is plausible if, for every arm k, its mean (or some value between its bounds) lies strictly
inside (mu_hat_k - q s_k, mu_hat_k + q s_k), with q = sqrt(2 alpha log t) and
s_k = sigma_k/sqrt(n_k). In each arm's sorted order the θ that it rules out are a head and a tail,
so an arm's interval is two positions; every θ carries the number of positions that exclude it;
every arm carries the number of plausible θ at which it is optimal. A reward moves the two
positions of one arm. The intervals of the other arms only grow, since q does, and the q at which
each next lets a θ in is known beforehand: one comparison a round tells whether anything happens.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.tables import SEVERAL, BoxTables

# Sums such as mu_hat + q s are rounded, so an arm may let a θ in a few ulps before the computed q.
# Events fire this much early, relative to the numbers added; an exact comparison then decides.
_EARLY = 2.0**-50

# Registers: single numbers of a run.
PLAUSIBLE, ACTIVE, SOONEST, LATEST, EMPTY_ROUNDS = 0, 1, 2, 3, 4
_REGISTERS = 5
_INTEGER_ROWS = 7
ACTIVE_ROW, REGISTERS_ROW, SCRATCH_ROW = 3, 5, 6

# Columns of a frame: the q at which the arm's interval next lets a θ in, and the four values around
# the interval's ends (inside and outside the lower end, inside and outside the upper end).
NEXT_Q, HEAD_OUT, HEAD_IN, TAIL_IN, TAIL_OUT = 0, 1, 2, 3, 4
_FRAME = 5


class Memory(NamedTuple):
    """What a run remembers beside its evidence; every policy uses the same three arrays."""

    integers: np.ndarray  # (rows, at least arms) int64
    floats: np.ndarray  # (rows, at least arms) float64
    marks: np.ndarray  # (parameters,) int16


class Box(NamedTuple):
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
    frames: np.ndarray  # (arms, 5) next_q and the values around the ends of each arm's interval
    soonest_q: np.ndarray  # (1 used) the smallest next_q
    exclusions: np.ndarray  # (parameters,) how many positions exclude each θ


def new_memory(n_arms: int, n_parameters: int) -> Memory:
    """Unfilled memory of a run; ``reset`` makes it a full set. No θ: the run keeps no set."""
    width = max(n_arms, _REGISTERS)
    return Memory(
        np.zeros((_INTEGER_ROWS, width), dtype=np.int64),
        np.zeros((n_arms + 1, _FRAME)),
        np.zeros(n_parameters, dtype=np.int16),
    )


def keeps_set(memory: Memory) -> bool:
    """Whether a run has a confidence set; classical algorithms have none."""
    return memory.marks.size > 0


def count_empty_rounds(memory: Memory) -> int:
    """Decisions that were made while no θ was plausible."""
    return int(memory.integers[REGISTERS_ROW, EMPTY_ROUNDS]) if keeps_set(memory) else 0


@inline
def box_of(memory: Memory) -> Box:
    """Named rows of a memory."""
    integers, floats = memory.integers, memory.floats
    return Box(
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


@inline
def reset(tables: BoxTables, box: Box) -> None:
    """Every θ is plausible, no arm has been seen."""
    n_arms, n_parameters = tables.orders.shape[1], tables.orders.shape[2]
    for parameter in range(n_parameters):
        box.exclusions[parameter] = 0
    for arm in range(n_arms):
        box.head[arm] = 0
        box.tail[arm] = n_parameters
        _frame(tables, box, arm)
        box.top[arm] = n_parameters - 1
        box.frames[arm, NEXT_Q] = math.inf
        box.support[arm] = tables.support[arm]
    box.registers[PLAUSIBLE] = n_parameters
    _list_active(box, n_arms)
    box.registers[SOONEST] = 0
    box.registers[LATEST] = -1
    box.registers[EMPTY_ROUNDS] = 0
    box.soonest_q[0] = math.inf


@inline
def _frame(tables: BoxTables, box: Box, arm: int) -> None:
    """Keep the four values around the arm's positions."""
    values, position = tables.values[0, arm], box.tail[arm]
    box.frames[arm, TAIL_IN] = values[position]
    box.frames[arm, TAIL_OUT] = values[position + 1]
    values, position = tables.values[tables.values.shape[0] - 1, arm], box.head[arm]
    box.frames[arm, HEAD_OUT] = values[position]
    box.frames[arm, HEAD_IN] = values[position + 1]


@inline
def _list_active(box: Box, n_arms: int) -> None:
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
        _list_active(box, tables.support.size)


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
        _list_active(box, tables.support.size)


@inline
def _update(
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


@inline
def _foresee(evidence: Evidence, box: Box, arm: int) -> None:
    """Compute the q at which the arm's interval next lets a θ in."""
    mean = evidence.means[arm]
    above, below = box.frames[arm, TAIL_OUT], box.frames[arm, HEAD_OUT]
    nearest = math.inf
    if above < math.inf:
        nearest = (above - mean) - _EARLY * (abs(above) + abs(mean))
    if below > -math.inf:
        nearest = min(nearest, (mean - below) - _EARLY * (abs(below) + abs(mean)))
    box.frames[arm, NEXT_Q] = nearest / evidence.scales[arm]


@inline
def _find_soonest(box: Box, n_arms: int) -> None:
    soonest = 0
    for arm in range(1, n_arms):
        if box.frames[arm, NEXT_Q] < box.frames[soonest, NEXT_Q]:
            soonest = arm
    box.registers[SOONEST] = soonest
    box.soonest_q[0] = box.frames[soonest, NEXT_Q]


@inline
def follow(
    tables: BoxTables, evidence: Evidence, box: Box, ranks: np.ndarray, arm: int, q: float
) -> None:
    """Bring the set up to date after a reward of ``arm``, at the new q.

    ``ranks`` is (parameters, arms) for policies that read ``box.top``, (0, 0) for the others.
    """
    n_arms = tables.values.shape[1]
    latest = box.registers[LATEST]
    if latest != arm:  # the arm of the latest reward needs no foresight: it is updated anyway
        box.registers[LATEST] = arm
        box.frames[arm, NEXT_Q] = math.inf
        if latest >= 0:
            _foresee(evidence, box, latest)
            if box.frames[latest, NEXT_Q] < box.soonest_q[0]:
                box.registers[SOONEST] = latest
                box.soonest_q[0] = box.frames[latest, NEXT_Q]
        if box.registers[SOONEST] == arm:
            _find_soonest(box, n_arms)
    _update(tables, evidence, box, ranks, arm, q)
    if q >= box.soonest_q[0]:
        for other in range(n_arms):
            if q >= box.frames[other, NEXT_Q]:
                _update(tables, evidence, box, ranks, other, q)
                _foresee(evidence, box, other)
        _find_soonest(box, n_arms)


@inline
def rebuild(tables: BoxTables, evidence: Evidence, box: Box, ranks: np.ndarray, q: float) -> None:
    """The set that the evidence implies at q, from nothing."""
    empty_rounds = box.registers[EMPTY_ROUNDS]
    reset(tables, box)
    box.registers[EMPTY_ROUNDS] = empty_rounds
    n_arms = tables.values.shape[1]
    for arm in range(n_arms):
        if evidence.counts[arm] > 0.0:
            _update(tables, evidence, box, ranks, arm, q)
            _foresee(evidence, box, arm)
    _find_soonest(box, n_arms)


@inline
def competitive_within(
    tables: BoxTables, box: Box, allowed: np.ndarray, candidates: np.ndarray
) -> int:
    """Arms of ``allowed`` that are best among them at some plausible θ; returns how many.

    They are written into ``candidates``, ascending.
    """
    lower, upper = tables.bounds[0], tables.bounds[tables.bounds.shape[0] - 1]
    n_allowed = allowed.size
    found = np.zeros(n_allowed, dtype=np.bool_)
    n_found = 0
    for parameter in range(lower.shape[0]):
        if box.exclusions[parameter] != 0:
            continue
        best = -math.inf
        for place in range(n_allowed):
            best = max(best, lower[parameter, allowed[place]])
        for place in range(n_allowed):
            if not found[place] and upper[parameter, allowed[place]] >= best - tables.tolerance:
                found[place] = True
                n_found += 1
        if n_found == n_allowed:
            break
    count = 0
    for place in range(n_allowed):
        if found[place]:
            candidates[count] = allowed[place]
            count += 1
    return count
