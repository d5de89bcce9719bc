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

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.memory import (
    ACTIVE,
    EMPTY_ROUNDS,
    FRAME,
    HEAD_IN,
    HEAD_OUT,
    LATEST,
    NEXT_Q,
    OTHERS_LAG,
    PLAUSIBLE,
    SLACK,
    TAIL_IN,
    TAIL_OUT,
    Box,
)
from structuredbandits.confidence.moves import frame_arm, list_active, update
from structuredbandits.confidence.slack import look_past, still_holds, widen
from structuredbandits.confidence.tables import BoxTables

# Sums such as mu_hat + q s are rounded, so an arm may let a θ in a few ulps before the computed q.
# Events fire this much early, relative to the numbers added; an exact comparison then decides.
_EARLY = 2.0**-50


@inline
def reset(tables: BoxTables, box: Box) -> None:
    """Every θ is plausible, no arm has been seen."""
    n_arms, n_parameters = tables.orders.shape[1], tables.orders.shape[2]
    for parameter in range(n_parameters):
        box.exclusions[parameter] = 0
    for arm in range(n_arms):
        box.head[arm] = 0
        box.tail[arm] = n_parameters
        frame_arm(tables, box, arm)
        box.top[arm] = n_parameters - 1
        box.frames[arm, NEXT_Q] = math.inf
        box.support[arm] = tables.support[arm]
    box.registers[PLAUSIBLE] = n_parameters
    list_active(box, n_arms)
    box.registers[LATEST] = -1
    box.registers[EMPTY_ROUNDS] = 0
    box.registers[SLACK] = 0
    box.registers[OTHERS_LAG] = 0
    box.latest[NEXT_Q] = math.inf


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
    soonest = math.inf
    for arm in range(n_arms):
        soonest = min(soonest, box.frames[arm, NEXT_Q])
    box.latest[NEXT_Q] = soonest


@inline
def follow(
    tables: BoxTables, evidence: Evidence, box: Box, ranks: np.ndarray, arm: int, q: float
) -> None:
    """Bring the set up to date after a reward of ``arm``, at the new q.

    ``ranks`` is (parameters, arms) for policies that read ``box.top``, (0, 0) for the others.
    """
    radius = q * evidence.scales[arm]
    upper_end, lower_end = evidence.means[arm] + radius, evidence.means[arm] - radius
    frame = box.latest
    if (
        box.registers[LATEST] != arm
        or not frame[TAIL_IN] < upper_end <= frame[TAIL_OUT]
        or not frame[HEAD_OUT] <= lower_end < frame[HEAD_IN]
        or (q >= frame[NEXT_Q] and not _let_in(tables, evidence, box, ranks, arm, q))
    ):
        _catch_up(tables, evidence, box, ranks, arm, q)


@inline
def _let_in(
    tables: BoxTables, evidence: Evidence, box: Box, ranks: np.ndarray, arm: int, q: float
) -> bool:
    """Move the other arms whose q has come; returns whether the frame of ``arm`` still holds."""
    active, holds, soonest = box.registers[ACTIVE], True, math.inf
    for other in range(tables.values.shape[1]):
        if q >= box.frames[other, NEXT_Q]:
            head, tail = box.head[other], box.tail[other]
            frame_arm(tables, box, other)
            update(tables, evidence, box, ranks, other, q)
            if box.registers[SLACK] > 0:
                holds = holds and still_holds(tables, box, arm, other, head, tail)
                look_past(tables, box, arm, other)
            _foresee(evidence, box, other)
        soonest = min(soonest, box.frames[other, NEXT_Q])
    box.latest[NEXT_Q] = soonest
    return holds and box.registers[ACTIVE] == active


@inline
def _catch_up(
    tables: BoxTables, evidence: Evidence, box: Box, ranks: np.ndarray, arm: int, q: float
) -> None:
    """Move what has to move: the arm itself, the arm before it, and those whose q has come."""
    latest, slack = box.registers[LATEST], box.registers[SLACK]
    head, tail = box.head[arm], box.tail[arm]
    everything = box.registers[OTHERS_LAG] == 1
    alone = latest == arm and q < box.latest[NEXT_Q] and not everything
    first, end = (arm, arm + 1) if alone else (0, tables.values.shape[1])
    for other in range(first, end):
        behind = everything and evidence.counts[other] > 0.0
        if behind or other in (arm, latest) or q >= box.frames[other, NEXT_Q]:
            if slack > 0:
                frame_arm(tables, box, other)
            update(tables, evidence, box, ranks, other, q)
            if other != arm:
                _foresee(evidence, box, other)
    if not alone:
        box.registers[OTHERS_LAG] = 0
        box.registers[LATEST] = arm
        box.frames[arm, NEXT_Q] = math.inf  # it is updated after each of its rewards anyway
        _find_soonest(box, end)
    if slack > 0:
        widen(tables, evidence, box, arm, abs(box.head[arm] - head) + abs(box.tail[arm] - tail))
    for place in range(1, FRAME):
        box.latest[place] = box.frames[arm, place]


@inline
def rebuild(tables: BoxTables, evidence: Evidence, box: Box, ranks: np.ndarray, q: float) -> None:
    """The set that the evidence implies at q, from nothing."""
    empty_rounds = box.registers[EMPTY_ROUNDS]
    reset(tables, box)
    box.registers[EMPTY_ROUNDS] = empty_rounds
    n_arms = tables.values.shape[1]
    for arm in range(n_arms):
        if evidence.counts[arm] > 0.0:
            update(tables, evidence, box, ranks, arm, q)
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
