"""What a worker does with a piece: simulate its runs and keep them in the piece's file.

A piece that fails says so and ends no other. This module must not know which engine calls it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from structuredbandits.simulation.files import parquet_bytes
from structuredbandits.simulation.sweeps.folder import FORMAT, VERSION, Folder
from structuredbandits.simulation.sweeps.plan import Piece
from structuredbandits.simulation.task import Outcome, Task

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Outline:
    """How a piece ended; ``error`` is "" if it is done."""

    name: str
    rounds: int
    error: str = ""


def do_piece(piece: Piece, folder: Path) -> Outline:
    """Simulate a piece and write its file, in whatever process this is."""
    cell = piece.cell
    try:
        world = cell.source.load()
        task = Task(
            cell.algorithm,
            world.structure,
            world.environment,
            cell.theta,
            cell.checkpoints,
            cell.seed,
            piece.first_run,
            piece.n_runs,
        )
        data = parquet_bytes(table_of(piece, task.run(), world.structure.arms))
        Folder(folder).write_piece(piece, data)
    # Whatever it is, a user's policy or a full disk: the piece is named and the rest goes on.
    except Exception as error:
        return Outline(piece.name, piece.rounds, f"{type(error).__name__}: {error}")
    return Outline(piece.name, piece.rounds)


def table_of(piece: Piece, outcome: Outcome, arms: tuple[str, ...]) -> pa.Table:
    """Flat rows, one a run and checkpoint; pulls and empty rounds stand at the horizon."""
    import pyarrow as pa

    cell = piece.cell
    n_runs, n_marks = outcome.regret.shape
    n_rows = n_runs * n_marks
    last = np.tile(np.arange(n_marks) == n_marks - 1, n_runs)
    pulls: list[list[int] | None] = [None] * n_rows
    empty: list[int | None] = [None] * n_rows
    for run, row in enumerate(np.flatnonzero(last)):
        pulls[row] = outcome.pulls[run].tolist()
        empty[row] = int(outcome.empty_rounds[run])
    runs = np.arange(piece.first_run, piece.first_run + n_runs)
    columns = {
        "cell": pa.repeat(pa.scalar(cell.number, pa.int32()), n_rows),
        **{key: pa.repeat(pa.scalar(value), n_rows) for key, value in cell.names.items()},
        "run": pa.array(np.repeat(runs, n_marks)),
        "round": pa.array(np.tile(np.array(cell.checkpoints, dtype=np.int64), n_runs)),
        "regret": pa.array(outcome.regret.ravel()),
        "reward": pa.array(outcome.reward.ravel()),
        "empty_rounds": pa.array(empty, pa.int64()),
        "pulls": pa.array(pulls, pa.list_(pa.int64())),
    }
    about = {"format": FORMAT, "version": VERSION, "arms": arms, "world": cell.world}
    return pa.table(columns).replace_schema_metadata({FORMAT: json.dumps(about)})
