"""`simulate`: policies × θ × runs, split into tasks that joblib runs in any order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import BrokenExecutor
from typing import Any, get_args

import numpy as np

from structuredbandits.environments import Environment
from structuredbandits.errors import InvalidInput, StructuredBanditsError
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.problems import Problem
from structuredbandits.progress import Mode, announcing_compilation, reporting
from structuredbandits.simulation._results import Results
from structuredbandits.simulation.arguments import (
    DEFAULT_CHECKPOINTS,
    check_grid,
    check_memory,
    check_rewards,
    read_checkpoints,
    read_count,
    read_policies,
    read_problem,
    read_seed,
    read_thetas,
    read_workers,
)
from structuredbandits.simulation.task import Task, TaskResult
from structuredbandits.structure import Structure
from structuredbandits.structure.interaction_length import Length

_CHUNK_ROUNDS = 2_000_000


def simulate(
    problem: Problem | Structure | str,
    policies: str | Algorithm | Sequence[str | Algorithm],
    theta: Any = None,
    *,
    horizon: int | None = None,
    length: Length | None = None,
    runs: int = 100,
    seed: int = 0,
    environment: Environment | None = None,
    checkpoints: int | str | Sequence[int] = DEFAULT_CHECKPOINTS,
    n_jobs: int = 1,
    progress: Mode = "auto",
) -> Results:
    """Run policies on the same rewards and measure their regret.

    In one run all policies face identical simulated rewards: at round t the reward of arm k is the
    quantile of its distribution at a shared u_t. Equal seeds give equal results, whatever else is
    simulated, in any order and with any number of workers.

    Parameters
    ----------
    problem
        A problem or the name of an embedded one; or a structure, whose rewards are then of its
        own family: Gaussian with its sigma, Bernoulli with its prizes, or `Bounded`.
    policies
        Names or algorithms; "all" for all that apply.
    theta
        One hidden parameter or a list of them; by default those of the problem.
    horizon, runs, seed
        Rounds per run, number of runs, seed of all random numbers.
    length
        How many interactions policies that plan ahead expect, if not the horizon: the mean, or
        pairs of a length and its share.
    environment
        Source of the rewards, instead of that of the problem.
    checkpoints
        Number of evenly spaced rounds at which regret is recorded; or "log"; or the rounds.
    n_jobs
        Number of parallel tasks of joblib; threads unless a joblib backend is configured.
    progress
        "auto" (a bar on a terminal), "lines" (also plain lines elsewhere) or "off".

    Examples
    --------
    >>> results = simulate("three-arms", ["ucb", "ucb-c"], theta=0.5, horizon=300, runs=5)
    >>> results.regret.shape
    (2, 1, 5, 200)
    """
    structure, world, own_thetas, own_horizon = read_problem(problem, environment)
    rounds = read_count("horizon", own_horizon if horizon is None else horizon)
    n_runs, seed, n_jobs = read_count("runs", runs), read_seed(seed), read_workers(n_jobs)
    if progress not in get_args(Mode):
        raise InvalidInput(f"progress is {progress!r}; give 'auto', 'lines' or 'off'.")
    thetas = read_thetas(theta, own_thetas, world)
    algorithms = [
        algorithm.with_length(length)
        for algorithm in read_policies(policies, structure, world, thetas)
    ]
    marks = read_checkpoints(checkpoints, rounds)
    shape = (len(algorithms), len(thetas))
    check_memory(math.prod(shape), n_runs, len(marks), rounds, structure.n_arms)
    check_rewards(world, thetas)
    check_grid(structure, algorithms, thetas, rounds)
    chunk = max(1, min(n_runs, _CHUNK_ROUNDS // rounds + 1))
    tasks = [
        Task(algorithm, structure, world, place, marks, seed, first, min(chunk, n_runs - first))
        for algorithm in algorithms
        for place in thetas
        for first in range(0, n_runs, chunk)
    ]
    outcomes = _run_all(tasks, n_jobs, progress)
    chunks = math.ceil(n_runs / chunk)  # per policy and θ
    pieces = [_joined(outcomes[i : i + chunks]) for i in range(0, len(outcomes), chunks)]
    return Results(
        policies=tuple(algorithm.label for algorithm in algorithms),
        thetas=tuple(thetas),
        arms=structure.arms,
        rounds=np.array(marks),
        regret=np.stack([piece.regret for piece in pieces]).reshape(*shape, n_runs, -1),
        reward=np.stack([piece.reward for piece in pieces]).reshape(*shape, n_runs, -1),
        pulls=np.stack([piece.pulls for piece in pieces]).reshape(*shape, n_runs, -1),
        empty_rounds=np.stack([piece.empty_rounds for piece in pieces]).reshape(*shape, n_runs),
        seed=seed,
        problem=problem if isinstance(problem, str) else getattr(problem, "name", None),
    )


def _joined(outcomes: Sequence[TaskResult]) -> TaskResult:
    return TaskResult(*(np.concatenate(parts) for parts in zip(*outcomes, strict=True)))


def _run_all(tasks: list[Task], n_jobs: int, progress: Mode) -> list[TaskResult]:
    total = sum(task.n_runs * task.checkpoints[-1] for task in tasks)
    with reporting(progress, "simulating", total) as reporter, announcing_compilation(reporter):
        outcomes = []
        try:
            for task, outcome in zip(tasks, _outcomes(tasks, n_jobs), strict=True):
                outcomes.append(outcome)
                reporter.advance(task.n_runs * task.checkpoints[-1])
        except BrokenExecutor as error:
            raise StructuredBanditsError(
                "a worker ended abruptly, perhaps for lack of memory; retry with fewer n_jobs."
            ) from error
        return outcomes


def _outcomes(tasks: list[Task], n_jobs: int) -> Iterable[TaskResult]:
    if n_jobs == 1:
        return (task.run() for task in tasks)
    import joblib

    parallel = joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    return parallel(joblib.delayed(task.run)() for task in tasks)  # type: ignore[no-any-return]  # joblib's
