"""How many interactions it takes until the rewards tell which arm is best for a subject."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from structuredbandits.environments import Environment
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.policies.batch import probabilities_many
from structuredbandits.policies.registration import find
from structuredbandits.policies.registry import make_algorithm
from structuredbandits.policies.run import Run
from structuredbandits.recommendation._comparison import known_noise
from structuredbandits.recommendation.worlds import draw_true_means, worlds
from structuredbandits.simulation.arguments import read_count, read_seed
from structuredbandits.simulation.seeds import policy_sequence
from structuredbandits.structure import FloatArray, Structure

_LONGEST = 10_000
# Marks at which the posterior is looked at, per factor of ten.
_PER_DECADE = 12
_CERTAIN = 0.9


class RoundsToKnow(NamedTuple):
    """Median interactions until the posterior of the true best arm first exceeds 90 %."""

    policy: str
    median: float  # infinite if half of the runs take longer than the longest
    longest: int
    runs: int
    share: float  # of the runs that end within the longest

    def __str__(self) -> str:
        if np.isfinite(self.median):
            return f"{self.median:,.0f}"
        return f"more than {self.longest:,}"


def rounds_to_know(
    structure: Structure,
    policy: str | Algorithm | None = None,
    *,
    theta: object = None,
    longest: int = _LONGEST,
    runs: int = 40,
    seed: int = 0,
) -> RoundsToKnow:
    """Simulate how many interactions tell which arm is best for a subject.

    Subjects and rewards are drawn as in `recommend`. The posterior is looked at after 1, 2, ...
    interactions in steps that grow to a fifth of the interactions so far.

    Parameters
    ----------
    structure
        The structure; without standard errors its means are exact.
    policy
        The policy that chooses the arms; by default the default policy.
    theta
        The type of all subjects; by default drawn from the prior.
    longest
        The number of interactions at which a run ends.
    runs, seed
        The number of simulated subjects, and the seed.

    Examples
    --------
    >>> clear = Structure.from_table([[5.0, 0.0], [0.0, 5.0]], sigma=0.1)
    >>> rounds_to_know(clear, "uniform").median
    1.0
    """
    longest, runs = read_count("longest", longest), read_count("runs", runs, 2)
    seed = read_seed(seed)
    algorithm = make_algorithm(_default(structure) if policy is None else policy)
    known = known_noise(structure)
    means = draw_true_means(_only(structure, theta), runs, seed)
    environment = worlds(structure, means)
    best = (structure.sign * means).argmax(axis=1)
    observer = "posterior" if structure.standard_errors is None else "hierarchical"
    marks = _marks(longest)
    found = np.full(runs, np.inf)
    states = [
        _SimulatedVisitor(algorithm, known, environment, run, longest, seed) for run in range(runs)
    ]
    done = 0
    for mark in marks:
        left = np.flatnonzero(np.isinf(found))
        if 2 * left.size < runs:
            break  # the median is known
        for run in left:
            states[run].play(mark - done)
        done = mark
        counts = np.stack([states[run].counts for run in left])
        sums = np.stack([states[run].sums for run in left])
        shares = probabilities_many(observer, known, counts, sums)
        found[left[shares[np.arange(left.size), best[left]] > _CERTAIN]] = mark
    finished = float(np.isfinite(found).mean())
    ordered = np.sort(found)
    return RoundsToKnow(algorithm.label, float(ordered[(runs - 1) // 2]), longest, runs, finished)


def _only(structure: Structure, theta: object) -> Structure:
    """Return the structure with all of its prior on one θ, if one is given."""
    if theta is None:
        return structure
    prior = np.zeros(structure.n_parameters)
    prior[structure.parameters.nearest(structure.parameters.resolve(theta))] = 1.0
    return structure.with_(prior=prior)


def _default(structure: Structure) -> str:
    if find("value-of-information") is not None:
        return "value-of-information"
    return "posterior" if structure.standard_errors is None else "hierarchical"


def _marks(longest: int) -> list[int]:
    powers = np.arange(0.0, np.log10(longest) + 1.0 / _PER_DECADE, 1.0 / _PER_DECADE)
    return sorted({min(int(10.0**power), longest) for power in powers})


class _SimulatedVisitor:
    """A simulated subject with its run."""

    def __init__(
        self,
        algorithm: Algorithm,
        known: Structure,
        environment: Environment,
        run: int,
        longest: int,
        seed: int,
    ) -> None:
        sequence = policy_sequence(seed, run, algorithm.label, run)
        self._run = Run(algorithm, known, seed=sequence, horizon=longest, rounds=longest + 2)
        self._arms = np.arange(known.n_arms)
        self._sign = known.sign
        self._draw: Callable[[int], float] = environment.rewards(run, seed, run).draw

    def play(self, rounds: int) -> None:
        for _ in range(rounds):
            arm = self._run.decide(self._arms)
            self._run.learn(arm, self._sign * self._draw(arm))

    @property
    def counts(self) -> FloatArray:
        return self._run.evidence.counts.copy()

    @property
    def sums(self) -> FloatArray:
        return np.asarray(self._sign * self._run.evidence.sums)
