"""The paper's confidence set, updated by events instead of being recomputed in each round.

A θ is plausible if, for every arm k, its mean (or some value between its bounds) lies strictly
inside (mu_hat_k - q s_k, mu_hat_k + q s_k), with q = sqrt(2 alpha log t) and
s_k = sigma_k/sqrt(n_k). For Bernoulli and bounded rewards, rescaled to [0, 1], the interval is the
one with n_k kl(mu_hat_k, mu_k) < q²/2 (see `divergence`). In each arm's sorted order the θ that it
rules out are a head and a tail, so an arm's interval is two positions; every θ carries the number
of positions that exclude it; every arm carries the number of plausible θ at which it is optimal. A
reward moves the two positions of one arm. The intervals of the other arms only grow, since q does,
and the q at which each next admits a θ is known in advance: one comparison per round shows whether
anything changes.
"""

from __future__ import annotations

import math

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.interval_update import frame_arm, list_active, update
from structuredbandits.confidence.intervals import foresee, keep_latest, stays_in_frame
from structuredbandits.confidence.lazy_update import look_past, still_holds, widen
from structuredbandits.confidence.memory import (
    ACTIVE,
    EMPTY_ROUNDS,
    FRAME,
    LATEST,
    LAZY_LIMIT,
    NEXT_Q,
    OTHERS_LAG,
    PLAUSIBLE,
    ConfidenceState,
)
from structuredbandits.confidence.sorted_tables import SortedTables


@inline
def reset(tables: SortedTables, state: ConfidenceState) -> None:
    """Every θ is plausible, no arm has been seen."""
    n_arms, n_parameters = tables.orders.shape[1], tables.orders.shape[2]
    for parameter in range(n_parameters):
        state.exclusions[parameter] = 0
    for arm in range(n_arms):
        state.head[arm] = 0
        state.tail[arm] = n_parameters
        frame_arm(tables, state, arm)
        state.top[arm] = n_parameters - 1
        state.frames[arm, NEXT_Q] = math.inf
        state.support[arm] = tables.support[arm]
    state.registers[PLAUSIBLE] = n_parameters
    list_active(state, n_arms)
    state.registers[LATEST] = -1
    state.registers[EMPTY_ROUNDS] = 0
    state.registers[LAZY_LIMIT] = 0
    state.registers[OTHERS_LAG] = 0
    state.latest[NEXT_Q] = math.inf


@inline
def _find_soonest(state: ConfidenceState, n_arms: int) -> None:
    soonest = math.inf
    for arm in range(n_arms):
        soonest = min(soonest, state.frames[arm, NEXT_Q])
    state.latest[NEXT_Q] = soonest


@inline
def follow(
    tables: SortedTables,
    evidence: Evidence,
    state: ConfidenceState,
    ranks: np.ndarray,
    arm: int,
    q: float,
) -> None:
    """Bring the set up to date after a reward of ``arm``, at the new q.

    ``ranks`` is (parameters, arms) for policies that read ``state.top``, (0, 0) for the others.
    """
    if (
        state.registers[LATEST] != arm
        or not stays_in_frame(tables, evidence, state, arm, q)
        or (q >= state.latest[NEXT_Q] and not _let_in(tables, evidence, state, ranks, arm, q))
    ):
        _catch_up(tables, evidence, state, ranks, arm, q)


@inline
def _let_in(
    tables: SortedTables,
    evidence: Evidence,
    state: ConfidenceState,
    ranks: np.ndarray,
    arm: int,
    q: float,
) -> bool:
    """Update the other arms whose q is reached; returns whether the frame of ``arm`` holds."""
    active, holds, soonest = state.registers[ACTIVE], True, math.inf
    for other in range(tables.values.shape[1]):
        if q >= state.frames[other, NEXT_Q]:
            head, tail = state.head[other], state.tail[other]
            frame_arm(tables, state, other)
            update(tables, evidence, state, ranks, other, q)
            if state.registers[LAZY_LIMIT] > 0:
                holds = holds and still_holds(tables, state, arm, other, head, tail)
                look_past(tables, state, arm, other)
            foresee(tables, evidence, state, other)
        soonest = min(soonest, state.frames[other, NEXT_Q])
    state.latest[NEXT_Q] = soonest
    return holds and state.registers[ACTIVE] == active


@inline
def _catch_up(
    tables: SortedTables,
    evidence: Evidence,
    state: ConfidenceState,
    ranks: np.ndarray,
    arm: int,
    q: float,
) -> None:
    """Update the arm itself, the arm of the previous reward, and those whose q is reached."""
    latest, lazy_limit = state.registers[LATEST], state.registers[LAZY_LIMIT]
    head, tail = state.head[arm], state.tail[arm]
    everything = state.registers[OTHERS_LAG] == 1
    alone = latest == arm and q < state.latest[NEXT_Q] and not everything
    first, end = (arm, arm + 1) if alone else (0, tables.values.shape[1])
    for other in range(first, end):
        behind = everything and evidence.counts[other] > 0.0
        if behind or other in (arm, latest) or q >= state.frames[other, NEXT_Q]:
            if lazy_limit > 0:
                frame_arm(tables, state, other)
            update(tables, evidence, state, ranks, other, q)
            if other != arm:
                foresee(tables, evidence, state, other)
    if not alone:
        state.registers[OTHERS_LAG] = 0
        state.registers[LATEST] = arm
        state.frames[arm, NEXT_Q] = math.inf  # it is updated after each of its rewards anyway
        _find_soonest(state, end)
    if lazy_limit > 0:
        widen(
            tables, evidence, state, arm, abs(state.head[arm] - head) + abs(state.tail[arm] - tail)
        )
    for place in range(1, FRAME):
        state.latest[place] = state.frames[arm, place]
    keep_latest(tables, state, arm)


@inline
def rebuild(
    tables: SortedTables, evidence: Evidence, state: ConfidenceState, ranks: np.ndarray, q: float
) -> None:
    """Compute the set that the evidence implies at q, without the previous one."""
    empty_rounds = state.registers[EMPTY_ROUNDS]
    reset(tables, state)
    state.registers[EMPTY_ROUNDS] = empty_rounds
    n_arms = tables.values.shape[1]
    for arm in range(n_arms):
        if evidence.counts[arm] > 0.0:
            update(tables, evidence, state, ranks, arm, q)
            foresee(tables, evidence, state, arm)
    _find_soonest(state, n_arms)


@inline
def competitive_within(
    tables: SortedTables, state: ConfidenceState, allowed: np.ndarray, candidates: np.ndarray
) -> int:
    """Arms of ``allowed`` that are best among them at some plausible θ; returns how many.

    They are written into ``candidates``, ascending.
    """
    lower, upper = tables.bounds[0], tables.bounds[tables.bounds.shape[0] - 1]
    n_allowed = allowed.size
    found = np.zeros(n_allowed, dtype=np.bool_)
    n_found = 0
    for parameter in range(lower.shape[0]):
        if state.exclusions[parameter] != 0:
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
