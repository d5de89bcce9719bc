"""A grid, cut into cells (one policy at one θ of one problem) and pieces of some runs each.

Equal grids give equal plans, on every machine: names, order and pieces follow from the settings
alone. This module must not know files or who does the work.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.simulation.streams import theta_key
from structuredbandits.simulation.sweeps.sources import Source

#: Changes when equal settings would give other files.
VERSION = 1
#: Rounds in one piece: about a second of compiled work, so that neither starting a piece nor
#: losing one costs much.
PIECE_ROUNDS = 20_000_000


@dataclass(frozen=True)
class Cell:
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
    """Digest of what decides rewards and regret."""

    @property
    def horizon(self) -> int:
        """Rounds a run."""
        return self.checkpoints[-1]

    @property
    def names(self) -> dict[str, Any]:
        """The cell as results name it."""
        return {
            "problem": self.source.label,
            "policy": self.algorithm.label,
            "theta": theta_key(self.theta),
            "horizon": self.horizon,
            "seed": self.seed,
        }

    @property
    def title(self) -> str:
        """The cell in a sentence."""
        return (
            f"{self.algorithm.label} on {self.source.label} at θ = {theta_key(self.theta)}, "
            f"horizon {self.horizon}, seed {self.seed}"
        )

    @property
    def folder(self) -> str:
        """A folder name that says what is inside."""
        words = [self.source.label, self.algorithm.label, theta_key(self.theta)]
        slug = "_".join(re.sub(r"[^A-Za-z0-9.=-]+", "-", word).strip("-.")[:40] for word in words)
        return f"{self.number:05d}_{slug}"

    def pieces(self, first: int, last: int) -> list[Piece]:
        """The runs from ``first`` to before ``last``, in pieces."""
        step = self.runs_per_piece
        return [Piece(self, at, min(step, last - at)) for at in range(first, last, step)]


@dataclass(frozen=True)
class Piece:
    """Some runs of a cell: what one worker does at a time, and what one file holds."""

    cell: Cell
    first_run: int
    n_runs: int

    @property
    def name(self) -> str:
        """Where its results are, below the folder of results."""
        end = self.first_run + self.n_runs
        return f"{self.cell.folder}/{self.first_run:08d}-{end:08d}.parquet"

    @property
    def title(self) -> str:
        """The piece in a sentence."""
        return f"{self.cell.title}, runs {self.first_run} to {self.first_run + self.n_runs - 1}"

    @property
    def rounds(self) -> int:
        """How much work it is."""
        return self.n_runs * self.cell.horizon


@dataclass(frozen=True)
class Plan:
    """All cells, and how precise they have to be."""

    cells: tuple[Cell, ...]
    until: float | None = None
    max_runs: int | None = None

    def describe(self) -> dict[str, Any]:
        """Plain data that is equal exactly if the results are."""
        return {
            "version": VERSION,
            "until": self.until,
            "max_runs": self.max_runs,
            "cells": [
                {
                    **cell.names,
                    "world": cell.world,
                    "checkpoints": list(cell.checkpoints),
                    "runs": cell.runs,
                    "runs_per_task": cell.runs_per_piece,
                    "folder": cell.folder,
                }
                for cell in self.cells
            ],
        }

    @property
    def digest(self) -> str:
        """Hexadecimal digits that differ for plans with other results."""
        text = json.dumps(self.describe(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
