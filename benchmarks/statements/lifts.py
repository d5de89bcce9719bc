"""How often the intervals of `lift` hold after every decision of an experiment, and their width.

An experiment counts as covered only if the interval contains the difference after each of its
decisions. The difference is that of the policy's and the baseline's expected rewards in the
decisions so far.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from benchmarks.statements.synthetic_logs import KINDS, ROUNDS, SHARES, draw_logs
from structuredbandits.holdout._baseline_terms import combine
from structuredbandits.holdout._group_log import GroupLog
from structuredbandits.holdout._group_path import (
    FREEDOM,
    HOLDOUT_MEAN,
    HOLDOUT_VARIANCE,
    POLICY_MEAN,
    POLICY_VARIANCE,
    REACH,
    follow,
    new_path,
)
from structuredbandits.holdout._lift import LEAST_FREEDOM, LEAST_SUBJECTS
from structuredbandits.holdout._time_uniform_boundary import PRIOR, log_limit

LEVEL = 0.95
PROMISED = 0.95


class Trial(NamedTuple):
    """One simulated experiment, in the order of time: (decisions,) each."""

    rewards: np.ndarray
    subjects: np.ndarray
    groups: np.ndarray
    gain: np.ndarray
    """The expected reward of the policy in each decision, minus that of the baseline."""
    weights: np.ndarray | None = None
    """The baseline's probability of the shown arm over the logged one, if it is used."""
    arms: np.ndarray | None = None


def _arrivals(generator: np.random.Generator, subjects: int, each: int) -> np.ndarray:
    """Subjects of decisions in the order of time: they arrive in order, and overlap."""
    if each == 1:
        return np.arange(subjects)
    times = np.repeat(np.arange(subjects), each) + 0.3 * subjects * generator.random(
        subjects * each
    )
    order = np.repeat(np.arange(subjects), each)[np.argsort(times)]
    _, first, codes = np.unique(order, return_index=True, return_inverse=True)
    ranks = np.empty(subjects, dtype=np.int64)
    ranks[np.argsort(first)] = np.arange(subjects)
    return ranks[codes]


def _groups(generator: np.random.Generator, subjects: int, holdout: float) -> np.ndarray:
    return (generator.random(subjects) >= holdout).astype(np.int8)


def clicks(
    generator: np.random.Generator,
    subjects: int,
    each: int,
    holdout: float,
    rate: float,
    effect: float,
) -> Trial:
    """0/1 rewards; with several decisions, subjects differ."""
    who = _arrivals(generator, subjects, each)
    group = _groups(generator, subjects, holdout)
    own = (
        np.full(subjects, rate)
        if each == 1
        else generator.beta(10 * rate, 10 - 10 * rate, subjects)
    )
    chance = own * np.where(group == 1, 1.0 + effect, 1.0)
    rewards = (generator.random(len(who)) < chance[who]).astype(float)
    return Trial(rewards, who, group[who], np.full(len(who), rate * effect))


def normal(
    generator: np.random.Generator, subjects: int, each: int, holdout: float, effect: float
) -> Trial:
    """Normal rewards around the subject's own mean."""
    who = _arrivals(generator, subjects, each)
    group = _groups(generator, subjects, holdout)
    own = generator.normal(0.0, 0.5 if each > 1 else 0.0, subjects)
    rewards = effect * group[who] + own[who] + generator.standard_normal(len(who))
    return Trial(rewards, who, group[who], np.full(len(who), effect))


def revenue(generator: np.random.Generator, subjects: int, holdout: float, effect: float) -> Trial:
    """One in ten subjects pays, a log-normal amount."""
    who = np.arange(subjects)
    group = _groups(generator, subjects, holdout)
    pays = generator.random(subjects) < 0.1 * (1.0 + effect * group)
    gain = np.full(subjects, 0.1 * effect * np.exp(0.32))
    return Trial(pays * generator.lognormal(0.0, 0.8, subjects), who, group, gain)


_BY_ROUND: dict[float, np.ndarray] = {}


