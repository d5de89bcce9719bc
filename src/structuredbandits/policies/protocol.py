"""The compiled protocol: seven operations, selected by the type of an agent.

An agent is a named tuple of numbers and tables, made by `Algorithm.agent`. Compiled code calls
``decide(agent, ...)``; Numba looks up what is registered for the agent's class and compiles only
that, so the simulator, the interactive policy and the service run the same function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from structuredbandits._compiled import by_type, inline
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.fast_forward import NO_FAST_FORWARD, FastForward
from structuredbandits.confidence.memory import Memory
from structuredbandits.confidence.radius import log_time, unit_width
from structuredbandits.policies.ties import take_tied_index

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Moment(NamedTuple):
    """When a decision is made."""

    received: int  # rewards received so far: the t of every formula
    decided: int  # decisions made so far, whose rewards may still be pending
    log_t: float  # log(max(t, 2))
    width: float  # sqrt(2 log_t): a radius is sqrt(alpha) * width * sigma / sqrt(n)
    horizon: int  # 0 when unknown


@inline
def moment_at(received: int, decided: int, horizon: int) -> Moment:
    """The moment after this many rewards and decisions."""
    log_t = log_time(received)
    return Moment(received, decided, log_t, unit_width(log_t), horizon)


def moment_of(received: int, decided: int, horizon: int) -> Moment:
    """`moment_at` for Python."""
    log_t = log_time.py_func(received)
    return Moment(received, decided, log_t, unit_width.py_func(log_t), horizon)


class Arm(NamedTuple):
    """What an index function sees of one arm."""

    pulls: float  # rewards received, at least 1 where an index is asked for
    mean: float  # empirical mean
    scale: float  # sigma / sqrt(pulls)
    sigma: float  # sub-Gaussian proxy
    total: float  # sum of rewards
    squares: float  # sum of squared rewards
    leader: float  # largest empirical mean among the candidates, if the index asks for it
    n_candidates: int
    position: int  # among the arms of the structure, counted from 0


# -- the operations, as seen by compiled code ------------------------------------------------------


def decide(
    agent: Any,
    memory: Memory,
    evidence: Evidence,
    allowed: np.ndarray,
    moment: Moment,
    generator: Any,
) -> int:
    """The arm that the agent pulls now; ``allowed``: (allowed,) ascending arm numbers."""
    raise TypeError("decide is for compiled code")


def learn(agent: Any, memory: Memory, evidence: Evidence, arm: int, moment: Moment) -> None:
    """Bring the memory up to date after a reward of ``arm`` was recorded."""
    raise TypeError("learn is for compiled code")


def restore(agent: Any, memory: Memory, evidence: Evidence, moment: Moment) -> None:
    """Fill the memory from the evidence alone."""
    raise TypeError("restore is for compiled code")


def make_lazy(agent: Any, memory: Memory) -> None:
    """Update the memory lazily from now on: only the decisions of the run are read."""
    raise TypeError("make_lazy is for compiled code")


def fast_forward(
    agent: Any, memory: Memory, evidence: Evidence, widths: np.ndarray, t: int, most: int
) -> FastForward:
    """The rounds after t, at most ``most``, in which one arm is pulled without a decision.

    As long as the sum of its rewards stays between the lines, the agent pulls the arm again and
    need not learn the reward; ``widths``: (horizon + 1,), sqrt(2 log t) for each t.
    """
    raise TypeError("fast_forward is for compiled code")


def choose(
    agent: Any,
    evidence: Evidence,
    candidates: np.ndarray,
    n_candidates: int,
    moment: Moment,
    generator: Any,
) -> int:
    """The classical step: one arm of the first ``n_candidates`` candidates."""
    raise TypeError("choose is for compiled code")


def index(agent: Any, arm: Arm, moment: Moment, generator: Any) -> float:
    """An index policy's index of one arm that has been seen."""
    raise TypeError("index is for compiled code")


# -- what each agent does --------------------------------------------------------------------------

_REGISTERED: dict[tuple[str, type], Callable[..., Any]] = {}


