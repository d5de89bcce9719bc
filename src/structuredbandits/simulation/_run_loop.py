"""The compiled loop of a run: decide, draw a reward, learn, until the horizon."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structuredbandits._compiled import (
    Stream,
    borrow,
    inline,
    keep_stream,
    kernel,
    open_stream,
    unowned,
)
from structuredbandits.confidence.evidence import Evidence, evidence_of, record, summarise
from structuredbandits.confidence.fast_forward import FastForward
from structuredbandits.confidence.memory import Memory
from structuredbandits.confidence.radius import log_time, unit_width
from structuredbandits.policies.protocol import (
    Moment,
    decide,
    fast_forward,
    learn,
    make_lazy,
    restore,
)
from structuredbandits.simulation.reward_draws import draw, rewards_of


class Clock(NamedTuple):
    """Values of each round that formulas need, computed once for all runs: (horizon + 1,)."""

    logs: np.ndarray  # log(max(t, 2))
    widths: np.ndarray  # sqrt(2 log(max(t, 2)))


def make_clock(horizon: int) -> Clock:
    """Tables up to the horizon, with the logarithm that compiled policies use.

    The tuple is created here and not in compiled code, which would end the process if Ctrl-C
    arrived while it fills a long table.
    """
    clock = Clock(np.empty(horizon + 1), np.empty(horizon + 1))
    _fill_clock(clock.logs, clock.widths)
    return clock


@kernel
def _fill_clock(logs: np.ndarray, widths: np.ndarray) -> None:
    for t in range(logs.size):
        logs[t] = log_time(t)
        widths[t] = unit_width(logs[t])


class RunRecord(NamedTuple):
    """What is recorded of a run."""

    checkpoints: np.ndarray  # (checkpoints,) rounds, ascending
    gaps: np.ndarray  # (arms,) regret of one pull of each arm
    regret: np.ndarray  # (checkpoints,) filled
    reward: np.ndarray  # (checkpoints,) filled


@inline
def _note(record: RunRecord, place: int, counts: np.ndarray, sums: np.ndarray) -> None:
    regret, reward = 0.0, 0.0
    for arm in range(counts.size):
        regret += counts[arm] * record.gaps[arm]
        reward += sums[arm]
    record.regret[place] = regret
    record.reward[place] = reward


@inline
def _fast_forward(
    plan: FastForward, evidence: Evidence, rewards: Any, sign: float, noise: Stream
) -> tuple[int, Stream]:
    """Pull one arm until the plan ends or the sum leaves its lines; returns the rounds played."""
    arm, low, high = plan.arm, plan.low, plan.high
    count, total, squares = evidence.counts[arm], evidence.sums[arm], evidence.squares[arm]
    rounds = 0
    while rounds < plan.rounds and low < total < high:
        reward, noise = draw(rewards, noise)
        reward *= sign
        total += reward
        squares += reward * reward
        low += plan.low_step
        high += plan.high_step
        rounds += 1
    evidence.counts[arm] = count + rounds
    evidence.sums[arm] = total
    evidence.squares[arm] = squares
    summarise(evidence, arm)
    return rounds, noise


@kernel
def play(
    agent: Any,
    memory: Memory,
    block: np.ndarray,
    draws: Any,
    sign: float,
    clock: Clock,
    kept: RunRecord,
    addresses: np.ndarray,
    noise_words: np.ndarray,
    progress: np.ndarray,
    most: int,
) -> None:
    """Continue a run from ``progress`` for at most ``most`` rounds, or to the last checkpoint.

    ``progress``: (2,), completed rounds and checkpoints; zeros start a run without evidence.
    """
    agent, memory, block, draws = (
        unowned(agent),
        unowned(memory),
        unowned(block),
        unowned(draws),
    )
    clock, kept = unowned(clock), unowned(kept)
    generator, noise = borrow(addresses), open_stream(noise_words)
    evidence = evidence_of(block)
    all_arms = np.arange(block.shape[1])
    allowed = unowned(all_arms)
    horizon = kept.checkpoints[kept.checkpoints.size - 1]
    t, place = progress[0], progress[1]
    end = min(horizon, t + most)
    moment = Moment(t, t, clock.logs[t], clock.widths[t], horizon)
    if t == 0:
        restore(agent, memory, evidence, moment)
        make_lazy(agent, memory)
    while t < end:
        ahead = min(kept.checkpoints[place], end) - t
        plan = fast_forward(agent, memory, evidence, clock.widths, t, ahead)
        if plan.rounds > 0:
            arm = plan.arm
            rounds, noise = _fast_forward(plan, evidence, rewards_of(draws, arm), sign, noise)
            t += rounds
        else:
            arm = decide(agent, memory, evidence, allowed, moment, generator)
            reward, noise = draw(rewards_of(draws, arm), noise)
            record(evidence, arm, sign * reward)
            t += 1
        moment = Moment(t, t, clock.logs[t], clock.widths[t], horizon)
        learn(agent, memory, evidence, arm, moment)
        if t == kept.checkpoints[place]:
            _note(kept, place, evidence.counts, evidence.sums)
            place += 1
    progress[0], progress[1] = t, place
    keep_stream(noise, noise_words)
    all_arms[0] = 0  # the array must live until here: ``allowed`` does not own it
