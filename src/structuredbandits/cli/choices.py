"""Reads the arguments for problem, policies and θ of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from structuredbandits.errors import InvalidInput, InvalidParameter, InvalidPolicy
from structuredbandits.policies.labels import split_labels

if TYPE_CHECKING:
    from structuredbandits.problems import Problem
    from structuredbandits.structure import Structure
    from structuredbandits.structure.parameters import Parameters

# Defaults for a structure from a file.
FILE_HORIZON = 10_000
_FILE_THETAS = 4


class SimulationTarget(NamedTuple):
    """What is simulated: a problem or a structure, with θ and horizon."""

    source: Problem | Structure
    structure: Structure
    name: str
    title: str
    thetas: tuple[Any, ...]
    horizon: int
    remark: str | None
    """A choice that was made for the user, to be shown."""


class Policies(NamedTuple):
    """The policies that are simulated."""

    names: list[str]
    left_out: dict[str, str]
    """Policies of `all` that do not apply, and why."""


def read_target(text: str, thetas: Sequence[str], horizon: int | None) -> SimulationTarget:
    """Find the embedded problem or the file, and the θ and horizon to simulate."""
    from structuredbandits.problems import load_problem, load_structure, problem_names

    if text.strip().lower() in problem_names():
        problem = load_problem(text)
        own = read_thetas(thetas, problem.environment.parameters) or tuple(problem.thetas)
        rounds = problem.horizon if horizon is None else horizon
        return SimulationTarget(
            problem, problem.structure, problem.name, problem.title, own, rounds, remark=None
        )
    if not text.strip():
        raise InvalidInput(
            f"PROBLEM is {text!r}; give an embedded name such as three-arms, or a .structure file."
        )
    structure = load_structure(text)
    name = structure.name or text
    chosen = read_thetas(thetas, structure.parameters)
    remark = None
    if not chosen:
        chosen, remark = _typical_thetas(structure)
    rounds = FILE_HORIZON if horizon is None else horizon
    return SimulationTarget(
        structure, structure, name, f"the structure in {text}", chosen, rounds, remark
    )


def _typical_thetas(structure: Structure) -> tuple[tuple[Any, ...], str]:
    """Default θ of a structure: the most likely ones, or some spread over Θ."""
    import numpy as np

    number = structure.n_parameters
    few = min(number, _FILE_THETAS)
    if number <= _FILE_THETAS:
        positions, which = np.arange(number), "all"
    elif structure.prior is not None:
        positions, which = np.argsort(-structure.prior, kind="stable")[:few], "the most likely"
    else:
        positions = ((np.arange(few) + 0.5) * number / few).astype(int)
        which = "spread over Θ"
    thetas = tuple(structure.parameters[int(position)] for position in positions)
    return thetas, f"{few} of {number:,} θ are simulated ({which}); choose others with --theta."


def read_thetas(texts: Sequence[str], parameters: Parameters) -> tuple[Any, ...]:
    """Read every `--theta`: one θ, or several separated by semicolons or (scalar θ) commas."""
    found: list[Any] = []
    for text in texts:
        for theta in _read_theta(text, parameters):
            if theta not in found:
                found.append(theta)
    return tuple(found)


def _read_theta(text: str, parameters: Parameters) -> list[Any]:
    if not text.strip(" ,;"):
        raise InvalidParameter(f"--theta {text!r} contains no θ; give one, or omit the option.")
    try:
        return [parameters.resolve(text)]
    except InvalidParameter:
        # Not a single θ; this is tried second, since a label may contain a comma.
        vector = parameters.dimension > 1 and parameters.points is not None
        parts = [part.strip() for part in text.split(";" if vector or ";" in text else ",")]
        if len(parts) == 1:
            raise
        return [parameters.resolve(part) for part in parts if part]


def read_policies(text: str, target: SimulationTarget) -> Policies:
    """Read `--policies`: names separated by commas, or `all`."""
    if text.strip().lower() == "all":
        return _all_policies(target)
    names = split_labels(text)
    if not names:
        raise InvalidPolicy(
            f"--policies {text!r} contains no policy; give some, for example ucb,ucb-c, or all."
        )
    return Policies(names, {})


def _all_policies(target: SimulationTarget) -> Policies:
    from structuredbandits.simulation.arguments import all_policies, read_problem

    structure, environment, *_ = read_problem(target.source, None)
    return Policies(*all_policies(structure, environment, target.thetas))
