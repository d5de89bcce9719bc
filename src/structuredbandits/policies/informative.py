"""Informative Algorithm-C: occasionally pull the arm that is most informative about θ.

With probability min(1, gamma / max(t, 1)^d) the arm whose means differ most over the plausible θ
is pulled, whether it is competitive or not (Section 6 of the paper). The coin is tossed first; the
informativeness is computed only if an informative pull follows, over the plausible θ of that round.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import types

from structuredbandits._compiled import by_type, inline, kernel
from structuredbandits.confidence.memory import PLAUSIBLE, ConfidenceState, Memory, confidence_state
from structuredbandits.confidence.sorted_tables import SortedTables
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.custom_functions import NotANumber, check_function, compiled
from structuredbandits.policies.informativeness import (
    differential_entropy,
    entropy,
    rate_divergence,
    variance,
)
from structuredbandits.policies.labels import plain
from structuredbandits.policies.parameter_checks import positive, read_parameters
from structuredbandits.policies.protocol import Moment
from structuredbandits.policies.reward_scale import scale_of_rewards
from structuredbandits.policies.ties import take_larger

if TYPE_CHECKING:
    from structuredbandits.structure import Structure

Metric = Callable[[np.ndarray, np.ndarray, float], float]


class Uninformative(NamedTuple):
    """No informative step; the field only keeps the tuple from being empty."""

    never: bool


class ByVariance(NamedTuple):
    """Expected KL divergence between Gaussian rewards: the variance of the arm's mean."""

    coin: np.ndarray  # (rounds,) probability of an informative pull
    weights: np.ndarray  # (parameters,) share of each θ


class ByRates(NamedTuple):
    """Expected KL divergence between Bernoulli rewards."""

    coin: np.ndarray
    weights: np.ndarray
    floors: np.ndarray  # (arms,) smallest gain
    ranges: np.ndarray  # (arms,) largest less smallest gain


class ByEntropy(NamedTuple):
    """Shannon entropy of the arm's mean."""

    coin: np.ndarray
    weights: np.ndarray


class ByDifferentialEntropy(NamedTuple):
    """Differential entropy of the arm's mean, estimated by spacings."""

    coin: np.ndarray
    weights: np.ndarray


class ByChance(NamedTuple):
    """Any arm, uniformly: the baseline of the paper."""

    coin: np.ndarray
    weights: np.ndarray


_METRICS: dict[type, Any] = {
    ByVariance: variance,
    ByEntropy: entropy,
    ByDifferentialEntropy: differential_entropy,
}
_NAMED: dict[str, type] = {
    "kl": ByVariance,
    "entropy": ByEntropy,
    "differential-entropy": ByDifferentialEntropy,
    "random": ByChance,
}
_OWN: dict[Metric, type] = {}


def _agent_class(metric: str | Metric) -> type:
    """The agent class of a metric; a user's own function gets one of its own."""
    if isinstance(metric, str):
        return _NAMED[metric]
    if metric not in _OWN:
        # Numba distinguishes tuple classes by their names at calls, so each metric gets one.
        name = f"By_{metric.__name__}_{len(_OWN) + 1}"
        own = namedtuple(name, ["coin", "weights"])  # type: ignore[misc]  # named at run time
        own.__module__ = getattr(metric, "__module__", "__main__")
        numbers = types.float64[::1]
        takes = "values, weights and the tolerance"
        _METRICS[own] = compiled(metric, (numbers, numbers, types.float64), takes)
        _OWN[metric] = own
    return _OWN[metric]


@dataclass(frozen=True, repr=False)
class Informative:
    """When and how to choose an informative arm.

    Parameters
    ----------
    metric
        "kl" (the expected divergence of the rewards at two plausible θ: their family's),
        "entropy", "differential-entropy", "random", or a function
        ``metric(values, weights, tolerance) -> float`` of an arm's means at the plausible θ
        (ascending), their weights and the structure's tolerance. It is compiled.
    gamma, d
        The probability of an informative pull at decision t is min(1, gamma / max(t, 1)^d).

    Examples
    --------
    >>> Informative("kl", gamma=30, d=1.1)
    Informative(metric='kl', gamma=30, d=1.1)
    """

    metric: str | Metric = "kl"
    gamma: float = positive(30.0)
    d: float = positive(1.1)

    def __post_init__(self) -> None:
        read_parameters(self)
        if callable(self.metric):
            example = "def span(values, weights, tolerance): return values[-1] - values[0]"
            check_function(self.metric, example)
        elif not isinstance(self.metric, str) or self.metric not in _NAMED:
            raise InvalidPolicy(
                f"there is no informativeness metric {self.metric!r}; "
                f"use one of {', '.join(_NAMED)}, or a function of (values, weights, tolerance)."
            )

    def __repr__(self) -> str:
        metric = repr(self.metric) if isinstance(self.metric, str) else self.metric.__name__
        return f"Informative(metric={metric}, gamma={plain(self.gamma)!r}, d={plain(self.d)!r})"

    @property
    def suffix(self) -> str:
        """What it adds to a policy's name."""
        if isinstance(self.metric, str):
            return self.metric.removesuffix("-entropy")
        return self.metric.__name__

    @property
    def changed(self) -> dict[str, float]:
        """The parameters that differ from their defaults."""
        usual = {"gamma": 30.0, "d": 1.1}
        return {key: getattr(self, key) for key in usual if getattr(self, key) != usual[key]}

    def probability(self, decided: np.ndarray) -> np.ndarray:
        """Probability of an informative pull after ``decided`` decisions: same shape."""
        with np.errstate(over="ignore"):  # of an infinite power remains a probability of 0
            powers = np.maximum(decided, 1).astype(float) ** self.d
        return np.asarray(np.minimum(1.0, self.gamma / powers))

    def agent(self, structure: Structure, rounds: int) -> Any:
        """Named tuple for compiled code."""
        coin = self.probability(np.arange(rounds))
        if self.metric == "kl" and structure.rewards.is_bernoulli:
            floors, ranges, _ = scale_of_rewards(structure)
            return ByRates(coin, structure.parameters.weights, floors, ranges)
        return _agent_class(self.metric)(coin, structure.parameters.weights)