def implements(operation: Callable[..., Any], agent: type) -> Callable[[_Function], _Function]:
    """Register a function as what ``operation`` does for agents of this class."""

    def register(function: _Function) -> _Function:
        _REGISTERED[operation.__name__, agent] = function
        return function

    return register


def _registered(operation: str, agent: Any) -> Callable[..., Any] | None:
    return _REGISTERED.get((operation, getattr(agent, "instance_class", type(None))))


def has_index(agent: type) -> bool:
    """Whether agents of this class are index policies."""
    return ("index", agent) in _REGISTERED


@by_type(decide)
def _decide(
    agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    own = _registered("decide", agent)
    if own is not None:
        return own

    def classical(
        agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
    ) -> Any:
        return choose(agent, evidence, allowed, allowed.size, moment, generator)

    return classical


@by_type(learn)
def _learn(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
    own = _registered("learn", agent)
    if own is not None:
        return own

    def nothing(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
        pass

    return nothing


@by_type(restore)
def _restore(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
    own = _registered("restore", agent)
    if own is not None:
        return own

    def nothing(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
        pass

    return nothing


@by_type(make_lazy)
def _make_lazy(agent: Any, memory: Any) -> Any:
    own = _registered("make_lazy", agent)
    if own is not None:
        return own

    def nothing(agent: Any, memory: Any) -> Any:
        pass

    return nothing


@by_type(fast_forward)
def _fast_forward(agent: Any, memory: Any, evidence: Any, widths: Any, t: Any, most: Any) -> Any:
    own = _registered("fast_forward", agent)
    if own is not None:
        return own

    def none(agent: Any, memory: Any, evidence: Any, widths: Any, t: Any, most: Any) -> Any:
        return NO_FAST_FORWARD

    return none


@by_type(index)
def _index(agent: Any, arm: Any, moment: Any, generator: Any) -> Any:
    return _registered("index", agent)


@by_type(choose)
def _choose(
    agent: Any, evidence: Any, candidates: Any, n_candidates: Any, moment: Any, generator: Any
) -> Any:
    return _registered("choose", agent) or (
        _choose_by_index if _registered("index", agent) is not None else None
    )


# -- the one loop of all index policies ------------------------------------------------------------


@inline
def leading_mean(evidence: Evidence, candidates: np.ndarray, n_candidates: int) -> float:
    """Largest empirical mean among the candidates that have been seen."""
    leader = -math.inf
    for place in range(n_candidates):
        arm = candidates[place]
        if evidence.counts[arm] > 0.0 and evidence.means[arm] > leader:
            leader = evidence.means[arm]
    return leader


@inline
def index_or_infinity(
    agent: Any,
    evidence: Evidence,
    arm: int,
    leader: float,
    n_candidates: int,
    moment: Moment,
    generator: Any,
) -> float:
    """The arm's index; infinite while none of its rewards has come."""
    if evidence.counts[arm] == 0.0:
        return math.inf
    seen = Arm(
        evidence.counts[arm],
        evidence.means[arm],
        evidence.scales[arm],
        evidence.sigmas[arm],
        evidence.sums[arm],
        evidence.squares[arm],
        leader,
        n_candidates,
        np.int64(arm),  # type: ignore[arg-type]  # one type, whichever the arms have
    )
    return index(agent, seen, moment, generator)


def _choose_by_index(
    agent: Any, evidence: Any, candidates: Any, n_candidates: Any, moment: Any, generator: Any
) -> Any:
    leader = leading_mean(evidence, candidates, n_candidates)
    best, chosen, ties = -math.inf, np.uint64(0), 0
    for place in range(n_candidates):
        arm = np.uint64(candidates[place])
        value = index_or_infinity(agent, evidence, arm, leader, n_candidates, moment, generator)
        # Compared here: to hand everything to a function for each arm takes as long as the index.
        if value > best or ties == 0:
            best, chosen, ties = value, arm, 1
        elif value == best:
            chosen, ties = take_tied_index(chosen, ties, value, arm, evidence.pending, generator)
    return np.int64(chosen)
