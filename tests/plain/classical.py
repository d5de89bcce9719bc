"""The classical policies: step 3, one formula each.

A policy is a function of the statistics of the arms; it uses neither a structure nor the library.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtri


@dataclass
class Seen:
    """The statistics of the arms and the clock: all inputs of a policy."""

    sigma: list[float]
    horizon: int = 0
    received: int = 0
    decided: int = 0
    counts: list[int] = field(init=False)
    sums: list[float] = field(init=False)
    squares: list[float] = field(init=False)
    pending: list[int] = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.sigma)
        self.counts, self.sums, self.squares, self.pending = [0] * n, [0.0] * n, [0.0] * n, [0] * n

    @property
    def log_t(self) -> float:
        return math.log(max(self.received, 2))

    @property
    def width(self) -> float:
        return math.sqrt(2.0 * self.log_t)

    def mean(self, arm: int) -> float:
        return self.sums[arm] / self.counts[arm]

    def scale(self, arm: int) -> float:
        return self.sigma[arm] / math.sqrt(self.counts[arm])


class Best:
    """The best of arms that are offered one by one, with random tie-breaking."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator
        self.arm = -1
        self.value = -math.inf
        self.pending = 0
        self.tied = 0

    def offer(self, arm: int, value: float, pending: int = 0) -> None:
        """Keep the arm if it is better; tied arms have equal probability."""
        infinite = value == self.value == math.inf
        better = value > self.value or (infinite and pending < self.pending)
        if self.tied == 0 or better:
            self.arm, self.value, self.pending, self.tied = arm, value, pending, 1
        elif value == self.value and not (infinite and pending > self.pending):
            self.tied += 1
            if self.generator.random() * self.tied < 1.0:
                self.arm, self.pending = arm, pending


Choose = Callable[[Seen, list[int], np.random.Generator], int]
Index = Callable[[Seen, int, list[int], np.random.Generator], float]


def by_index(index: Index) -> Choose:
    """The policy that pulls the arm with the largest index; the index of a new arm is infinite."""

    def choose(seen: Seen, candidates: list[int], generator: np.random.Generator) -> int:
        best = Best(generator)
        for arm in candidates:
            new = seen.counts[arm] == 0
            value = math.inf if new else index(seen, arm, candidates, generator)
            best.offer(arm, value, seen.pending[arm])
        return best.arm

    return choose


def ucb(alpha: float = 3.0) -> Choose:
    def index(seen: Seen, arm: int, candidates: list[int], generator: object) -> float:
        return seen.mean(arm) + math.sqrt(alpha) * seen.width * seen.scale(arm)

    return by_index(index)


def exploration(c: float, log_t: float) -> float:
    """Log t + c log log t, where a negative second term is 0."""
    return log_t + (c * math.log(log_t) if log_t > 1.0 else 0.0)


def kl_ucb(c: float = 0.0, factors: list[float] | None = None) -> Choose:
    """``factors``: how much larger than sigma the standard deviation of a reward is."""

    def index(seen: Seen, arm: int, candidates: list[int], generator: object) -> float:
        width = math.sqrt(2.0 * exploration(c, seen.log_t))
        width *= 1.0 if factors is None else factors[arm]
        return seen.mean(arm) + width * seen.scale(arm)

    return by_index(index)