def learning(
    generator: np.random.Generator, subjects: int, holdout: float, floor: float, borrow: bool
) -> Trial:
    """A policy that learns from each subject of a hidden kind; the baseline always shows arm 0."""
    if floor not in _BY_ROUND:  # what the policy earns in each round, from 60,000 subjects
        many = draw_logs(np.random.default_rng(1), 1, 60_000 * ROUNDS, floor, False, True)
        values = KINDS[many.kinds[0], many.arms[0]].reshape(-1, ROUNDS)
        _BY_ROUND[floor] = values.mean(axis=0)
    who = _arrivals(generator, subjects, ROUNDS)
    group = _groups(generator, subjects, holdout)
    drawn = draw_logs(generator, 1, subjects * ROUNDS, floor, False, True)
    kinds = drawn.kinds[0].reshape(-1, ROUNDS)[:, 0]
    order = np.argsort(who, kind="stable")
    rounds = np.empty(len(who), dtype=np.int64)
    rounds[order] = np.tile(np.arange(ROUNDS), subjects)
    place = who * ROUNDS + rounds
    held = group[who] == 0
    arms = np.where(held, 0, drawn.arms[0][place])
    fixed = generator.random(len(who)) < KINDS[kinds[who], 0]
    rewards = np.where(held, fixed, drawn.rewards[0][place]).astype(float)
    gain = _BY_ROUND[floor][rounds] - SHARES @ KINDS[:, 0]
    probability = np.where(held, 1.0, drawn.probabilities[0][place])
    weights = (arms == 0) / probability if borrow else None
    return Trial(rewards, who, group[who], gain, weights, arms)


def stream(
    generator: np.random.Generator, subjects: int, holdout: float, floor: float, best: float
) -> Trial:
    """A policy that learns from all subjects: the arm that looks best, or with a floor any."""
    means = np.array([0.3, best, 0.25])
    group = _groups(generator, subjects, holdout)
    counts, sums = np.zeros(3), np.zeros(3)
    rewards, gain = np.empty(subjects), np.empty(subjects)
    draws = generator.random((subjects, 3))
    for t, (u, v, w) in enumerate(draws.tolist()):
        top = int(np.argmax(np.where(counts > 0, sums / np.maximum(counts, 1.0), 9.0)))
        gain[t] = floor * means.mean() + (1.0 - floor) * means[top] - means[0]
        if group[t] == 0:
            rewards[t] = u < means[0]
            continue
        arm = int(w * 3) if v < floor else top
        rewards[t] = u < means[arm]
        counts[arm] += 1.0
        sums[arm] += rewards[t]
    return Trial(rewards, np.arange(subjects), group, gain)


class Outcomes:
    """Counts of one case."""

    def __init__(self) -> None:
        self.covered = self.clear = self.peeking = self.runs = 0
        self.widths: list[float] = []

    def add(self, trial: Trial, per_subject: bool) -> None:
        """Follow one experiment."""
        number = len(trial.rewards)
        looks, terms = np.arange(number), trial.rewards
        if trial.weights is not None and trial.arms is not None:
            log = GroupLog(trial.rewards, trial.subjects, trial.groups, None, True, None)  # type: ignore[arg-type]
            terms = combine(log, trial.weights, trial.arms, np.array([1.0, 0.0, 0.0])).terms
        path = new_path(looks)
        ending = follow(
            terms,
            trial.subjects,
            trial.groups,
            int(trial.subjects.max()) + 1,
            per_subject,
            log_limit(LEVEL),
            PRIOR,
            LEAST_SUBJECTS,
            LEAST_FREEDOM,
            looks,
            path,
        )
        truth = _truth(trial, per_subject)
        error = path[:, POLICY_MEAN] - path[:, HOLDOUT_MEAN] - truth
        spread = np.sqrt(path[:, POLICY_VARIANCE] + path[:, HOLDOUT_VARIANCE])
        ready = np.isfinite(path[:, REACH])
        self.runs += 1
        self.covered += bool((np.abs(error[ready]) <= path[ready, REACH] * spread[ready]).all())
        self.clear += ending.first_clear >= 0
        one_look = stdtrit(path[ready, FREEDOM], 0.5 + 0.5 * LEVEL)
        self.peeking += bool((np.abs(error[ready]) > one_look * spread[ready]).any())
        self.widths.append(path[-1, REACH] / float(one_look[-1]) if ready[-1] else np.inf)

    def row(self, case: str) -> dict[str, Any]:
        return {
            "case": case,
            "runs": self.runs,
            "promised": PROMISED,
            "measured": self.covered / self.runs,
            "clear": self.clear / self.runs,
            "peeking": self.peeking / self.runs,
            "width": float(np.median(self.widths)),
        }


