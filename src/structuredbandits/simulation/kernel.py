"""The compiled loop of a run: decide, draw a reward, learn, until the horizon."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structuredbandits._compiled import borrow, by_type, inline, kernel, unowned
from structuredbandits.confidence.evidence import evidence_of, record
from structuredbandits.confidence.memory import Memory
from structuredbandits.policies.protocol import Moment, decide, learn, relax, restore


class NormalDraws(NamedTuple):
    """Rewards location + scale · z."""

    location: np.ndarray  # (arms,)
    scale: np.ndarray  # (arms,)


class TableDraws(NamedTuple):
    """Rewards with finitely many values, by their quantile function."""

    cumulative: np.ndarray  # (arms, values), 1 at the end of each row
    values: np.ndarray  # (values,)


def draw(draws: Any, arm: int, generator: Any) -> float:
    """One reward of an arm, from exactly one random number; for compiled code."""
    raise TypeError("draw is for compiled code")


@by_type(draw)
def _draw(draws: Any, arm: Any, generator: Any) -> Any:
    if draws.instance_class is NormalDraws:

        def normal(draws: Any, arm: Any, generator: Any) -> Any:
            return draws.location[arm] + draws.scale[arm] * generator.standard_normal()

        return normal

    def from_table(draws: Any, arm: Any, generator: Any) -> Any:
        u = generator.random()
        place = 0
        while place < draws.values.size - 1 and u >= draws.cumulative[arm, place]:
            place += 1
        return draws.values[place]

    return from_table


class Clock(NamedTuple):
    """What formulas need of each round, computed once for all runs: (horizon + 1,) each."""

    logs: np.ndarray  # log(max(t, 2))
    widths: np.ndarray  # sqrt(2 log(max(t, 2)))


@kernel
def make_clock(horizon: int) -> Clock:
    """Tables up to the horizon, with the logarithm that compiled policies use."""
    logs, widths = np.empty(horizon + 1), np.empty(horizon + 1)
    for t in range(horizon + 1):
        logs[t] = math.log(max(t, 2))
        widths[t] = math.sqrt(2.0 * logs[t])
    return Clock(logs, widths)


class Record(NamedTuple):
    """What is kept of a run."""

    checkpoints: np.ndarray  # (checkpoints,) rounds, ascending
    gaps: np.ndarray  # (arms,) regret of one pull of each arm
    regret: np.ndarray  # (checkpoints,) filled
    reward: np.ndarray  # (checkpoints,) filled


@inline
def _note(record: Record, place: int, counts: np.ndarray, sums: np.ndarray) -> None:
    regret, reward = 0.0, 0.0
    for arm in range(counts.size):
        regret += counts[arm] * record.gaps[arm]
        reward += sums[arm]
    record.regret[place] = regret
    record.reward[place] = reward


@kernel
def play(
    agent: Any,
    memory: Memory,
    block: np.ndarray,
    draws: Any,
    sign: float,
    clock: Clock,
    kept: Record,
    addresses: np.ndarray,
    noise_addresses: np.ndarray,
) -> None:
    """One run to the last checkpoint, from empty evidence."""
    agent, memory, block, draws = (
        unowned(agent),
        unowned(memory),
        unowned(block),
        unowned(draws),
    )
    clock, kept = unowned(clock), unowned(kept)
    generator, noise = borrow(addresses), borrow(noise_addresses)
    evidence = evidence_of(block)
    all_arms = np.arange(block.shape[1])
    allowed = unowned(all_arms)
    horizon = kept.checkpoints[kept.checkpoints.size - 1]
    moment = Moment(0, 0, clock.logs[0], clock.widths[0], horizon)
    restore(agent, memory, evidence, moment)
    relax(agent, memory)
    t, place = 0, 0
    while t < horizon:
        arm = decide(agent, memory, evidence, allowed, moment, generator)
        record(evidence, arm, sign * draw(draws, arm, noise))
        t += 1
        moment = Moment(t, t, clock.logs[t], clock.widths[t], horizon)
        learn(agent, memory, evidence, arm, moment)
        if t == kept.checkpoints[place]:
            _note(kept, place, evidence.counts, evidence.sums)
            place += 1
    all_arms[0] = 0  # the array must live until here: ``allowed`` does not own it
