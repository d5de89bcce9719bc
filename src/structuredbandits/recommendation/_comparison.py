"""Simulates policies in the same worlds, and compares their regret."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structuredbandits.environments import Environment
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.policies.registration import description_of, find
from structuredbandits.policies.registry import make_algorithm
from structuredbandits.policies.structured.hierarchical_model import reward_variance
from structuredbandits.progress import Mode, announcing_compilation, reporting
from structuredbandits.recommendation.worlds import draw_true_means, worlds
from structuredbandits.simulation.seeds import policy_sequence
from structuredbandits.simulation.task import Task
from structuredbandits.structure import FloatArray, Structure

BASELINE = "always"
#: Policies that know the average of each arm, but no visitor types.
RIVALS = (BASELINE, "prior-index")
#: Policies that are compared by default, besides the rivals.
CANDIDATES = (
    "ts",
    "ts-c",
    "ucb-c",
    "posterior",
    "ids",
    "ossb",
    "hierarchical",
    "hierarchical-index",
    *(["value-of-information"] if find("value-of-information") else []),
)
_RESAMPLES = 2_000


class Candidate(NamedTuple):
    """The simulated performance of one policy."""

    policy: str
    reward: float  # mean per interaction; a cost if rewards are costs
    gain: float  # additional reward (or saved cost) per interaction, compared with always
    gain_error: float  # standard error of the gain, paired by run
    percent: float  # the gain in per cent of what always earns; NaN if that is not positive
    regret: float  # mean over the runs, per run
    standard_error: float
    worst: float  # the 95 % quantile of the regret over the runs
    wins: float  # share of the runs in which it beat always
    best: float  # probability that its mean regret is the smallest of all candidates


class Comparison(NamedTuple):
    """Policies in the same simulated worlds."""

    labels: tuple[str, ...]
    regret: FloatArray  # (policies, lengths, runs)
    lengths: tuple[int, ...]
    always: float  # mean reward per interaction of the first policy, which is `always`
    sign: float  # -1 for costs
    arm: str  # what `always` shows

    def gains(self, place: int) -> FloatArray:
        """Return the gain per interaction over `always` at one length: (policies, runs)."""
        regret = self.regret[:, place]
        return np.asarray((regret[0] - regret) / self.lengths[place])


def uses_types(label: str) -> bool:
    """Tell whether a policy uses more of the structure than each arm's average."""
    algorithm = make_algorithm(label)
    return not algorithm.classical and algorithm.name not in (*RIVALS, "uniform")


def applicable_policies(
    structure: Structure, candidates: Sequence[str | Algorithm]
) -> tuple[list[Algorithm], dict[str, str]]:
    """Return the rivals and the candidates that apply, and why others do not."""
    algorithms, left_out = {name: make_algorithm(name) for name in RIVALS}, {}
    for candidate in candidates:
        algorithm = make_algorithm(candidate)
        try:
            algorithm.check(structure)
            if algorithm.refuses_other_rewards(structure):
                raise InvalidPolicy(f"{algorithm.label} needs rewards between 0 and 1.")
            algorithms[algorithm.label] = algorithm
        except InvalidPolicy as problem:
            left_out[algorithm.label] = str(problem)
    return list(algorithms.values()), left_out


def known_noise(structure: Structure) -> Structure:
    """Return the structure with the standard deviation of one reward as σ."""
    return structure.with_(sigma=np.sqrt(reward_variance(structure)))


