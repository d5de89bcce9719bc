"""The plan of a sweep: configurations (one policy at one θ of one problem) and their pieces.

Equal grids give equal plans on every machine: names, order and pieces follow from the settings
alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.simulation.seeds import theta_key
from structuredbandits.simulation.sweeps._sources import Source

#: Increased when equal settings give different files.
VERSION = 1
#: Rounds per piece: about a second of compiled work, so that neither starting a piece nor losing
#: one costs much.
PIECE_ROUNDS = 20_000_000


@dataclass(frozen=True)
class Configuration:
    """One policy at one θ of one problem, with one horizon and one seed."""

    number: int
    source: Source
    algorithm: Algorithm
    theta: Any
    checkpoints: tuple[int, ...]
    seed: int
    runs: int
    runs_per_piece: int
    world: str
    """Digest of everything that decides rewards and regret."""

    @property
    def horizon(self) -> int:
        """Rounds per run."""
        return self.checkpoints[-1]

    @property
    def names(self) -> dict[str, Any]:
        """The columns that identify the configuration in the results."""
        return {
            "problem": self.source.label,
            "policy": self.algorithm.label,
            "theta": theta_key(self.theta),
            "horizon": self.horizon,
            "seed": self.seed,
        }

    @property
    def title(self) -> str:
        """A description for messages."""
        return (
            f"{self.algorithm.label} on {self.source.label} at θ = {theta_key(self.theta)}, "
            f"horizon {self.horizon}, seed {self.seed}"
        )

    @property
    def folder(self) -> str:
        """A folder name that describes the configuration."""
        words = [self.source.label, self.algorithm.label, theta_key(self.theta)]
        slug = "_".join(re.sub(r"[^A-Za-z0-9.=-]+", "-", word).strip("-.")[:40] for word in words)
        return f"{self.number:05d}_{slug}"

    def pieces(self, first: int, last: int) -> list[Piece]:
        """The runs from ``first`` to before ``last``, in pieces."""
        step = self.runs_per_piece
        return [Piece(self, at, min(step, last - at)) for at in range(first, last, step)]


@dataclass(frozen=True)
class Piece:
    """Some runs of a configuration: the work of one task, and the content of one file."""

    configuration: Configuration
    first_run: int
    n_runs: int

    @property
    def name(self) -> str:
        """The path of its file, relative to the folder of results."""
        end = self.first_run + self.n_runs
        return f"{self.configuration.folder}/{self.first_run:08d}-{end:08d}.parquet"

    @property
    def title(self) -> str:
        """A description for messages."""
        last = self.first_run + self.n_runs - 1
        return f"{self.configuration.title}, runs {self.first_run} to {last}"

    @property
    def rounds(self) -> int:
        """The amount of work, in rounds."""
        return self.n_runs * self.configuration.horizon


@dataclass(frozen=True)
class Plan:
    """All configurations, and the required precision."""

    configurations: tuple[Configuration, ...]
    until: float | None = None
    max_runs: int | None = None

    def describe(self) -> dict[str, Any]:
        """Plain data that is equal if and only if the results are."""
        return {
            "version": VERSION,
            "until": self.until,
            "max_runs": self.max_runs,
            "cells": [
                {
                    **configuration.names,
                    "world": configuration.world,
                    "checkpoints": list(configuration.checkpoints),
                    "runs": configuration.runs,
                    "runs_per_task": configuration.runs_per_piece,
                    "folder": configuration.folder,
                }
                for configuration in self.configurations
            ],
        }

    @property
    def digest(self) -> str:
        """Hexadecimal digits that differ between plans with different results."""
        text = json.dumps(self.describe(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
