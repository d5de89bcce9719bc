"""`simulate`: policies × θ × runs, cut into tasks that joblib does in any order."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, get_args

import numpy as np

from structuredbandits.environments import Environment, Gaussian
from structuredbandits.errors import InvalidInput, InvalidPolicy, StructureWarning
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.policies.registry import applicable, make_algorithm, policy_names
from structuredbandits.problems import Problem, load_problem
from structuredbandits.simulation.progress import Mode, announcing_compilation, reporting
from structuredbandits.simulation.results import Results
from structuredbandits.simulation.task import Outcome, Task
from structuredbandits.structure import Structure

DEFAULT_CHECKPOINTS = 200
_CHUNK_ROUNDS = 2_000_000


def simulate(
    problem: Problem | Structure | str,
    policies: str | Algorithm | Sequence[str | Algorithm],
    theta: Any = None,
    *,
    horizon: int | None = None,
    runs: int = 100,
    seed: int = 0,
    environment: Environment | None = None,
    checkpoints: int | str | Sequence[int] = DEFAULT_CHECKPOINTS,
    n_jobs: int = 1,
    progress: Mode = "auto",
) -> Results:
    """Run policies on the same rewards and measure their regret.

    In one run all policies meet the same luck: at round t the reward of arm k is its
    distribution's quantile at a shared u_t. Equal seeds give equal results, whatever else is
    simulated beside, in whatever order and on however many workers.

    Parameters
    ----------
    problem
        A problem or the name of an embedded one; or a bare structure, whose rewards are then
        Gaussian with its own means and sigma.
    policies
        Names or algorithms; "all" for every one that applies.
    theta
        One hidden parameter or a list of them; the problem's own if None.
    horizon, runs, seed
        Rounds a run, number of runs, seed of everything.
    environment
        Where rewards come from, in place of the problem's.
    checkpoints
        At how many rounds regret is kept, evenly spaced; or "log"; or the rounds themselves.
    n_jobs
        Tasks done at a time, by joblib; threads unless a joblib backend is configured.
    progress
        "auto" (a bar on a terminal), "lines" (also plain lines elsewhere) or "off".

    Examples
    --------
    >>> results = simulate("three-arms", ["ucb", "ucb-c"], theta=0.5, horizon=300, runs=5)
    >>> results.regret.shape
    (2, 1, 5, 200)
    """
    structure, world, own_thetas, own_horizon = _read_problem(problem, environment)
    rounds = _read_count("horizon", own_horizon if horizon is None else horizon)
    n_runs = _read_count("runs", runs)
    if not _whole(seed) or seed < 0:
        raise InvalidInput(f"the seed is {seed!r}; give a whole number from 0 on.")
    if not _whole(n_jobs) or n_jobs == 0:
        raise InvalidInput(
            f"n_jobs is {n_jobs!r}; give the number of workers, or -1 for all cores."
        )
    if progress not in get_args(Mode):
        raise InvalidInput(f"progress is {progress!r}; give 'auto', 'lines' or 'off'.")
    algorithms = _read_policies(policies, structure)
    thetas = _read_thetas(theta, own_thetas, world)
    marks = _read_checkpoints(checkpoints, rounds)
    _check_grid(structure, algorithms, thetas, rounds)
    _check_unit_rewards(algorithms, world, thetas)
    chunk = max(1, min(n_runs, _CHUNK_ROUNDS // rounds + 1))
    tasks = [
        Task(
            algorithm, structure, world, place, marks, int(seed), first, min(chunk, n_runs - first)
        )
        for algorithm in algorithms
        for place in thetas
        for first in range(0, n_runs, chunk)
    ]
    outcomes = _run_all(tasks, n_jobs, progress)
    shape = (len(algorithms), len(thetas))
    per_cell = math.ceil(n_runs / chunk)
    pieces = [_joined(outcomes[i : i + per_cell]) for i in range(0, len(outcomes), per_cell)]
    return Results(
        policies=tuple(algorithm.label for algorithm in algorithms),
        thetas=tuple(thetas),
        arms=structure.arms,
        rounds=np.array(marks),
        regret=np.stack([piece.regret for piece in pieces]).reshape(*shape, n_runs, -1),
        reward=np.stack([piece.reward for piece in pieces]).reshape(*shape, n_runs, -1),
        pulls=np.stack([piece.pulls for piece in pieces]).reshape(*shape, n_runs, -1),
        empty_rounds=np.stack([piece.empty_rounds for piece in pieces]).reshape(*shape, n_runs),
        seed=int(seed),
        problem=problem if isinstance(problem, str) else getattr(problem, "name", None),
    )


def _joined(outcomes: Sequence[Outcome]) -> Outcome:
    return Outcome(*(np.concatenate(parts) for parts in zip(*outcomes, strict=True)))


def _run_all(tasks: list[Task], n_jobs: int, progress: Mode) -> list[Outcome]:
    total = sum(task.n_runs * task.checkpoints[-1] for task in tasks)
    with reporting(progress, "simulating", total) as reporter, announcing_compilation(reporter):
        outcomes = []
        for task, outcome in zip(tasks, _outcomes(tasks, n_jobs), strict=True):
            outcomes.append(outcome)
            reporter.advance(task.n_runs * task.checkpoints[-1])
        return outcomes


def _outcomes(tasks: list[Task], n_jobs: int) -> Iterable[Outcome]:
    if n_jobs == 1:
        return (task.run() for task in tasks)
    import joblib

    parallel = joblib.Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    return parallel(joblib.delayed(task.run)() for task in tasks)  # type: ignore[no-any-return]


# -- reading the arguments -------------------------------------------------------------------------


def _read_problem(
    problem: Problem | Structure | str, environment: Environment | None
) -> tuple[Structure, Environment, tuple[Any, ...], int | None]:
    if isinstance(problem, str):
        problem = load_problem(problem)
    if isinstance(problem, Structure):
        world = Gaussian(problem) if environment is None else environment
        _check_arms(problem, world)
        return problem, world, (), None
    if not isinstance(problem, Problem):
        raise InvalidInput(
            f"{problem!r} is no problem; give a structure, a problem or the name of one, for "
            "example 'three-arms'."
        )
    world = problem.environment if environment is None else environment
    _check_arms(problem.structure, world)
    return problem.structure, world, tuple(problem.thetas), problem.horizon


def _check_arms(structure: Structure, environment: Environment) -> None:
    if tuple(environment.arms) != structure.arms:
        raise InvalidInput(
            f"the environment's arms {tuple(environment.arms)!r} are not the structure's "
            f"{structure.arms!r}; give both the same names in the same order."
        )


def _whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _read_count(name: str, value: int | None) -> int:
    if value is None:
        raise InvalidInput(f"a bare structure has no {name}; give one, for example {name}=10_000.")
    if not _whole(value) or value < 1:
        raise InvalidInput(f"{name} is {value!r}; give a whole number of at least 1.")
    return int(value)


def _read_policies(
    policies: str | Algorithm | Sequence[str | Algorithm], structure: Structure
) -> list[Algorithm]:
    if isinstance(policies, str) and policies.strip().lower() == "all":
        fitting, _ = applicable(structure, policy_names())
        return [make_algorithm(name) for name in fitting]
    if isinstance(policies, (str, Algorithm)) or not isinstance(policies, Iterable):
        policies = [policies]
    algorithms = [make_algorithm(policy) for policy in policies]
    if not algorithms:
        raise InvalidPolicy("no policy was given; name at least one, for example 'ucb-c'.")
    labels = [algorithm.label for algorithm in algorithms]
    for label in labels:
        if labels.count(label) > 1:
            raise InvalidPolicy(f"policy {label!r} is given twice; name each policy once.")
    for algorithm in algorithms:
        algorithm.check(structure)
    return algorithms


def _read_thetas(theta: Any, own: tuple[Any, ...], environment: Environment) -> list[Any]:
    if theta is None:
        if not own:
            raise InvalidInput(
                "a bare structure has no θ to try; give theta, for example theta=0.5."
            )
        thetas = list(own)
    elif isinstance(theta, (list, np.ndarray)):
        thetas = [value.item() if isinstance(value, np.generic) else value for value in theta]
        thetas = [
            tuple(value) if isinstance(value, (list, np.ndarray)) else value for value in thetas
        ]
    else:
        thetas = [theta]
    if not thetas:
        raise InvalidInput("the list of θ is empty; give at least one.")
    return [environment.parameters.resolve(value) for value in thetas]


def _read_checkpoints(checkpoints: int | str | Sequence[int], horizon: int) -> tuple[int, ...]:
    if isinstance(checkpoints, str):
        if checkpoints != "log":
            raise InvalidInput(f"checkpoints is {checkpoints!r}; give a number, 'log' or rounds.")
        marks = np.geomspace(1, horizon, DEFAULT_CHECKPOINTS).round()
    elif isinstance(checkpoints, Iterable):
        marks = _read_rounds(list(checkpoints), horizon)
    else:
        number = _read_count("checkpoints", checkpoints)
        marks = np.linspace(0, horizon, number + 1).round()
    rounds = {int(mark) for mark in marks} - {0} | {horizon}
    return tuple(sorted(rounds))


def _read_rounds(rounds: list[Any], horizon: int) -> np.ndarray:
    for value in rounds:
        if not _whole(value) or not 1 <= value <= horizon:
            raise InvalidInput(
                f"checkpoint {value!r} is no round; give whole numbers from 1 to the horizon "
                f"{horizon}."
            )
    if not rounds:
        raise InvalidInput("there is no checkpoint; give at least one round, or their number.")
    return np.array(rounds)


def _check_unit_rewards(
    algorithms: list[Algorithm], environment: Environment, thetas: list[Any]
) -> None:
    needing = [algorithm.label for algorithm in algorithms if algorithm.needs_unit_rewards]
    if not needing:
        return
    if hasattr(environment, "quantile_table"):
        _, values = environment.quantile_table(thetas[0])
        if values.min() >= 0.0 and values.max() <= 1.0:
            return
    raise InvalidPolicy(
        f"{needing[0]} needs rewards between 0 and 1, which this environment does not promise; "
        "use a Bernoulli environment, or a policy such as ts or kl-ucb."
    )


def _check_grid(
    structure: Structure, algorithms: list[Algorithm], thetas: list[Any], horizon: int
) -> None:
    """Warn if no grid point is near enough to an off-grid θ for the horizon's smallest radius."""
    alphas = [
        algorithm.alpha
        for algorithm in algorithms
        if not algorithm.classical and hasattr(algorithm, "alpha")
    ]
    if not (structure.parameters.continuous and structure.exact and alphas):
        return
    radius = math.sqrt(2.0 * min(alphas) * math.log(max(horizon, 2)) / horizon) * structure.sigma
    for theta in thetas:
        distances = np.abs(structure.means - structure.means_at(theta)) / radius
        if distances.max(axis=1).min() > 0.5:
            warnings.warn(
                f"the grid over Θ is too coarse for {horizon} rounds at θ = {theta}: the nearest "
                "grid point differs by more than half the radius that they reach, so θ may be "
                "ruled out; use more points, or sound cells (lipschitz= or sound=True).",
                StructureWarning,
                stacklevel=3,
            )
            return