def _truth(trial: Trial, per_subject: bool) -> np.ndarray:
    """The expected difference after each decision: (decisions,)."""
    size = np.ones(len(trial.gain))
    if per_subject:
        size[:] = 0.0
        size[np.unique(trial.subjects, return_index=True)[1]] = 1.0
    return np.cumsum(trial.gain) / np.cumsum(size)


Draw = Callable[[np.random.Generator], Trial]
#: Name, whether there is no effect, whether per subject, and the experiment.
CASES: tuple[tuple[str, bool, bool, Draw], ...] = (
    (
        "no effect, clicks of 2,000 subjects",
        True,
        False,
        lambda g: clicks(g, 2000, 1, 0.5, 0.2, 0.0),
    ),
    (
        "no effect, 500 subjects of 10 clicks that overlap, 20 % holdout",
        True,
        False,
        lambda g: clicks(g, 500, 10, 0.2, 0.2, 0.0),
    ),
    (
        "no effect, the same per subject",
        True,
        True,
        lambda g: clicks(g, 500, 10, 0.2, 0.2, 0.0),
    ),
    (
        "3 % clicks + 20 %, 15,000 subjects, 10 % holdout",
        False,
        False,
        lambda g: clicks(g, 15_000, 1, 0.1, 0.03, 0.2),
    ),
    (
        "normal rewards, 300 subjects of 10 decisions that overlap",
        False,
        False,
        lambda g: normal(g, 300, 10, 0.5, 0.2),
    ),
    ("revenue + 20 %, 4,000 subjects", False, False, lambda g: revenue(g, 4000, 0.5, 0.2)),
    (
        "a policy that learns from each subject, 500 of 10 decisions, 20 % holdout",
        False,
        False,
        lambda g: learning(g, 500, 0.2, 0.2, False),
    ),
    (
        "the same per subject",
        False,
        True,
        lambda g: learning(g, 500, 0.2, 0.2, False),
    ),
    (
        "the same with all decisions for the baseline",
        False,
        False,
        lambda g: learning(g, 500, 0.2, 0.2, True),
    ),
    (
        "a policy that learns from all subjects, 2,000 of them",
        False,
        False,
        lambda g: stream(g, 2000, 0.3, 0.1, 0.4),
    ),
    (
        "the same with no effect to learn",
        False,
        False,
        lambda g: stream(g, 2000, 0.3, 0.1, 0.3),
    ),
)


def measure_case(place: int, runs: int, seed: int) -> dict[str, Any]:
    """One case, in ``runs`` experiments."""
    case, null, per_subject, draw = CASES[place]
    generator, outcomes = np.random.default_rng((seed, place)), Outcomes()
    for _ in range(runs):
        outcomes.add(draw(generator), per_subject)
    row = outcomes.row(case) | {"null": null}
    assert not null or row["clear"] <= 1.0 - row["measured"] + 1e-12
    return row


def measure(runs: int = 1000) -> list[dict[str, Any]]:
    """All cases."""
    rows = []
    for place in range(len(CASES)):
        row = measure_case(place, runs, seed=17)
        print(
            f"{row['case']}: width x{row['width']:.2f}, one-look intervals ever wrong "
            f"{row['peeking']:.1%}, clear {row['clear']:.1%}",
            flush=True,
        )
        rows.append(row)
    return rows
