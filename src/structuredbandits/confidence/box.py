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
_FLOAT_ROWS = 6


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
    scratch: np.ndarray  # (arms,) candidates when only some arms are allowed
    next_q: np.ndarray  # (arms,) the q at which the arm's interval next lets a θ in
    soonest_q: np.ndarray  # (1 used) the smallest of them
    head_out: np.ndarray  # (arms,) the last value below the interval, or -inf
    head_in: np.ndarray  # (arms,) the first value above its lower end, or inf
    tail_in: np.ndarray  # (arms,) the last value below its upper end, or -inf
    tail_out: np.ndarray  # (arms,) the first value beyond the interval, or inf
    exclusions: np.ndarray  # (parameters,) how many positions exclude each θ


def new_memory(n_arms: int, n_parameters: int) -> Memory:
    """Unfilled memory of a run; ``reset`` makes it a full set."""
    width = max(n_arms, _REGISTERS)
    return Memory(
        np.zeros((_INTEGER_ROWS, width), dtype=np.int64),
        np.zeros((_FLOAT_ROWS, width)),
        np.zeros(n_parameters, dtype=np.int16),
    )


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
        integers[6],
        floats[0],
        floats[1],
        floats[2],
        floats[3],
        floats[4],
        floats[5],
        memory.marks,
    )


@inline
def reset(tables: BoxTables, box: Box) -> None:
    """Every θ is plausible, no arm has been seen."""
    n_arms, n_parameters = tables.values.shape[1], tables.values.shape[2]
    for parameter in range(n_parameters):
        box.exclusions[parameter] = 0
    for arm in range(n_arms):
        box.head[arm] = 0
        box.tail[arm] = n_parameters
        _frame(tables, box, arm)
        box.top[arm] = n_parameters - 1
        box.next_q[arm] = math.inf
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
    n_parameters = tables.values.shape[2]
    values = tables.values[0, arm]
    position = box.tail[arm]
    box.tail_in[arm] = values[position - 1] if position > 0 else -math.inf
    box.tail_out[arm] = values[position] if position < n_parameters else math.inf
    values = tables.values[tables.values.shape[0] - 1, arm]
    position = box.head[arm]
    box.head_out[arm] = values[position - 1] if position > 0 else -math.inf
    box.head_in[arm] = values[position] if position < n_parameters else math.inf


@inline
def _list_active(box: Box, n_arms: int) -> None:
    """List the competitive arms anew, in ascending order."""
    active = 0
    for arm in range(n_arms):
        if box.support[arm] > 0:
            box.active[active] = arm
            active += 1
    box.registers[ACTIVE] = active


@inline
def _admit(
    tables: BoxTables, box: Box, ranks: np.ndarray, order: np.ndarray, start: int, stop: int
) -> None:
    """One position fewer excludes the θ at these places of an order; some become plausible.

    Whether one does is unpredictable, so the common case (one optimal arm) has no branch.
    """
    entered, news = 0, 0
    for place in range(np.uint64(start), np.uint64(stop)):
        parameter = order[place]
        excluded = box.exclusions[parameter] - 1
        box.exclusions[parameter] = excluded
        enters = 1 if excluded == 0 else 0
        entered += enters
        only = tables.only_optimal[parameter]
        if only != SEVERAL:
            supported = box.support[only]
            news |= enters if supported == 0 else 0
            box.support[only] = supported + enters
        elif enters == 1:
            news = 1
            for entry in range(
                tables.optimal_start[parameter], tables.optimal_start[parameter + 1]
            ):
                box.support[tables.optimal_arms[entry]] += 1
        if enters == 1:
            for arm in range(ranks.shape[1]):  # no columns unless the largest means are needed
                if ranks[parameter, arm] > box.top[arm]:
                    box.top[arm] = ranks[parameter, arm]
    box.registers[PLAUSIBLE] += entered
    if news != 0:
        _list_active(box, tables.support.size)


@inline
def _exclude(tables: BoxTables, box: Box, order: np.ndarray, start: int, stop: int) -> None:
    """One position more excludes the θ at these places of an order; some were plausible."""
    left, news = 0, 0
    for place in range(np.uint64(start), np.uint64(stop)):
        parameter = order[place]
        excluded = box.exclusions[parameter] + 1
        box.exclusions[parameter] = excluded
        leaves = 1 if excluded == 1 else 0
        left += leaves
        only = tables.only_optimal[parameter]
        if only != SEVERAL:
            supported = box.support[only] - leaves
            news |= leaves if supported == 0 else 0
            box.support[only] = supported
        elif leaves == 1:
            news = 1
            for entry in range(
                tables.optimal_start[parameter], tables.optimal_start[parameter + 1]
            ):
                box.support[tables.optimal_arms[entry]] -= 1
    box.registers[PLAUSIBLE] -= left
    if news != 0:
        _list_active(box, tables.support.size)


