"""An independent implementation of every policy from the papers, vectorised over many runs.

It does not import the library, so that an error there cannot be repeated here; the tests compare
only the distributions of the results.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Marks = NDArray[np.uint8]


@dataclass
class Runs:
    """Statistics of many runs after the same number of rounds."""

    counts: Floats  # (runs, arms)
    sums: Floats  # (runs, arms)
    squares: Floats  # (runs, arms)
    sigma: float | Floats  # one, or (arms,)
    horizon: int
    generator: np.random.Generator
    rounds: int = 0

    @property
    def log_t(self) -> float:
        return math.log(max(self.rounds, 2))

    @property
    def seen(self) -> Floats:
        """Counts to divide by; the result for an arm without rewards is overwritten."""
        return np.maximum(self.counts, 1.0)

    @property
    def means(self) -> Floats:
        return self.sums / self.seen


#: Scores of all arms, (runs, arms); the largest score among the candidates is pulled.
Rule = Callable[[Runs, Flags], Floats]


def unseen_first(runs: Runs, scores: Floats) -> Floats:
    return np.where(runs.counts == 0, np.inf, scores)


# -- classical policies ----------------------------------------------------------------------------


def ucb(alpha: float = 3.0) -> Rule:
    """Auer et al. 2002 with the paper's alpha: mean + sqrt(2 alpha sigma² log t / n)."""

    def scores(runs: Runs, candidates: Flags) -> Floats:
        radius = np.sqrt(2 * alpha * runs.sigma**2 * runs.log_t / runs.seen)
        return unseen_first(runs, runs.means + radius)

    return scores


def kl_ucb(c: float = 0.0) -> Rule:
    """Garivier and Cappé 2011: the largest q with n (q - mean)² / (2 sigma²) <= the level."""

    def scores(runs: Runs, candidates: Flags) -> Floats:
        level = runs.log_t + c * math.log(runs.log_t) if c else runs.log_t
        radius = runs.sigma * np.sqrt(2 * max(level, 0.0) / runs.seen)
        return unseen_first(runs, runs.means + radius)

    return scores


def bernoulli_divergence(p: Floats, q: Floats) -> Floats:
    """Kl(p, q) = p log(p/q) + (1-p) log((1-p)/(1-q)), with 0 log 0 = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        heads = np.where(p > 0, p * np.log(p / q), 0.0)
        tails = np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0)
    return np.asarray(heads + tails)


def kl_ucb_bernoulli(runs: Runs, candidates: Flags) -> Floats:
    """The same with the Bernoulli divergence, by 30 halvings of [mean, 1]."""
    mean = np.clip(runs.means, 0.0, 1.0)
    low, high = mean.copy(), np.ones_like(mean)
    for _ in range(30):
        middle = (low + high) / 2
        good = runs.counts * bernoulli_divergence(mean, middle) <= runs.log_t
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return unseen_first(runs, low)


def thompson(posterior_deviation: Callable[[Runs], Floats] | None = None) -> Rule:
    """Thompson 1933 for Gaussian rewards: the posterior of the mean is N(mean, sigma²/n).

    Another standard deviation can be given, to show its effect.
    """

    def scores(runs: Runs, candidates: Flags) -> Floats:
        if posterior_deviation is None:
            deviation = runs.sigma / np.sqrt(runs.seen)
        else:
            deviation = posterior_deviation(runs)
        draws = runs.generator.standard_normal(runs.counts.shape)
        return unseen_first(runs, runs.means + deviation * draws)

    return scores


def thompson_beta(runs: Runs, candidates: Flags) -> Floats:
    """Agrawal and Goyal 2013: Beta(successes + 1, failures + 1)."""
    return runs.generator.beta(runs.sums + 1, runs.counts - runs.sums + 1)


def moss(runs: Runs, candidates: Flags) -> Floats:
    """Audibert and Bubeck 2009: mean + sqrt(log+(T/(K n)) / n) for rewards in [0, 1].

    These are 1/2-sub-Gaussian, so for other rewards the root is multiplied by 2 sigma.
    """
    n_candidates = candidates.sum(axis=1, keepdims=True)
    log_plus = np.maximum(np.log(runs.horizon / (n_candidates * runs.seen)), 0.0)
    return unseen_first(runs, runs.means + 2 * runs.sigma * np.sqrt(log_plus / runs.seen))


def imed(runs: Runs, candidates: Flags) -> Floats:
    """Honda and Takemura 2015: the smallest n kl(mean, best mean) + log n."""
    known = candidates & (runs.counts > 0)
    best = np.where(known, runs.means, -np.inf).max(axis=1, keepdims=True)
    best = np.where(np.isfinite(best), best, 0.0)
    divergence = (best - runs.means) ** 2 / (2 * runs.sigma**2)
    return unseen_first(runs, -(runs.counts * divergence + np.log(runs.seen)))


def bayes_ucb(runs: Runs, candidates: Flags) -> Floats:
    """Kaufmann et al. 2012 with c = 0: the quantile 1 - 1/t of the posterior, t the coming round.

    In the first round 1 - 1/t is 0, but no arm has been pulled then, so the value has no effect.
    """
    quantile = ndtri(1 - 1 / max(runs.rounds + 1, 2))
    return unseen_first(runs, runs.means + quantile * runs.sigma / np.sqrt(runs.seen))


def ucb_tuned(runs: Runs, candidates: Flags) -> Floats:
    """Auer et al. 2002, section 4: sqrt(log t / n min(1/4, variance + sqrt(2 log t / n))).

    In units of 2 sigma, which are those of rewards in [0, 1] with sigma = 1/2.
    """
    unit = 2 * runs.sigma
    variance = (runs.squares / runs.seen - runs.means**2) / unit**2
    bound = variance + np.sqrt(2 * runs.log_t / runs.seen)
    root = np.sqrt(runs.log_t / runs.seen * np.minimum(0.25, bound))
    return unseen_first(runs, runs.means + unit * root)


def epsilon_greedy(epsilon: float = 0.1, decay: float | None = None) -> Rule:
    """With probability epsilon a random arm, otherwise the arm with the largest mean."""

    def scores(runs: Runs, candidates: Flags) -> Floats:
        rate = epsilon if decay is None else min(1.0, epsilon * decay / (decay + runs.rounds))
        explore = runs.generator.random(len(runs.counts)) < rate
        # Ties are broken at random.
        return np.where(explore[:, None], 0.0, unseen_first(runs, runs.means))

    return scores


# -- the structure ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Knowledge:
    """Bounds of every arm's mean at every θ, (arms, parameters); equal for exact means."""

    lower: Floats
    upper: Floats
    optimal: Flags = field(init=False)
    tolerance: float = field(init=False)

    def __post_init__(self) -> None:
        tolerance = 1e-9 * float(self.upper.max() - self.lower.min())
        optimal = self.upper >= self.lower.max(axis=0) - tolerance
        object.__setattr__(self, "tolerance", tolerance)
        object.__setattr__(self, "optimal", optimal)


