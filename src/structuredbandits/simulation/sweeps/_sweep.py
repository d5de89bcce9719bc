"""`sweep`: simulate a grid piece by piece with any engine, into a folder that can be resumed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from structuredbandits.progress import Mode, Reporter, announcing_compilation, reporting
from structuredbandits.simulation.sweeps._precision import next_total
from structuredbandits.simulation.sweeps._sweep_folder import Folder
from structuredbandits.simulation.sweeps._sweep_results import (
    SweepResults,
    final_regrets,
    load_sweep,
)
from structuredbandits.simulation.sweeps._worker import Outline, do_piece
from structuredbandits.simulation.sweeps.build_plan import make_plan
from structuredbandits.simulation.sweeps.engines import Engine, EngineName, WorkersLost
from structuredbandits.simulation.sweeps.plan import Piece, Plan
from structuredbandits.simulation.sweeps.sweep_settings import read_settings

# Number of attempts with new workers after workers ended abruptly and nothing was completed.
_ATTEMPTS = 3


def sweep(
    grid: Mapping[str, Any] | str | PathLike[str],
    out: str | PathLike[str],
    *,
    engine: EngineName = "local",
    address: str | None = None,
    n_jobs: int = -1,
    until: str | float | None = None,
    max_runs: int | None = None,
    progress: Mode = "auto",
) -> SweepResults:
    """Simulate every combination of a grid and store the results in a folder.

    Everything is checked before anything runs. An interrupted sweep continues where it stopped when
    it is called again, and produces the same files. A piece that fails is reported and the rest
    continues; the next call retries it.

    Parameters
    ----------
    grid
        The path of a TOML file, or a mapping with the same keys: `problem`, `policies`, `theta`,
        `horizon` and `seed` (each one value or a list), `runs`, `checkpoints`, `runs_per_task`,
        `until` and `max_runs`; `grid` is a list of tables, each with its own keys.
    out
        The folder of the results; all workers must be able to write to it.
    engine
        "local" for processes on this machine, "dask" or "ray" for a cluster.
    address
        Address of the cluster; without one, a small cluster is started on this machine.
    n_jobs
        Number of workers; -1 for all that are available, 1 for this process alone.
    until
        Add runs until the standard error of every mean regret is below this fraction of the mean,
        such as "2%"; `runs` is then the size of a batch.
    max_runs
        Maximum number of runs per configuration; 10,000 by default.
    progress
        As in `simulate`.

    Examples
    --------
    >>> import tempfile
    >>> grid = {"problem": "three-arms", "policies": ["ucb", "ucb-c"], "horizon": 200, "runs": 4}
    >>> results = sweep(grid, tempfile.mkdtemp(), n_jobs=1)
    >>> results
    <SweepResults: 6 configurations, 24 runs, complete>
    """
    plan = make_plan(read_settings(grid), until, max_runs)
    workers = Engine(engine, address, n_jobs)
    folder = Folder(Path(out))
    with folder.locked():
        manifest = folder.prepare(plan)
        manifest["engine"] = engine
        errors: dict[str, str] = {}
        state = "interrupted"
        try:
            with workers:
                errors = _run_pieces(plan, workers, folder, progress)
            state = "failed" if errors else "complete"
        finally:
            folder.close(manifest | {"failed": errors}, state)
    return load_sweep(folder.path)


def _run_pieces(plan: Plan, engine: Engine, folder: Folder, progress: Mode) -> dict[str, str]:
    """Run all pieces, batch after batch; return the errors of those that failed."""
    errors: dict[str, str] = {}
    totals = [0] * len(plan.configurations)
    wanted = [one.runs for one in plan.configurations]
    batch = 1
    while wanted != totals:
        pieces = [
            piece
            for one, first, last in zip(plan.configurations, totals, wanted, strict=True)
            for piece in one.pieces(first, last)
        ]
        title = "sweep" if plan.until is None else f"sweep, batch {batch}"
        errors |= _run_batch(
            [p for p in pieces if not folder.has(p)], engine, folder, progress, title
        )
        totals = wanted
        failed = {name.split("/")[0] for name in errors}
        wanted = [
            total if one.folder in failed else _next(plan, folder, one.number, total)
            for one, total in zip(plan.configurations, totals, strict=True)
        ]
        batch += 1
    return errors


def _next(plan: Plan, folder: Folder, number: int, total: int) -> int:
    if plan.until is None or plan.max_runs is None or total >= plan.max_runs:
        return total
    configuration = plan.configurations[number]
    regrets = final_regrets(folder.results / configuration.folder, total)
    return next_total(regrets, plan.until, configuration.runs, plan.max_runs)


def _run_batch(
    pieces: list[Piece], engine: Engine, folder: Folder, progress: Mode, title: str
) -> dict[str, str]:
    """Run some pieces; pieces of workers that ended abruptly are given to new workers."""
    errors: dict[str, str] = {}
    lost = 0
    total = sum(piece.rounds for piece in pieces)
    with reporting(progress, title, total) as reporter, announcing_compilation(reporter):
        left = pieces
        while left and lost < _ATTEMPTS:
            try:
                errors |= _attempt(left, engine, folder, reporter)
                left = []
            except WorkersLost as loss:
                remaining = [p for p in left if not folder.has(p) and p.name not in errors]
                lost = lost + 1 if len(remaining) == len(left) else 1
                left = remaining
                reporter.note(f"workers ended abruptly, {len(left)} pieces are left ({loss})")
    errors |= {p.name: f"{p.title}: its workers ended abruptly; check their memory" for p in left}
    return errors


def _attempt(
    pieces: list[Piece], engine: Engine, folder: Folder, reporter: Reporter
) -> dict[str, str]:
    errors: dict[str, str] = {}
    by_name = {piece.name: piece for piece in pieces}
    outlines = engine.run(
        partial(do_piece, folder=folder.path),
        pieces,
        is_done=folder.has,
        tick=lambda piece: reporter.advance(piece.rounds),
    )
    for outline in outlines:
        error = _error_of(outline, by_name[outline.name], folder)
        if error:
            errors[outline.name] = error
            reporter.note(f"failed: {error}")
    return errors


def _error_of(outline: Outline, piece: Piece, folder: Folder) -> str:
    if outline.error:
        return f"{piece.title}: {outline.error}"
    if not folder.has(piece):
        return f"{piece.title}: its file is not in {str(folder.path)!r} here; share the folder."
    return ""
