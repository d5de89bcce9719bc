"""What a user may write for a problem, its policies and its θ, turned into what the library takes.

This module knows the notation of the command line. It must not know how anything is shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from structuredbandits.errors import InvalidInput, InvalidParameter, InvalidPolicy

if TYPE_CHECKING:
    from structuredbandits.problems import Problem
    from structuredbandits.structure import Structure
    from structuredbandits.structure.theta import Parameters

# What a structure from a file is tried with if nothing else is asked for.
FILE_HORIZON = 10_000
_FILE_THETAS = 4
# A comma that is not inside parentheses.
_BETWEEN_POLICIES = re.compile(r",(?![^()]*\))")


class Target(NamedTuple):
    """What is simulated."""

    source: Problem | Structure
    structure: Structure
    name: str
    title: str
    thetas: tuple[Any, ...]
    horizon: int
    remark: str | None
    """Something that was chosen for the user, who should know it."""


class Policies(NamedTuple):
    """What it is simulated with."""

    names: list[str]
    left_out: dict[str, str]
    """Of `all`, those that do not apply, and why."""


def read_target(text: str, thetas: Sequence[str], horizon: int | None) -> Target:
    """Find the embedded problem or the file that is meant, and the θ and horizon to try."""
    from structuredbandits.problems import load_problem, load_structure, problem_names

    if text.strip().lower() in problem_names():
        problem = load_problem(text)
        own = read_thetas(thetas, problem.environment.parameters) or tuple(problem.thetas)
        rounds = problem.horizon if horizon is None else horizon
        return Target(
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
    return Target(structure, structure, name, f"the structure in {text}", chosen, rounds, remark)


def _typical_thetas(structure: Structure) -> tuple[tuple[Any, ...], str]:
    """Some θ to try when the user named none: the most likely ones, or some spread over Θ."""
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
    return thetas, f"{few} of {number:,} θ are tried ({which}); choose others with --theta."


def read_thetas(texts: Sequence[str], parameters: Parameters) -> tuple[Any, ...]:
    """Read every `--theta`: one θ, or several with semicolons or (if θ is no vector) commas."""
    found: list[Any] = []
    for text in texts:
        for theta in _read_theta(text, parameters):
            if theta not in found:
                found.append(theta)
    return tuple(found)


def _read_theta(text: str, parameters: Parameters) -> list[Any]:
    if not text.strip(" ,;"):
        raise InvalidParameter(f"--theta {text!r} holds no θ; give one, or leave the option out.")
    try:
        return [parameters.resolve(text)]
    except InvalidParameter:
        # Not one θ as it stands; a label may hold a comma, so this comes second.
        vector = parameters.dimension > 1 and parameters.points is not None
        parts = [part.strip() for part in text.split(";" if vector or ";" in text else ",")]
        if len(parts) == 1:
            raise
        return [parameters.resolve(part) for part in parts if part]


def read_policies(text: str, target: Target) -> Policies:
    """Read `--policies`: names with commas between, or `all`."""
    if text.strip().lower() == "all":
        return _all_policies(target)
    names = [name.strip() for name in _BETWEEN_POLICIES.split(text) if name.strip()]
    if not names:
        raise InvalidPolicy(
            f"--policies {text!r} names no policy; give some, for example ucb,ucb-c, or all."
        )
    return Policies(names, {})


def _all_policies(target: Target) -> Policies:
    from structuredbandits.simulation.arguments import all_policies, read_problem

    structure, environment, *_ = read_problem(target.source, None)
    return Policies(*all_policies(structure, environment, target.thetas))