def divergence(p: float, q: float) -> float:
    """kl(p, q) of two Bernoulli distributions."""
    heads = p * math.log(p / q) if p > 0.0 else 0.0
    tails = (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if p < 1.0 else 0.0
    return heads + tails


def bernoulli_bound(mean: float, level: float) -> float:
    """Largest q with kl(mean, q) <= level, by plain bisection."""
    low, high = mean, 1.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if middle < 1.0 and divergence(mean, middle) <= level:
            low = middle
        else:
            high = middle
    return high if mean == 1.0 else low


#: The smallest and the largest gain of each arm; costs are negated.
Limits = tuple[np.ndarray, np.ndarray]


def kl_ucb_bernoulli(c: float = 0.0, sign: float = 1.0, limits: Limits | None = None) -> Choose:
    """For costs, the reward is one minus the cost; the evidence holds the negated cost."""

    def index(seen: Seen, arm: int, candidates: list[int], generator: object) -> float:
        floor, width, offset = scale_of(arm, sign, limits)
        mean = min(max((seen.mean(arm) - floor) / width, 0.0), 1.0)
        bound = bernoulli_bound(mean, exploration(c, seen.log_t) / seen.counts[arm])
        return offset + width * bound

    return by_index(index)


def scale_of(arm: int, sign: float, limits: Limits | None) -> tuple[float, float, float]:
    """A gain is floor + width · rate; offsets are floors that are at most 0."""
    if limits is None:
        return -1.0 if sign < 0 else 0.0, 1.0, 0.0
    floor = float(limits[0][arm])
    return floor, float(limits[1][arm] - limits[0][arm]), floor - float(limits[0].max())


def thompson(beta: float = 1.0, factors: list[float] | None = None) -> Choose:
    """``factors``: how much larger than sigma the standard deviation of a reward is."""

    def index(seen: Seen, arm: int, candidates: list[int], generator: np.random.Generator) -> float:
        width = math.sqrt(beta) * (1.0 if factors is None else factors[arm])
        deviation = width * seen.scale(arm)
        return seen.mean(arm) + deviation * generator.standard_normal()

    return by_index(index)


def thompson_beta(sign: float = 1.0, limits: Limits | None = None, beta: float = 1.0) -> Choose:
    """A new arm is drawn from the uniform prior, not pulled first; beta widens the posterior."""

    def choose(seen: Seen, candidates: list[int], generator: np.random.Generator) -> int:
        draws = {}
        for arm in candidates:
            (floor, width, offset), count = scale_of(arm, sign, limits), seen.counts[arm]
            successes = min(max((seen.sums[arm] - count * floor) / width, 0.0), count)
            share = 1.0 / beta
            rate = generator.beta(share * successes + 1.0, share * (count - successes) + 1.0)
            draws[arm] = offset + width * rate
        return max(draws, key=lambda arm: draws[arm])

    return choose


def moss() -> Choose:
    def index(seen: Seen, arm: int, candidates: list[int], generator: object) -> float:
        rounds = seen.horizon or seen.received
        ratio = rounds / (len(candidates) * seen.counts[arm])
        return seen.mean(arm) + 2.0 * math.sqrt(max(0.0, math.log(ratio))) * seen.scale(arm)

    return by_index(index)


def imed() -> Choose:
    """The smallest index wins, so it is negated."""

    def index(seen: Seen, arm: int, candidates: list[int], generator: object) -> float:
        leader = max(seen.mean(other) for other in candidates if seen.counts[other] > 0)
        distance = (leader - seen.mean(arm)) / seen.scale(arm)
        return -(0.5 * distance * distance + math.log(seen.counts[arm]))

    return by_index(index)


def bayes_ucb(c: float = 0.0) -> Choose:
    def index(seen: Seen, arm: int, candidates: list[int], generator: object) -> float:
        slowing = max(1.0, math.log(max(seen.horizon, 2)) ** c) if seen.horizon else 1.0
        tail = 1.0 / (max(seen.received + 1, 2) * slowing)
        # The same quantile function as the library: another one differs in the last bit, which
        # would decide between arms whose indices differ only by rounding.
        return seen.mean(arm) + float(-ndtri(tail)) * seen.scale(arm)

    return by_index(index)


def ucb_tuned() -> Choose:
    def index(seen: Seen, arm: int, candidates: list[int], generator: object) -> float:
        count, mean, proxy = seen.counts[arm], seen.mean(arm), seen.sigma[arm] * seen.sigma[arm]
        variance = max(seen.squares[arm] / count - mean * mean, 0.0)
        bound = variance + 4.0 * proxy * (seen.width / math.sqrt(count))
        return mean + math.sqrt(min(proxy, bound) * seen.log_t / count)

    return by_index(index)


def epsilon_greedy(epsilon: float = 0.1, decay: float | None = None) -> Choose:
    def mean(seen: Seen, arm: int, candidates: list[int], generator: object) -> float:
        return seen.mean(arm)

    greedy = by_index(mean)

    def choose(seen: Seen, candidates: list[int], generator: np.random.Generator) -> int:
        rate = epsilon * (1.0 if decay is None else decay / (decay + seen.decided))
        if generator.random() < rate:
            return candidates[int(generator.random() * len(candidates))]
        return greedy(seen, candidates, generator)

    return choose


def uniform() -> Choose:
    def choose(seen: Seen, candidates: list[int], generator: np.random.Generator) -> int:
        return candidates[int(generator.random() * len(candidates))]

    return choose