def compare(
    structure: Structure,
    algorithms: Sequence[Algorithm],
    lengths: Sequence[int],
    *,
    runs: int,
    delay: int,
    seed: int,
    progress: Mode,
) -> Comparison:
    """Simulate policies, the first of them `always`, in the same worlds at each length.

    All of them use the same σ: the standard deviation of one reward.
    """
    means = draw_true_means(structure, runs, seed)
    environment = worlds(structure, means)
    known = known_noise(structure)
    regret = np.empty((len(algorithms), len(lengths), runs))
    total = len(algorithms) * runs
    with reporting(progress, "comparing policies", total) as bar, announcing_compilation(bar):
        for row, algorithm in enumerate(algorithms):
            for run in range(runs):
                regret[row, :, run] = _one_run(
                    algorithm, known, environment, run, tuple(lengths), seed, delay
                )
                bar.advance()
    arm = structure.arm_index(algorithms[0].start(known).pull())
    return Comparison(
        tuple(algorithm.label for algorithm in algorithms),
        regret,
        tuple(lengths),
        float(means[:, arm].mean()),
        structure.sign,
        structure.arms[arm],
    )


def _one_run(
    algorithm: Algorithm,
    known: Structure,
    environment: Environment,
    run: int,
    lengths: tuple[int, ...],
    seed: int,
    delay: int,
) -> FloatArray:
    """Return the regret of one run at each length: (lengths,)."""
    anytime = "horizon" not in description_of(type(algorithm)).needs
    # A policy that knows its length is run once for each of them.
    groups = [lengths] if anytime else [(length,) for length in lengths]
    if delay == 0:
        tasks = (Task(algorithm, known, environment, run, marks, seed, run, 1) for marks in groups)
        return np.concatenate([task.run().regret[0] for task in tasks])
    found = [_late(algorithm, known, environment, run, marks, seed, delay) for marks in groups]
    return np.concatenate(found)


def _late(
    algorithm: Algorithm,
    known: Structure,
    environment: Environment,
    run: int,
    marks: tuple[int, ...],
    seed: int,
    delay: int,
) -> FloatArray:
    """Return the regret at each mark if a reward arrives ``delay`` interactions later."""
    worth = known.sign * environment.means_at(run)
    gaps = worth.max() - worth
    sequence = policy_sequence(seed, run, algorithm.label, run)
    policy = algorithm.start(known, seed=sequence, horizon=marks[-1])
    rewards = environment.rewards(run, seed, run)
    waiting: list[tuple[str, float]] = []
    found, lost = [], 0.0
    for t in range(1, marks[-1] + 1):
        arm = policy.pull()
        lost += gaps[known.arm_index(arm)]
        waiting.append((arm, rewards.draw(arm)))
        if t > delay:
            policy.update(*waiting[t - 1 - delay])
        if t in marks:
            found.append(lost)
    return np.array(found)


def rank(comparison: Comparison, place: int, seed: int) -> list[Candidate]:
    """Return one row per policy at one length, the smallest mean regret first."""
    regret, gains = comparison.regret[:, place], comparison.gains(place)
    runs, length = regret.shape[1], comparison.lengths[place]
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**32 - 2,)))
    winners = np.zeros(len(regret))
    for _ in range(_RESAMPLES):
        means = regret[:, generator.integers(runs, size=runs)].mean(axis=1)
        winners[int(np.argmin(means))] += 1.0 / _RESAMPLES
    rows = []
    for row, label in enumerate(comparison.labels):
        gain = float(gains[row].mean())
        rows.append(
            Candidate(
                label,
                comparison.always + comparison.sign * gain,
                gain,
                float(gains[row].std(ddof=1) / np.sqrt(runs)),
                percent_of(gain, comparison.always),
                float(regret[row].mean()),
                float(regret[row].std(ddof=1) / np.sqrt(runs)),
                float(np.quantile(regret[row], 0.95)),
                float((gains[row] > 1e-12 * max(regret.max() / length, 1e-300)).mean()),
                float(winners[row]),
            )
        )
    return sorted(rows, key=lambda row: row.regret)


def percent_of(gain: float, base: float) -> float:
    """Return a gain in per cent of a positive base, NaN for others.

    Examples
    --------
    >>> percent_of(0.1, 2.0)
    5.0
    """
    return 100.0 * gain / base if base > 0.0 else float("nan")
