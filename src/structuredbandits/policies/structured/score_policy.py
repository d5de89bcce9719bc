"""Algorithms that give every allowed arm a score from all evidence and pull the largest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from structuredbandits._compiled import by_type, inline, kernel
from structuredbandits.confidence.evidence import Evidence, evidence_of
from structuredbandits.confidence.memory import Memory
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.protocol import Moment, decide, implements
from structuredbandits.policies.ties import share_of_ties, take_tied_index

_Function = TypeVar("_Function", bound=Callable[..., Any])
_SCORES: dict[type, Callable[..., Any]] = {}

#: Row of a run's floats that holds the scores, by place among the allowed arms.
SCORES_ROW = 0


@dataclass(frozen=True, repr=False)
class ScoreAlgorithm(Algorithm):
    """An algorithm that pulls the allowed arm of the largest score."""

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        result = np.zeros(snapshot.n_arms)
        values = current_scores(
            snapshot.agent, snapshot.memory, snapshot.block, allowed, snapshot.moment
        )
        result[allowed] = share_of_ties(values, snapshot.evidence.pending[allowed])
        return result


def score(
    agent: Any, floats: np.ndarray, evidence: Evidence, allowed: np.ndarray, moment: Moment
) -> None:
    """Write the score of each allowed arm into the row of scores; for compiled code."""
    raise TypeError("score is for compiled code")


def scores_of(agent: type) -> Callable[[_Function], _Function]:
    """Register a function as the scores of agents of this class; ``decide`` follows from it."""

    def register(function: _Function) -> _Function:
        _SCORES[agent] = function
        implements(decide, agent)(_decide)
        return function

    return register


@by_type(score)
def _score(agent: Any, floats: Any, evidence: Any, allowed: Any, moment: Any) -> Any:
    return _SCORES.get(getattr(agent, "instance_class", type(None)))


@inline
def largest_score(
    scores: np.ndarray, evidence: Evidence, allowed: np.ndarray, generator: Any
) -> int:
    """The allowed arm of the largest score; of infinite ones, one with the fewest pending pulls."""
    best, chosen, ties = -math.inf, -1, 0
    for place in range(allowed.size):
        value, arm = scores[place], np.int64(allowed[place])
        if value > best or ties == 0:
            best, chosen, ties = value, arm, 1  # type: ignore[assignment]  # NumPy's integer
        elif value == best:
            chosen, ties = take_tied_index(chosen, ties, value, arm, evidence.pending, generator)
    return chosen


def _decide(
    agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    score(agent, memory.floats, evidence, allowed, moment)
    return largest_score(memory.floats[SCORES_ROW], evidence, allowed, generator)


@kernel
def current_scores(
    agent: Any, memory: Memory, block: np.ndarray, allowed: np.ndarray, moment: Moment
) -> np.ndarray:
    """Score of each allowed arm: (allowed,)."""
    score(agent, memory.floats, evidence_of(block), allowed, moment)
    result: np.ndarray = memory.floats[SCORES_ROW, : allowed.size].copy()
    return result
