"""Descriptions of problems that are cheap to send to other machines.

An embedded problem is sent as its name and a structure file as its path; each process loads it
once.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from structuredbandits.environments import Environment, default_environment
from structuredbandits.errors import FileError
from structuredbandits.problems import Problem, load_problem
from structuredbandits.structure import Structure, read_structure

# Number of problems that a process keeps in memory: neighbours in a grid share one.
_KEPT = 8


@dataclass(frozen=True)
class World:
    """A structure, which the policies know, and an environment, which draws the rewards."""

    structure: Structure
    environment: Environment
    thetas: tuple[Any, ...] = ()
    horizon: int | None = None


class Source(Protocol):
    """A description from which a world can be loaded."""

    @property
    def label(self) -> str:
        """The name in the results."""

    def load(self) -> World:
        """Load the world in this process."""


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
        """Build it, once per process."""
        return _build(self)


@dataclass(frozen=True)
class FileSource:
    """A structure file that all machines can read."""

    label: str
    path: Path
    digest: str

    def load(self) -> World:
        """Read it, once per process."""
        return _read(self)


@dataclass(frozen=True, eq=False)
class InMemory:
    """A problem or structure created by a program; it is sent as a whole."""

    label: str
    problem: Problem | Structure

    def load(self) -> World:
        """The world of the given problem."""
        return world_of(self.problem)


def world_of(problem: Problem | Structure) -> World:
    """The world of a problem; a structure alone gets rewards of its own family."""
    if isinstance(problem, Structure):
        return World(problem, default_environment(problem))
    return World(problem.structure, problem.environment, tuple(problem.thetas), problem.horizon)


@lru_cache(maxsize=_KEPT)
def _build(source: Embedded) -> World:
    return world_of(load_problem(source.name, **dict(source.options)))


@lru_cache(maxsize=_KEPT)
def _read(source: FileSource) -> World:
    structure = read_structure(source.path)
    if structure.digest != source.digest:
        raise FileError(
            f"{source.path} has changed since the sweep began; restore the old file, or start "
            "the sweep in a new folder."
        )
    return World(structure, default_environment(structure))


def digest_of_world(world: World, theta: object) -> str:
    """Digest, as hexadecimal digits, of everything that decides rewards and regret at one θ."""
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