@njit(nogil=True)  # type: ignore[untyped-decorator]
def marks_of_plausible(lower: Floats, upper: Floats, low: Floats, high: Floats) -> Marks:
    """1 where no arm of a run rules out a θ, (runs, parameters).

    Numbers instead of flags and one plain loop over θ let the compiler vectorise.
    """
    inside = np.ones((len(low), lower.shape[1]), np.uint8)
    for run in range(len(low)):
        row = inside[run]
        for arm in range(len(lower)):
            below, above = low[run, arm], high[run, arm]
            smallest, largest = lower[arm], upper[arm]
            for i in range(row.size):
                row[i] &= np.uint8(largest[i] > below) & np.uint8(smallest[i] < above)
    return inside


def plausible(lower: Floats, upper: Floats, low: Floats, high: Floats) -> Flags:
    """Which θ, (runs, parameters), no arm of a run rules out."""
    return marks_of_plausible(lower, upper, low, high).view(np.bool_)


@njit(nogil=True)  # type: ignore[untyped-decorator]
def marks_of_competitive(inside: Marks, optimal: Marks) -> Marks:
    """1 for the arms, (runs, arms), that are optimal at some plausible θ; all if there is none."""
    found = np.zeros((len(inside), len(optimal)), np.uint8)
    for run in range(len(inside)):
        row, none = inside[run], True
        for arm in range(len(optimal)):
            best, mark = optimal[arm], np.uint8(0)
            for i in range(row.size):
                mark |= row[i] & best[i]
            found[run, arm] = mark
            none = none and mark == 0
        if none:
            found[run] = 1
    return found


def competitive_arms(inside: Flags, optimal: Flags) -> Flags:
    """The arms, (runs, arms), that are optimal at some plausible θ; all arms if there is none."""
    marks = marks_of_competitive(inside.view(np.uint8), optimal.view(np.uint8))
    return marks.view(np.bool_)


@njit(nogil=True, fastmath={"nnan", "nsz"})  # type: ignore[untyped-decorator]
def largest_means(inside: Flags, upper: Floats) -> Floats:
    """The largest mean, (runs, arms), that is plausible for each arm.

    There is no NaN here; the compiler vectorises only if it knows that.
    """
    largest = np.full((len(inside), len(upper)), -np.inf)
    for run in range(len(inside)):
        row = inside[run]
        for arm in range(len(upper)):
            means, best = upper[arm], -np.inf
            for i in range(row.size):
                value = means[i] if row[i] else -np.inf
                best = value if value > best else best
            largest[run, arm] = best
    return largest


