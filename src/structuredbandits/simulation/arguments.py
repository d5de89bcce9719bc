"""Reads and checks the arguments of a simulation, before anything runs."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from structuredbandits.confidence.divergence import interval_ends
from structuredbandits.environments import (
    Environment,
    NormalEnvironment,
    TableEnvironment,
    default_environment,
    require_environment,
)
from structuredbandits.errors import (
    InvalidInput,
    InvalidParameter,
    InvalidPolicy,
    StructureWarning,
)
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.policies.registry import applicable, make_algorithm, policy_names
from structuredbandits.policies.run_arguments import LARGEST_REWARD
from structuredbandits.problems import Problem, load_problem
from structuredbandits.structure import Structure
from structuredbandits.structure.parameters import show_theta

DEFAULT_CHECKPOINTS = 200
_MOST_WORKERS = 1024
# Counts are stored as floats, which are exact up to 9e15.
_MOST = 10**15
_MOST_CHECKPOINTS = 10**7
# Maximum memory per recorded number of a run, in bytes, while its table is created.
_BYTES_PER_ROW = 80


def read_problem(
    problem: Problem | Structure | str, environment: Environment | None
) -> tuple[Structure, Environment, tuple[Any, ...], int | None]:
    """Structure, environment, and the θ and horizon of the problem."""
    if isinstance(problem, str):
        problem = load_problem(problem)
    if isinstance(problem, Structure):
        if environment is None:
            return problem, default_environment(problem), (), None
        _check_arms(problem, environment)
        return problem, environment, (), None
    if not isinstance(problem, Problem):
        raise InvalidInput(
            f"{problem!r} is not a problem; give a structure, a problem or the name of one, for "
            "example 'three-arms'."
        )
    world = problem.environment if environment is None else environment
    _check_arms(problem.structure, world)
    return problem.structure, world, tuple(problem.thetas), problem.horizon


def _check_arms(structure: Structure, environment: Environment) -> None:
    require_environment(environment)
    if tuple(environment.arms) != structure.arms:
        raise InvalidInput(
            f"the environment's arms {tuple(environment.arms)!r} are not the structure's "
            f"{structure.arms!r}; give both the same names in the same order."
        )


def _whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def read_count(name: str, value: int | None, least: int = 1) -> int:
    """A number of rounds, runs or checkpoints."""
    if value is None:
        raise InvalidInput(f"a structure alone has no {name}; give one, for example {name}=10_000.")
    if not _whole(value) or value < least:
        raise InvalidInput(f"{name} is {value!r}; give a whole number of at least {least}.")
    if value > _MOST:
        raise InvalidInput(f"{name} is {float(value):.3g}, which is too large; give at most 1e15.")
    return int(value)


def read_seed(seed: int) -> int:
    """The seed of a simulation."""
    if not _whole(seed) or seed < 0:
        raise InvalidInput(f"the seed is {seed!r}; give a whole number, 0 or more.")
    return int(seed)


def read_workers(n_jobs: int) -> int:
    """A number of workers, as joblib counts them."""
    if not _whole(n_jobs) or n_jobs == 0 or abs(n_jobs) > _MOST_WORKERS:
        raise InvalidInput(
            f"n_jobs is {n_jobs!r}; give a whole number from 1 to {_MOST_WORKERS:,}, or -1 for all "
            "cores."
        )
    return int(n_jobs)


def all_policies(
    structure: Structure, environment: Environment, thetas: Sequence[Any]
) -> tuple[list[str], dict[str, str]]:
    """The policies of "all", and why each of the others is left out.

    Examples
    --------
    >>> structure, world, thetas, _ = read_problem("setup", None)
    >>> names, left_out = all_policies(structure, world, thetas)
    >>> "ucb-c" in names, left_out["ts-beta"]
    (True, 'needs rewards between 0 and 1')
    """
    fitting, reasons = applicable(structure, policy_names())
    if not _has_unit_rewards(structure, environment, thetas):
        for name in [name for name in fitting if make_algorithm(name).needs_unit_rewards]:
            fitting.remove(name)
            reasons[name] = "needs rewards between 0 and 1"
    return fitting, reasons


def read_policies(
    policies: str | Algorithm | Sequence[str | Algorithm],
    structure: Structure,
    environment: Environment,
    thetas: Sequence[Any],
) -> list[Algorithm]:
    """Read the policies, and check that the structure suits them."""
    if isinstance(policies, str) and policies.strip().lower() == "all":
        policies, _ = all_policies(structure, environment, thetas)
    if isinstance(policies, (str, Algorithm)) or not isinstance(policies, Iterable):
        policies = [policies]
    algorithms = [make_algorithm(policy) for policy in policies]
    if not algorithms:
        raise InvalidPolicy("no policy was given; name at least one, for example 'ucb-c'.")
    labels = [algorithm.label for algorithm in algorithms]
    for label in labels:
        if labels.count(label) > 1:
            raise InvalidPolicy(f"policy {label!r} is given twice; give each policy once.")
    for algorithm in algorithms:
        algorithm.check(structure)
    check_unit_rewards(algorithms, structure, environment, thetas)
    return algorithms


def read_thetas(theta: Any, own: tuple[Any, ...], environment: Environment) -> list[Any]:
    """Read the θ to simulate, in their plain form."""
    if theta is None:
        if not own:
            raise InvalidInput(
                "a structure alone has no default θ; give theta, for example theta=0.5."
            )
        thetas = list(own)
    elif isinstance(theta, (list, np.ndarray)) and np.ndim(theta):
        thetas = [value.item() if isinstance(value, np.generic) else value for value in theta]
        thetas = [
            tuple(value) if isinstance(value, (list, np.ndarray)) else value for value in thetas
        ]
    else:
        thetas = [theta]
    if not thetas:
        raise InvalidInput("the list of θ is empty; give at least one.")
    found: list[Any] = []
    for value in thetas:
        plain = _resolve(value, environment)
        if plain in found:
            raise InvalidInput(f"θ = {show_theta(plain)} is given twice; give each θ once.")
        found.append(plain)
    return found


def _resolve(theta: Any, environment: Environment) -> Any:
    try:
        return environment.parameters.resolve(theta)
    except InvalidParameter as problem:
        if isinstance(theta, str) or not isinstance(theta, Iterable):
            raise
        raise InvalidParameter(
            f"{str(problem).removesuffix('.')}, or a list of θ to simulate each of them."
        ) from None


def read_checkpoints(checkpoints: int | str | Sequence[int], horizon: int) -> tuple[int, ...]:
    """The rounds at which regret is recorded, ascending; the last is the horizon."""
    if isinstance(checkpoints, str):
        if checkpoints != "log":
            raise InvalidInput(f"checkpoints is {checkpoints!r}; give a number, 'log' or rounds.")
        marks = np.geomspace(1, horizon, DEFAULT_CHECKPOINTS).round()
    elif isinstance(checkpoints, Iterable):
        marks = _read_rounds(list(checkpoints), horizon)
    else:
        number = min(read_count("checkpoints", checkpoints), horizon)
        if number > _MOST_CHECKPOINTS:
            raise InvalidInput(
                f"checkpoints is {number:,}; give at most {_MOST_CHECKPOINTS:,}, or 'log'."
            )
        marks = np.linspace(0, horizon, number + 1).round()
    rounds = {int(mark) for mark in marks} - {0} | {horizon}
    return tuple(sorted(rounds))


def _read_rounds(rounds: list[Any], horizon: int) -> np.ndarray:
    for value in rounds:
        if not _whole(value) or not 1 <= value <= horizon:
            raise InvalidInput(
                f"checkpoint {value!r} is not a round; give whole numbers from 1 to the horizon "
                f"{horizon}."
            )
    if not rounds:
        raise InvalidInput(
            "the list of checkpoints is empty; give at least one round, or a number of rounds."
        )
    return np.array(rounds)


def check_unit_rewards(
    algorithms: list[Algorithm],
    structure: Structure,
    environment: Environment,
    thetas: Sequence[Any],
) -> None:
    """Refuse algorithms that need rewards in [0, 1], or in known limits, if there are others."""
    needing = [algorithm.label for algorithm in algorithms if algorithm.needs_unit_rewards]
    if needing and not _has_unit_rewards(structure, environment, thetas):
        raise InvalidPolicy(
            f"{needing[0]} needs rewards between 0 and 1, which this environment does not "
            "guarantee; use a Bernoulli environment, or a policy such as ts or kl-ucb."
        )


def _has_unit_rewards(
    structure: Structure, environment: Environment, thetas: Sequence[Any]
) -> bool:
    """Whether rewards are between 0 and 1, or between the limits that the structure gives."""
    if not isinstance(environment, TableEnvironment):
        return False
    low = np.array(structure.rewards.low or (0.0,))[:, np.newaxis]
    high = np.array(structure.rewards.high or (1.0,))[:, np.newaxis]
    for theta in thetas:
        cumulative, values = environment.quantile_table(theta)
        occurs = np.diff(cumulative, prepend=0.0, axis=1) > 0.0
        if (occurs & ((values < low) | (values > high))).any():
            return False
    return True


def check_rewards(environment: Environment, thetas: Sequence[Any]) -> None:
    """Refuse rewards so large that their sums overflow."""
    for theta in thetas:
        if isinstance(environment, NormalEnvironment):
            sizes = np.abs(environment.location(theta)) + np.abs(environment.scale(theta))
        elif isinstance(environment, TableEnvironment):
            sizes = np.abs(environment.quantile_table(theta)[1])
        else:
            return
        if not sizes.max() <= LARGEST_REWARD:
            raise InvalidInput(
                f"rewards at θ = {show_theta(theta)} are as large as {sizes.max():g}, too large "
                "to add up; use another unit."
            )


def check_memory(configurations: int, runs: int, marks: int, horizon: int, arms: int) -> None:
    """Refuse results that do not fit into the memory of this machine.

    A configuration is one policy at one θ; every run records its numbers at the given marks.
    """
    needed = configurations * runs * (marks * _BYTES_PER_ROW + 8 * arms) + 16 * horizon
    if needed > _memory():
        raise InvalidInput(
            f"{runs:,} runs of {horizon:,} rounds for {configurations:,} policies and θ need about "
            f"{needed / 1e9:,.0f} GB of memory, more than this machine has; give fewer runs or a "
            "shorter horizon."
        )


def _memory() -> float:
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # a system that does not report it
        return float("inf")


def check_grid(
    structure: Structure, algorithms: list[Algorithm], thetas: list[Any], horizon: int
) -> None:
    """Warn if no grid point is near enough to an off-grid θ for the horizon's smallest radius."""
    if not (structure.parameters.continuous and structure.exact):
        return
    kept = [algorithm.confidence_parameters(structure) for algorithm in algorithms]
    alphas = [parameters.alpha for parameters in kept if parameters is not None]
    if not alphas:
        return
    rounds = np.full(structure.n_arms, horizon)
    for theta in thetas:
        truth = structure.means_at(theta)
        low, high = interval_ends(structure, min(alphas), horizon, rounds, truth)
        radius = np.where(structure.means < truth, truth - low, high - truth)
        with np.errstate(invalid="ignore"):  # 0/0 at a limit of the rewards
            distances = np.nan_to_num(np.abs(structure.means - truth) / radius)
        if distances.max(axis=1).min() > 0.5:
            warnings.warn(
                f"the grid over Θ is too coarse for {horizon} rounds at θ = {theta}: the nearest "
                "grid point differs by more than half the smallest radius, so θ may be ruled "
                "out; use more points, or sound cells (lipschitz= or sound=True).",
                StructureWarning,
                stacklevel=3,
            )
            return
