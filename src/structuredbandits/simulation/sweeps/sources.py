"""Where the problem of a piece of work comes from, in a form that travels light to other machines.

An embedded problem travels as its name and a structure file as its path; each process builds it
once. This module must not know what is done with a problem.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from structuredbandits.environments import Environment, Gaussian
from structuredbandits.errors import FileError
from structuredbandits.problems import Problem, load_problem
from structuredbandits.structure import Structure, read_structure

# Of the problems that a process keeps: neighbours in a grid share one.
_KEPT = 8


@dataclass(frozen=True)
class World:
    """What policies know and where rewards come from."""

    structure: Structure
    environment: Environment
    thetas: tuple[Any, ...] = ()
    horizon: int | None = None


class Source(Protocol):
    """Where a world comes from."""

    @property
    def label(self) -> str:
        """As results name it."""

    def load(self) -> World:
        """The world, in the process that asks."""


@dataclass(frozen=True)
class Embedded:
    """An embedded problem by its name and options."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def label(self) -> str:
        """The name, with the options in parentheses."""
        inside = ",".join(f"{key}={value}" for key, value in self.options)
        return f"{self.name}({inside})" if inside else self.name

    def load(self) -> World:
        """Build it, once a process."""
        return _build(self)


@dataclass(frozen=True)
class StructureFile:
    """A structure in a file that all machines can read."""

    label: str
    path: Path
    digest: str

    def load(self) -> World:
        """Read it, once a process."""
        return _read(self)


@dataclass(frozen=True, eq=False)
class InMemory:
    """A problem or structure made by a program; it travels whole."""

    label: str
    problem: Problem | Structure

    def load(self) -> World:
        """What was given."""
        return world_of(self.problem)


def world_of(problem: Problem | Structure) -> World:
    """A problem's parts; a bare structure has Gaussian rewards of its own means."""
    if isinstance(problem, Structure):
        return World(problem, Gaussian(problem))
    return World(problem.structure, problem.environment, tuple(problem.thetas), problem.horizon)


@lru_cache(maxsize=_KEPT)
def _build(source: Embedded) -> World:
    return world_of(load_problem(source.name, **dict(source.options)))


@lru_cache(maxsize=_KEPT)
def _read(source: StructureFile) -> World:
    structure = read_structure(source.path)
    if structure.digest != source.digest:
        raise FileError(
            f"{source.path} has changed since the sweep began; put the old file back, or start "
            "anew in another folder."
        )
    return World(structure, Gaussian(structure))


def digest_of_world(world: World, theta: object) -> str:
    """Hexadecimal digits of all that decides rewards and regret at one θ."""
    environment: Any = world.environment
    parts = [np.asarray(environment.means_at(theta))]
    if hasattr(environment, "location"):
        parts += [environment.location(theta), environment.scale(theta)]
    elif hasattr(environment, "quantile_table"):
        parts += list(environment.quantile_table(theta))
    total = hashlib.sha256(world.structure.digest.encode())
    for part in parts:
        total.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
    return total.hexdigest()[:16]
