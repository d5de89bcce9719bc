"""From settings to a plan: loads every problem, creates every policy and finds every θ."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structuredbandits.errors import InvalidInput
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.policies.registry import make_algorithm
from structuredbandits.problems import Problem, problem_names
from structuredbandits.simulation import arguments
from structuredbandits.simulation.sweeps import _toml_lines as lines
from structuredbandits.simulation.sweeps._sources import (
    Embedded,
    FileSource,
    InMemory,
    Source,
    World,
    digest_of_world,
)
from structuredbandits.simulation.sweeps.plan import PIECE_ROUNDS, Configuration, Plan
from structuredbandits.simulation.sweeps.sweep_settings import SweepSettings, read_share
from structuredbandits.structure import Structure, read_structure

_CHECKPOINTS = 50
_RUNS = 100
#: Maximum number of runs per configuration with `until`, if the settings give no other.
MAX_RUNS = 10_000
#: Maximum number of files per configuration: more are a mistake, and would take hours to list.
MOST_PIECES = 100_000


def make_plan(settings: SweepSettings, until: object = None, max_runs: int | None = None) -> Plan:
    """The plan of a grid; `until` and `max_runs` override the settings."""
    configurations: list[Configuration] = []
    for block in settings.blocks():
        for key in ("problem", "policies"):
            if key not in block:
                raise InvalidInput(
                    f"{settings.place(_around(block))}a grid has no {key}; add for example "
                    + ('problem = "three-arms".' if key == "problem" else 'policies = ["ucb-c"].')
                )
        configurations += _SweepGrid(settings, block).configurations(len(configurations))
    _refuse_doubles(settings, configurations)
    with settings.at(("until",)):
        share = read_share(settings.values.get("until") if until is None else until)
    cap = settings.values.get("max_runs") if max_runs is None else max_runs
    if cap is not None:
        cap = settings.whole(("max_runs",), cap)
        if share is None:
            settings.refuse(("max_runs",), f"max_runs is {cap} without until; add until = '2%'.")
    if share is None:
        return Plan(tuple(configurations))
    _check_runs(settings, configurations, cap)
    return Plan(tuple(configurations), share, MAX_RUNS if cap is None else cap)


def _around(block: Mapping[str, lines.Path]) -> lines.Path:
    """A path whose line identifies the grid."""
    inside = [path for path in block.values() if len(path) > 1]
    return inside[0][:2] if inside else ()


def _check_runs(
    settings: SweepSettings, configurations: list[Configuration], cap: int | None
) -> None:
    for configuration in configurations:
        if configuration.runs < 2:
            settings.refuse(("runs",), "runs is 1 and a standard error needs 2; give more runs.")
        if configuration.runs > (MAX_RUNS if cap is None else cap):
            settings.refuse(
                ("max_runs",),
                f"runs is {configuration.runs}, more than max_runs = {cap or MAX_RUNS}; raise "
                "max_runs.",
            )


def _refuse_doubles(settings: SweepSettings, configurations: list[Configuration]) -> None:
    seen: set[tuple[Any, ...]] = set()
    for configuration in configurations:
        key = tuple(configuration.names.values())
        if key in seen:
            settings.refuse(("grid",), f"{configuration.title} is given twice; remove one.")
        seen.add(key)


class _SweepGrid:
    """One grid of the settings."""

    def __init__(self, settings: SweepSettings, paths: Mapping[str, lines.Path]) -> None:
        self._settings, self._paths = settings, paths

    def configurations(self, start: int) -> list[Configuration]:
        """All combinations, in the order problem, horizon, seed, policy, θ."""
        policies, seeds = self._policies(), self._seeds()
        runs = self._whole("runs", _RUNS)
        found: list[Configuration] = []
        for path, source in self._problems():
            with self._settings.at(path):
                world = source.load()
            self._check_policies(policies, world)
            thetas = self._thetas(world)
            digests = [digest_of_world(world, theta) for theta in thetas]
            for horizon in self._horizons(world):
                marks = self._checkpoints(horizon)
                step = self._whole("runs_per_task", max(1, PIECE_ROUNDS // horizon))
                self._check_size(world, runs, step, marks)
                for seed, (_, algorithm), (theta, digest) in itertools.product(
                    seeds, policies, zip(thetas, digests, strict=True)
                ):
                    number = start + len(found)
                    found.append(
                        Configuration(
                            number, source, algorithm, theta, marks, seed, runs, step, digest
                        )
                    )
                self._warn_of_coarse_grids(world, policies, thetas, horizon)
        return found

    def _check_size(self, world: World, runs: int, step: int, marks: tuple[int, ...]) -> None:
        with self._settings.at(self._path("runs")):
            if runs > MOST_PIECES * step:
                raise InvalidInput(
                    f"{runs:,} runs, {step:,} per file, are more than {MOST_PIECES:,} files; give "
                    "fewer runs, or more runs_per_task."
                )
            arguments.check_memory(1, step, len(marks), marks[-1], world.structure.n_arms)

    def _path(self, key: str) -> lines.Path:
        return self._paths.get(key, (key,))

    def _whole(self, key: str, default: int) -> int:
        if key not in self._paths:
            return default
        path = self._paths[key]
        return self._settings.whole(path, self._settings.value(path))

    def _problems(self) -> list[tuple[lines.Path, Source]]:
        found: list[tuple[lines.Path, Source]] = []
        for path, value in self._settings.items(self._paths["problem"]):
            if isinstance(value, Mapping):
                found += [(path, source) for source in self._with_options(path, value)]
            else:
                with self._settings.at(path):
                    found.append((path, self._source(path, value)))
        return found

    def _source(self, path: lines.Path, value: Any) -> Source:
        if isinstance(value, Problem):
            return InMemory(value.name, value)
        if isinstance(value, Structure):
            return InMemory(value.name or f"structure-{value.digest[:8]}", value)
        if not isinstance(value, (str, Path)):
            self._settings.refuse(path, f"{value!r} is not a problem; give a name or a file.")
        name = str(value).strip().lower()
        if name in problem_names():
            return Embedded(name)
        file = self._settings.folder / value
        if not file.exists() and file.suffix != ".structure":
            return Embedded(name)  # loading it raises an error that lists the names
        return FileSource(str(value), file.resolve(), read_structure(file).digest)

    def _with_options(self, path: lines.Path, value: Mapping[str, Any]) -> list[Source]:
        """An embedded problem with options, each one value or a list of them."""
        if not isinstance(value.get("name"), str):
            self._settings.refuse(path, f"{dict(value)!r} has no name; add for example name = "
                                  '"three-arms".')  # fmt: skip
        return [
            Embedded(value["name"].strip().lower(), tuple(options.items()))
            for options in _combinations({k: v for k, v in value.items() if k != "name"})
        ]

    def _policies(self) -> list[tuple[lines.Path, Algorithm]]:
        found: list[tuple[lines.Path, Algorithm]] = []
        for path, value in self._settings.items(self._paths["policies"]):
            with self._settings.at(path):
                if isinstance(value, Mapping):
                    found += [(path, make_algorithm(name)) for name in self._named(path, value)]
                elif isinstance(value, (str, Algorithm)):
                    found.append((path, make_algorithm(value)))
                else:
                    raise InvalidInput(f"{value!r} is not a policy; give a name such as 'ucb-c'.")
        labels = [algorithm.label for _, algorithm in found]
        for (path, _), label in zip(found, labels, strict=True):
            if labels.count(label) > 1:
                self._settings.refuse(path, f"policy {label!r} is given twice; remove one.")
        return found

    def _named(self, path: lines.Path, value: Mapping[str, Any]) -> list[str]:
        """Names with parameters, from a table in which each parameter is one value or a list."""
        if not isinstance(value.get("name"), str):
            self._settings.refuse(path, f"{dict(value)!r} has no name; add for example name = "
                                  '"ucb-c".')  # fmt: skip
        names = []
        for chosen in _combinations({k: v for k, v in value.items() if k != "name"}):
            inside = ",".join(f"{key}={setting!r}" for key, setting in chosen.items())
            names.append(f"{value['name']}({inside})" if inside else value["name"])
        return names

    def _check_policies(self, policies: list[tuple[lines.Path, Algorithm]], world: World) -> None:
        for path, algorithm in policies:
            with self._settings.at(path):
                algorithm.check(world.structure)

    def _thetas(self, world: World) -> list[Any]:
        path = self._path("theta")
        given = self._settings.value(path) if "theta" in self._paths else None
        if isinstance(given, list):
            found = []
            for place, value in self._settings.items(path):
                with self._settings.at(place):
                    found += arguments.read_thetas([value], (), world.environment)
        else:
            with self._settings.at(path if given is not None else self._path("problem")):
                found = arguments.read_thetas(given, world.thetas, world.environment)
        with self._settings.at(self._path("problem")):
            arguments.check_rewards(world.environment, found)
        for _, algorithm in self._policies():
            with self._settings.at(self._path("policies")):
                arguments.check_unit_rewards([algorithm], world.structure, world.environment, found)
        return found

    def _horizons(self, world: World) -> list[int]:
        if "horizon" not in self._paths:
            with self._settings.at(self._path("problem")):
                return [arguments.read_count("horizon", world.horizon)]
        items = self._settings.items(self._paths["horizon"])
        return [self._settings.whole(path, value) for path, value in items]

    def _seeds(self) -> list[int]:
        if "seed" not in self._paths:
            return [0]
        items = self._settings.items(self._paths["seed"])
        return [self._settings.whole(path, value, least=0) for path, value in items]

    def _checkpoints(self, horizon: int) -> tuple[int, ...]:
        path = self._path("checkpoints")
        given = self._settings.value(path) if "checkpoints" in self._paths else _CHECKPOINTS
        if isinstance(given, list):
            given = [self._settings.whole(at, value) for at, value in self._settings.items(path)]
        elif not isinstance(given, str):
            given = self._settings.whole(path, given)
        with self._settings.at(path):
            return arguments.read_checkpoints(given, horizon)

    def _warn_of_coarse_grids(
        self,
        world: World,
        policies: list[tuple[lines.Path, Algorithm]],
        thetas: list[Any],
        horizon: int,
    ) -> None:
        algorithms = [algorithm for _, algorithm in policies]
        arguments.check_grid(world.structure, algorithms, thetas, horizon)


def _combinations(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every choice of one value for each key.

    Examples
    --------
    >>> _combinations({"alpha": [1, 2], "gamma": 30})
    [{'alpha': 1, 'gamma': 30}, {'alpha': 2, 'gamma': 30}]
    """
    lists = [value if isinstance(value, list) else [value] for value in options.values()]
    return [dict(zip(options, chosen, strict=True)) for chosen in itertools.product(*lists)]
