"""The work on one piece: simulate its runs and write its file.

A piece that fails returns its error and does not stop the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from structuredbandits.simulation._result_files import parquet_bytes
from structuredbandits.simulation.sweeps._parquet_schema import piece_table
from structuredbandits.simulation.sweeps._sweep_folder import Folder
from structuredbandits.simulation.sweeps.plan import Piece
from structuredbandits.simulation.task import Task


@dataclass(frozen=True)
class Outline:
    """The result of a piece; ``error`` is "" if it is complete."""

    name: str
    rounds: int
    error: str = ""


def do_piece(piece: Piece, folder: Path) -> Outline:
    """Simulate a piece and write its file, in any process."""
    configuration = piece.configuration
    try:
        world = configuration.source.load()
        task = Task(
            configuration.algorithm,
            world.structure,
            world.environment,
            configuration.theta,
            configuration.checkpoints,
            configuration.seed,
            piece.first_run,
            piece.n_runs,
        )
        data = parquet_bytes(piece_table(piece, task.run(), world.structure.arms))
        Folder(folder).write_piece(piece, data)
    # Any error, of a user's policy or a full disk: it is reported and the other pieces continue.
    except Exception as error:
        return Outline(piece.name, piece.rounds, f"{type(error).__name__}: {error}")
    return Outline(piece.name, piece.rounds)