@inline
def _first_at_least(values: np.ndarray, bound: float, hint: int) -> int:
    """First position whose value is not below ``bound``, looked for around ``hint``."""
    low, high = hint, hint
    step = 1
    while low > 0 and not values[low - 1] < bound:
        high = low - 1
        low = max(0, low - step)
        step *= 2
    while high < values.size and values[high] < bound:
        low = high + 1
        high = min(values.size, high + step)
        step *= 2
    while low < high:
        middle = (low + high) // 2
        if values[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@inline
def _first_above(values: np.ndarray, bound: float, hint: int) -> int:
    """First position whose value is above ``bound``, looked for around ``hint``."""
    low, high = hint, hint
    step = 1
    while low > 0 and values[low - 1] > bound:
        high = low - 1
        low = max(0, low - step)
        step *= 2
    while high < values.size and not values[high] > bound:
        low = high + 1
        high = min(values.size, high + step)
        step *= 2
    while low < high:
        middle = (low + high) // 2
        if values[middle] > bound:
            high = middle
        else:
            low = middle + 1
    return low


@inline
def _move(
    tables: BoxTables,
    box: Box,
    ranks: np.ndarray,
    arm: int,
    lower_end: float,
    upper_end: float,
) -> None:
    """Move the arm's two positions to where its interval now ends."""
    last = tables.values.shape[0] - 1
    old = box.tail[arm]
    new = _first_at_least(tables.values[0, arm], upper_end, old)
    box.tail[arm] = new
    if new < old:
        _exclude(tables, box, tables.orders[0, arm], new, old)
    elif new > old:
        _admit(tables, box, ranks, tables.orders[0, arm], old, new)
    old = box.head[arm]
    new = _first_above(tables.values[last, arm], lower_end, old)
    box.head[arm] = new
    if new > old:
        _exclude(tables, box, tables.orders[last, arm], old, new)
    elif new < old:
        _admit(tables, box, ranks, tables.orders[last, arm], new, old)
    _frame(tables, box, arm)


@inline
def _update(
    tables: BoxTables, evidence: Evidence, box: Box, ranks: np.ndarray, arm: int, q: float
) -> None:
    """Bring one arm's interval to its mean, its count and q."""
    radius = q * evidence.scales[arm]
    lower_end = evidence.means[arm] - radius
    upper_end = evidence.means[arm] + radius
    if not (
        box.tail_in[arm] < upper_end <= box.tail_out[arm]
        and box.head_out[arm] <= lower_end < box.head_in[arm]
    ):
        _move(tables, box, ranks, arm, lower_end, upper_end)


@inline
def _foresee(evidence: Evidence, box: Box, arm: int) -> None:
    """Compute the q at which the arm's interval next lets a θ in."""
    mean = evidence.means[arm]
    above, below = box.tail_out[arm], box.head_out[arm]
    nearest = math.inf
    if above < math.inf:
        nearest = (above - mean) - _EARLY * (abs(above) + abs(mean))
    if below > -math.inf:
        nearest = min(nearest, (mean - below) - _EARLY * (abs(below) + abs(mean)))
    box.next_q[arm] = nearest / evidence.scales[arm]


@inline
def _find_soonest(box: Box, n_arms: int) -> None:
    soonest = 0
    for arm in range(1, n_arms):
        if box.next_q[arm] < box.next_q[soonest]:
            soonest = arm
    box.registers[SOONEST] = soonest
    box.soonest_q[0] = box.next_q[soonest]


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
        box.next_q[arm] = math.inf
        if latest >= 0:
            _foresee(evidence, box, latest)
            if box.next_q[latest] < box.soonest_q[0]:
                box.registers[SOONEST] = latest
                box.soonest_q[0] = box.next_q[latest]
        if box.registers[SOONEST] == arm:
            _find_soonest(box, n_arms)
    _update(tables, evidence, box, ranks, arm, q)
    if q >= box.soonest_q[0]:
        for other in range(n_arms):
            if q >= box.next_q[other]:
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
