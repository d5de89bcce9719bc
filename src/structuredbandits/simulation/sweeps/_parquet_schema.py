"""The Parquet schema of a sweep: the columns of the file of a piece."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from structuredbandits.simulation.sweeps._sweep_folder import FORMAT, VERSION
from structuredbandits.simulation.sweeps.plan import Piece
from structuredbandits.simulation.task import TaskResult

if TYPE_CHECKING:
    import pyarrow as pa

#: The columns that identify a configuration; `cell` is its number.
KEYS = ["cell", "problem", "policy", "theta", "horizon", "seed"]


def piece_table(piece: Piece, outcome: TaskResult, arms: tuple[str, ...]) -> pa.Table:
    """One row per run and checkpoint; pulls and empty rounds are in the row of the horizon."""
    import pyarrow as pa

    configuration = piece.configuration
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
        "cell": pa.repeat(pa.scalar(configuration.number, pa.int32()), n_rows),
        **{key: pa.repeat(pa.scalar(value), n_rows) for key, value in configuration.names.items()},
        "run": pa.array(np.repeat(runs, n_marks)),
        "round": pa.array(np.tile(np.array(configuration.checkpoints, dtype=np.int64), n_runs)),
        "regret": pa.array(outcome.regret.ravel()),
        "reward": pa.array(outcome.reward.ravel()),
        "empty_rounds": pa.array(empty, pa.int64()),
        "pulls": pa.array(pulls, pa.list_(pa.int64())),
    }
    about = {"format": FORMAT, "version": VERSION, "arms": arms, "world": configuration.world}
    return pa.table(columns).replace_schema_metadata({FORMAT: json.dumps(about)})
