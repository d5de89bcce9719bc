"""Which policy to use on a structure, found by simulating them on what the structure says.

Every run draws a world from the structure's own uncertainty: a θ from the prior, and true means
from the map's standard errors or bounds. This room must not know how any policy chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from structuredbandits.environments import Gaussian
from structuredbandits.errors import InvalidInput, InvalidPolicy
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.policies.registry import make_algorithm
from structuredbandits.policies.structured.hierarchical_model import reward_variance
from structuredbandits.simulation.arguments import check_memory, read_count, read_seed
from structuredbandits.simulation.progress import Mode, announcing_compilation, reporting
from structuredbandits.simulation.task import Task
from structuredbandits.structure import Finite, Structure

CANDIDATES = ("ts-c", "ucb-c", "posterior", "hierarchical", "hierarchical-index")
BASELINE = "ts"
_NORMAL_95 = 1.959963984540054
_RESAMPLES = 2_000


class Candidate(NamedTuple):
    """What one policy did in the simulated worlds."""

    policy: str
    regret: float  # mean over the worlds
    standard_error: float
    worst: float  # the regret that it exceeded in one world of twenty
    gain: float  # mean reward more than the unstructured policy, a run
    gain_error: float  # standard error of the gain, over pairs in the same world
    wins: float  # share of the worlds in which it beat the unstructured policy
    best: float  # probability that its mean regret is the smallest of all candidates


@dataclass(frozen=True)
class Recommendation:
    """Which policy to use, and why.

    Attributes
    ----------
    policy
        The label of the recommended policy.
    candidates
        All that were simulated, the best first; the unstructured one is among them.
    left_out
        Candidates that do not apply to the structure, with the reason.
    horizon, runs, seed
        What it takes to do it again.
    exact
        Whether the structure's means were taken as exact, because it says nothing of their errors.
    """

    policy: str
    candidates: tuple[Candidate, ...]
    left_out: dict[str, str]
    horizon: int
    runs: int
    seed: int
    exact: bool

    @property
    def chosen(self) -> Candidate:
        """What the recommended policy did."""
        return self.candidates[0]

    def __str__(self) -> str:
        first = self.chosen
        baseline = next(one for one in self.candidates if one.policy == BASELINE)
        worlds = f"In {self.runs:,} simulated worlds of {self.horizon:,} rounds"
        lines = [f"Use {first.policy}."]
        if first.policy == BASELINE:
            lines.append(
                f"{worlds} no policy that uses the structure lost less than {_number(first.regret)}"
                f" (probability {first.best:.2f}): the structure is worth little here."
            )
        else:
            half = _NORMAL_95 * first.gain_error
            lines.append(
                f"{worlds} it lost {_number(first.regret)} to the best arm where {BASELINE}, "
                f"without the structure, lost {_number(baseline.regret)}: expect it to earn "
                f"{_number(first.gain)} more a run (95 % interval {_number(first.gain - half)} to "
                f"{_number(first.gain + half)}). It did better in {first.wins:.0%} of the worlds, "
                f"and is the best of the candidates with probability {first.best:.2f}."
            )
        if self.exact:
            lines.append(
                "The structure has no standard errors, so its means were taken as exact: if they "
                "were learned, give standard_errors= and ask again."
            )
        return "\n".join(lines)


def recommend(
    structure: Structure,
    horizon: int,
    *,
    candidates: Sequence[str | Algorithm] = CANDIDATES,
    runs: int = 200,
    seed: int = 0,
    progress: Mode = "auto",
) -> Recommendation:
    """Simulate the sensible candidates on the structure itself, and say which to use.

    Parameters
    ----------
    structure
        What is known; its prior, standard errors or bounds say how well.
    horizon
        How many rounds one subject is served.
    candidates
        Policies to compare with unstructured Thompson sampling; those that do not apply are left
        out and named.
    runs
        Worlds to draw. All policies meet the same worlds and the same luck.
    seed
        Equal seeds give equal answers.
    progress
        "auto" (a bar on a terminal), "lines" (also plain lines elsewhere) or "off".

    Examples
    --------
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 1.0]], sigma=1.0)
    >>> recommend(known, horizon=200, candidates=["posterior"], runs=20).policy
    'posterior'
    """
    if not isinstance(structure, Structure):
        raise InvalidInput(f"{structure!r} is not a structure; load or learn one first.")
    horizon, runs, seed = (
        read_count("horizon", horizon),
        read_count("runs", runs, 2),
        read_seed(seed),
    )
    algorithms, left_out = _applicable(structure, candidates)
    check_memory(len(algorithms), runs, 1, horizon, structure.n_arms)
    regret = _simulate(structure, algorithms, horizon, runs, seed, progress)
    rows = _compare([algorithm.label for algorithm in algorithms], regret, seed)
    exact = structure.exact and structure.standard_errors is None
    return Recommendation(rows[0].policy, tuple(rows), left_out, horizon, runs, seed, exact)


def _applicable(
    structure: Structure, candidates: Sequence[str | Algorithm]
) -> tuple[list[Algorithm], dict[str, str]]:
    algorithms, left_out = {BASELINE: make_algorithm(BASELINE)}, {}
    for candidate in candidates:
        algorithm = make_algorithm(candidate)
        try:
            algorithm.check(structure)
            if algorithm.needs_unit_rewards:
                raise InvalidPolicy(f"{algorithm.label} needs rewards between 0 and 1.")
            algorithms[algorithm.label] = algorithm
        except InvalidPolicy as problem:
            left_out[algorithm.label] = str(problem)
    return list(algorithms.values()), left_out


def draw_worlds(structure: Structure, runs: int, seed: int) -> np.ndarray:
    """True means that the structure allows: (runs, arms).

    θ comes from the prior (or the weights of the grid); between bounds means are uniform; standard
    errors add normal noise.

    Examples
    --------
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 1.0]], sigma=1.0, prior=[1, 0])
    >>> draw_worlds(known, runs=2, seed=0)
    array([[1., 0.], [1., 0.]])
    """
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**32 - 1,)))
    weights = structure.parameters.weights if structure.prior is None else structure.prior
    drawn = generator.choice(structure.n_parameters, size=runs, p=weights / weights.sum())
    lower, upper = structure.lower[drawn], structure.upper[drawn]
    means = lower + generator.random(lower.shape) * (upper - lower)
    if structure.standard_errors is not None:
        means += structure.standard_errors[drawn] * generator.standard_normal(means.shape)
    return np.asarray(means)


def _simulate(
    structure: Structure,
    algorithms: list[Algorithm],
    horizon: int,
    runs: int,
    seed: int,
    progress: Mode,
) -> np.ndarray:
    """Final regret of each algorithm in each world: (algorithms, runs)."""
    worlds = Structure.from_table(
        draw_worlds(structure, runs, seed),
        Finite(range(runs)),
        structure.arms,
        sigma=structure.sigma,
        minimize=structure.minimize,
    )
    noise = np.sqrt(reward_variance(structure)).tolist()
    environment = Gaussian(worlds, sigma=noise)
    regret = np.empty((len(algorithms), runs))
    total = len(algorithms) * runs
    with reporting(progress, "comparing policies", total) as bar, announcing_compilation(bar):
        for row, algorithm in enumerate(algorithms):
            for run in range(runs):
                task = Task(algorithm, structure, environment, run, (horizon,), seed, run, 1)
                regret[row, run] = task.run().regret[0, 0]
                bar.advance()
    return regret


def _compare(labels: list[str], regret: np.ndarray, seed: int) -> list[Candidate]:
    """Rows of the candidates, the smallest mean regret first."""
    runs = regret.shape[1]
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**32 - 2,)))
    winners = np.zeros(len(labels))
    for _ in range(_RESAMPLES):
        means = regret[:, generator.integers(runs, size=runs)].mean(axis=1)
        winners[int(np.argmin(means))] += 1.0 / _RESAMPLES
    gains = regret[0] - regret
    errors = regret.std(axis=1, ddof=1) / np.sqrt(runs)
    gain_errors = gains.std(axis=1, ddof=1) / np.sqrt(runs)
    rows = [
        Candidate(
            label,
            float(regret[row].mean()),
            float(errors[row]),
            float(np.quantile(regret[row], 0.95)),
            float(gains[row].mean()),
            float(gain_errors[row]),
            float((gains[row] > 0).mean()),
            float(winners[row]),
        )
        for row, label in enumerate(labels)
    ]
    return sorted(rows, key=lambda row: row.regret)


def _number(value: float) -> str:
    """Three digits that matter, with thousands apart.

    Examples
    --------
    >>> _number(1234.5), _number(0.01234)
    ('1,234', '0.0123')
    """
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