@dataclass(frozen=True)
class Metric:
    """How an informative arm is found: "kl", "entropy" or "random"."""

    name: str
    gamma: float = 30.0
    d: float = 1.1

    def arm(self, knowledge: Knowledge, inside: Flags, generator: np.random.Generator) -> int:
        n_arms = len(knowledge.lower)
        if self.name == "random":
            return int(generator.integers(n_arms))
        middles = (knowledge.lower + knowledge.upper)[:, inside] / 2
        if self.name == "kl":
            worth = middles.var(axis=1)
        else:
            worth = np.array([entropy(row, knowledge.tolerance) for row in middles])
        return int(generator.choice(np.flatnonzero(worth == worth.max())))


def entropy(values: Floats, tolerance: float) -> float:
    """Shannon entropy of values, those closer than the tolerance counted as one."""
    ordered = np.sort(values)
    group = np.concatenate(([0], np.cumsum(np.diff(ordered) > tolerance)))
    shares = np.bincount(group) / len(values)
    return float(-(shares * np.log(shares)).sum())


@dataclass(frozen=True)
class Structured:
    """Algorithm-C around a rule (with `informative`, its third version), or UCB-S without one."""

    knowledge: Knowledge
    rule: Rule | None
    alpha: float = 3.0
    informative: Metric | None = None

    def choose(self, runs: Runs) -> NDArray[np.int64]:
        known = self.knowledge
        radius = np.sqrt(2 * self.alpha * runs.sigma**2 * runs.log_t / runs.seen)
        radius = np.where(runs.counts == 0, np.inf, radius)
        inside = plausible(known.lower, known.upper, runs.means - radius, runs.means + radius)
        if self.rule is None:
            return self.choose_by_largest_mean(runs, inside)
        candidates = competitive_arms(inside, known.optimal)
        arms = pick(self.rule(runs, candidates), candidates, runs)
        if self.informative is not None:
            share = min(1.0, self.informative.gamma / max(runs.rounds, 1) ** self.informative.d)
            coins = runs.generator.random(len(arms)) < share
            for run in np.flatnonzero(coins & inside.any(axis=1)):
                arms[run] = self.informative.arm(known, inside[run], runs.generator)
        return arms

    def choose_by_largest_mean(self, runs: Runs, inside: Flags) -> NDArray[np.int64]:
        """UCB-S; UCB if no θ is plausible."""
        everything = np.ones(runs.counts.shape, dtype=bool)
        fallback = ucb(self.alpha)(runs, everything)
        some = inside.any(axis=1)[:, np.newaxis]
        return pick(
            np.where(some, largest_means(inside, self.knowledge.upper), fallback), everything, runs
        )


# -- simulation ------------------------------------------------------------------------------------


def pick(scores: Floats, candidates: Flags, runs: Runs) -> NDArray[np.int64]:
    """The candidate with the largest score, with random tie-breaking."""
    shown = np.where(candidates, scores, -np.inf)
    tied = candidates & (shown == shown.max(axis=1, keepdims=True))
    if tied.sum() == len(tied):
        return tied.argmax(axis=1)
    return np.asarray(np.where(tied, runs.generator.random(tied.shape), -1.0).argmax(axis=1))


def regrets(
    policy: Rule | Structured,
    means: Any,
    *,
    sigma: float,
    horizon: int,
    runs: int,
    seed: int,
    bernoulli: bool = False,
) -> Floats:
    """Regret of every run, (runs,), with N(mean, sigma²) or 0/1 rewards."""
    truth = np.asarray(means, dtype=float)
    generator = np.random.default_rng(seed)
    shape = (runs, len(truth))
    state = Runs(*np.zeros((3, *shape)), sigma=sigma, horizon=horizon, generator=generator)
    everything = np.ones(shape, dtype=bool)
    each = np.arange(runs)
    for done in range(horizon):
        state.rounds = done
        if isinstance(policy, Structured):
            arms = policy.choose(state)
        else:
            arms = pick(policy(state, everything), everything, state)
        if bernoulli:
            rewards = (generator.random(runs) < truth[arms]).astype(float)
        else:
            rewards = truth[arms] + sigma * generator.standard_normal(runs)
        state.counts[each, arms] += 1
        state.sums[each, arms] += rewards
        state.squares[each, arms] += rewards**2
    return np.asarray(state.counts @ (truth.max() - truth))