def informative_arm(
    agent: Any,
    tables: SortedTables,
    state: ConfidenceState,
    allowed: np.ndarray,
    moment: Moment,
    generator: Any,
) -> int:
    """The arm to pull for information now, or -1 for none; for compiled code."""
    raise TypeError("informative_arm is for compiled code")


@by_type(informative_arm)
def _informative_arm(
    agent: Any, tables: Any, state: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    kind = agent.instance_class
    if kind is Uninformative:

        def never(
            agent: Any, tables: Any, state: Any, allowed: Any, moment: Any, generator: Any
        ) -> Any:
            return -1

        return never
    if kind is ByChance:

        def by_chance(
            agent: Any, tables: Any, state: Any, allowed: Any, moment: Any, generator: Any
        ) -> Any:
            if generator.random() >= agent.coin[moment.decided] or state.registers[PLAUSIBLE] == 0:
                return -1
            return allowed[int(generator.random() * allowed.size)]

        return by_chance

    def by_metric(
        agent: Any, tables: Any, state: Any, allowed: Any, moment: Any, generator: Any
    ) -> Any:
        if generator.random() >= agent.coin[moment.decided] or state.registers[PLAUSIBLE] == 0:
            return -1
        best, chosen, ties = -math.inf, -1, 0
        for place in range(allowed.size):
            values, weights = plausible_means(tables, state, agent.weights, allowed[place])
            value = measure(agent, allowed[place], values, weights, tables.tolerance)
            arm = np.int64(allowed[place])
            best, chosen, ties = take_larger(best, chosen, ties, value, arm, generator)
        return chosen

    return by_metric


def measure(
    agent: Any, arm: int, values: np.ndarray, weights: np.ndarray, tolerance: float
) -> float:
    """Informativeness by the agent's metric; for compiled code."""
    raise TypeError("measure is for compiled code")


@by_type(measure)
def _measure(agent: Any, arm: Any, values: Any, weights: Any, tolerance: Any) -> Any:
    kind = agent.instance_class
    if kind is ByRates:

        def by_rates(agent: Any, arm: Any, values: Any, weights: Any, tolerance: Any) -> Any:
            return rate_divergence(values, weights, agent.floors[arm], agent.ranges[arm])

        return by_rates
    metric = _METRICS[kind]

    def by_metric(agent: Any, arm: Any, values: Any, weights: Any, tolerance: Any) -> Any:
        return metric(values, weights, tolerance)

    if kind not in _OWN.values():
        return by_metric
    name = metric.__name__

    def by_own_metric(agent: Any, arm: Any, values: Any, weights: Any, tolerance: Any) -> Any:
        value = float(metric(values, weights, tolerance))
        if value != value:  # NaN
            raise NotANumber(name, arm)
        return value

    return by_own_metric


@inline
def plausible_means(
    tables: SortedTables, state: ConfidenceState, weights: np.ndarray, arm: int
) -> tuple[np.ndarray, np.ndarray]:
    """The arm's means (midpoints of bounds) at the plausible θ, ascending, and their weights."""
    n_plausible = state.registers[PLAUSIBLE]
    values, shares = np.empty(n_plausible), np.empty(n_plausible)
    last = tables.bounds.shape[0] - 1
    order = tables.orders[0, arm]
    count = 0
    for place in range(order.size):
        parameter = order[place]
        if state.exclusions[parameter] == 0:
            values[count] = 0.5 * (
                tables.bounds[0, parameter, arm] + tables.bounds[last, parameter, arm]
            )
            shares[count] = weights[parameter]
            count += 1
    if last > 0:  # the order of the lower bounds need not be that of the midpoints
        by_value = np.argsort(values, kind="mergesort")
        values, shares = values[by_value], shares[by_value]
    return values, shares


@kernel
def informativeness(
    agent: Any, tables: SortedTables, memory: Memory, allowed: np.ndarray
) -> np.ndarray:
    """Informativeness of each allowed arm: (allowed,); at least one θ must be plausible."""
    state = confidence_state(memory)
    result = np.empty(allowed.size)
    for place in range(allowed.size):
        values, weights = plausible_means(tables, state, agent.weights, allowed[place])
        result[place] = measure(agent, allowed[place], values, weights, tables.tolerance)
    return result
