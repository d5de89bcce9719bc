"""Converts requested structures to problems, and problems to the numbers of a drawing."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from structuredbandits.environments import default_environment
from structuredbandits.policies.registry import applicable, policy_names
from structuredbandits.problems import Problem, load_problem, problem_names
from structuredbandits.service.lab.appearance import arm_look, policy_look
from structuredbandits.service.lab.lab_models import (
    ArmRow,
    DrawnStructure,
    LabProblem,
    LabStructureAnswer,
    NamedStructure,
    OfferedPolicy,
)
from structuredbandits.structure import Finite, Interval, Structure

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The policies that a page offers with one click; any other can be typed.
OFFERED = (
    "ucb",
    "ucb-s",
    "ucb-c",
    "ucb-c-kl",
    "ts",
    "ts-c",
    "kl-ucb-c",
    "posterior",
    "ids",
    "hierarchical",
)


@lru_cache(maxsize=16)
def embedded(name: str) -> Problem:
    """Return an embedded problem, built once."""
    return load_problem(name)


def list_problems() -> list[LabProblem]:
    """Return the embedded problems.

    Examples
    --------
    >>> list_problems()[1].name
    'three-arms'
    """
    rows = []
    for name in problem_names():
        problem = embedded(name)
        rows.append(
            LabProblem(
                name=name,
                title=problem.title,
                description=problem.description,
                arms=problem.structure.n_arms,
                parameters=problem.structure.n_parameters,
            )
        )
    return rows


def problem_of(choice: NamedStructure | DrawnStructure) -> Problem:
    """Return the problem that a page chose or drew.

    Examples
    --------
    >>> drawn = DrawnStructure(breakpoints={"a": [(0, 1), (1, 2)], "b": [(0, 2), (1, 1)]})
    >>> problem_of(drawn).structure.optimal_arm(0.9)
    'a'
    """
    if isinstance(choice, NamedStructure):
        return embedded(choice.problem.strip().lower())
    structure = Structure.from_breakpoints(
        choice.breakpoints, sigma=choice.sigma, points=choice.points, name="drawn"
    )
    grid = structure.parameters.axes[0]
    middle = float(grid[0] + grid[-1]) / 2
    return Problem(
        name="drawn",
        structure=structure,
        environment=default_environment(structure),
        thetas=(middle,),
        horizon=1000,
        description=f"Rewards are Gaussian with standard deviation {choice.sigma:g}.",
        title="A structure drawn by hand",
    )


def show(problem: Problem) -> LabStructureAnswer:
    """Return everything that a page needs to draw a problem and to offer policies on it."""
    structure = problem.structure
    kind, axes, labels = _layout(structure)
    exact = structure.exact
    arms = [
        ArmRow(
            name=name,
            look=arm_look(k),
            sigma=float(structure.sigma[k]),
            means=_short(structure.means[:, k]),
            lower=None if exact else _short(structure.lower[:, k]),
            upper=None if exact else _short(structure.upper[:, k]),
        )
        for k, name in enumerate(structure.arms)
    ]
    names, reasons = applicable(structure, sorted({*policy_names(), *OFFERED}))
    offered = [
        OfferedPolicy(
            name=name, look=policy_look(name), applies=name in names, reason=reasons.get(name)
        )
        for name in OFFERED
    ]
    return LabStructureAnswer(
        name=structure.name,
        title=problem.title,
        description=problem.description,
        kind=kind,
        sides=list(structure.parameters.names),
        axes=axes,
        labels=labels,
        arms=arms,
        best=(structure.sign * structure.means).argmax(axis=1).tolist(),
        minimize=structure.minimize,
        thetas=[problem.resolve(theta) for theta in problem.thetas],
        policies=offered,
        names=names,
    )


_Layout = tuple[
    Literal["interval", "box", "labels"], list[list[float]] | None, list[list[str]] | None
]


def _layout(structure: Structure) -> _Layout:
    parameters = structure.parameters
    if isinstance(parameters, Interval):
        return "interval", [_short(parameters.axes[0])], None
    if not isinstance(parameters, Finite) and parameters.dimension == 2:
        return "box", [_short(side) for side in parameters.axes], None
    return "labels", None, [_parts(parameters[i]) for i in range(len(parameters))]


def _parts(theta: Any) -> list[str]:
    parts = theta if isinstance(theta, tuple) else (theta,)
    return [part if isinstance(part, str) else format(float(part), ".6g") for part in parts]


def _short(values: NDArray[np.float64]) -> list[float]:
    """Return numbers with as many digits as a screen can show."""
    return [float(format(value, ".7g")) for value in values.tolist()]
