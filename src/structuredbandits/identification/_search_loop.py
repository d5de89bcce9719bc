"""The compiled loop of one search: ask the rule, pull, until it is certain or time is up."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structuredbandits._compiled import kernel, open_stream, unowned
from structuredbandits.confidence.evidence import evidence_of, record
from structuredbandits.identification._pulling_rules import Verdict, examine
from structuredbandits.simulation.reward_draws import draw, rewards_of


class Found(NamedTuple):
    """How a search ended."""

    rounds: int
    answer: int
    log_doubt: float


@kernel
def search(
    rule: Any,
    floats: np.ndarray,
    block: np.ndarray,
    draws: Any,
    sign: float,
    log_delta: float,
    until_certain: bool,
    limit: int,
    noise_words: np.ndarray,
) -> Found:
    """Pull for ``limit`` rounds, or only until the doubt is at most delta."""
    rule, floats, block = unowned(rule), unowned(floats), unowned(block)
    draws = unowned(draws)
    noise = open_stream(noise_words)
    evidence = evidence_of(block)
    t = 0
    verdict = examine(rule, floats, evidence, t)
    while t < limit and not (until_certain and verdict.log_doubt <= log_delta):
        reward, noise = draw(rewards_of(draws, verdict.pull), noise)
        record(evidence, verdict.pull, sign * reward)
        t += 1
        verdict = examine(rule, floats, evidence, t)
    return Found(t, verdict.answer, verdict.log_doubt)


@kernel
def look(rule: Any, floats: np.ndarray, block: np.ndarray, t: int) -> Verdict:
    """The verdict on rewards that come from outside."""
    return examine(rule, floats, evidence_of(block), t)


@kernel
def note(block: np.ndarray, arm: int, reward: float) -> None:
    """Record one reward."""
    record(evidence_of(block), arm, reward)
