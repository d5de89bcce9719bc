"""`sweep`: a grid of simulations, done piece by piece by any engine, into a folder that resumes.

This module knows the order of the work. It must not know files, engines or simulations in detail.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from structuredbandits.simulation.progress import Mode, Reporter, announcing_compilation, reporting
from structuredbandits.simulation.sweeps.engines import Engine, EngineName, WorkersLost
from structuredbandits.simulation.sweeps.folder import Folder
from structuredbandits.simulation.sweeps.grid import make_plan
from structuredbandits.simulation.sweeps.plan import Piece, Plan
from structuredbandits.simulation.sweeps.precision import next_total
from structuredbandits.simulation.sweeps.results import SweepResults, final_regrets, load_sweep
from structuredbandits.simulation.sweeps.settings import read_settings
from structuredbandits.simulation.sweeps.work import Outline, do_piece

# How often work is given to new workers when old ones ended abruptly and nothing was done since.
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
    """Simulate every combination of a grid and keep the results in a folder.

    Everything is checked before anything runs. A sweep that was ended, by whatever, continues
    where it stopped when it is called again, and ends with the same files. A piece of work that
    fails is named, and the rest goes on; the next call tries it again.

    Parameters
    ----------
    grid
        The path of a TOML file, or a mapping with the same keys: `problem`, `policies`, `theta`,
        `horizon` and `seed` (each one value or a list), `runs`, `checkpoints`, `runs_per_task`,
        `until` and `max_runs`; `grid` is a list of tables that each have their own.
    out
        The folder; all workers must be able to write to it.
    engine
        "local" for processes on this machine, "dask" or "ray" for a cluster.
    address
        The cluster's address; without one, a small cluster is started on this machine.
    n_jobs
        Workers; -1 for all that there are, 1 for this process alone.
    until
        Add runs until the standard error of every mean regret is below this share of it, such as
        "2%"; `runs` is then the size of a batch.
    max_runs
        The cap on the runs of a policy at a θ; 10,000 by default.
    progress
        As in `simulate`.

    Examples
    --------
    >>> import tempfile
    >>> grid = {"problem": "three-arms", "policies": ["ucb", "ucb-c"], "horizon": 200, "runs": 4}
    >>> results = sweep(grid, tempfile.mkdtemp(), n_jobs=1)
    >>> results
    <SweepResults: 6 cells, 24 runs, complete>
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
                errors = _work_off(plan, workers, folder, progress)
            state = "failed" if errors else "complete"
        finally:
            folder.close(manifest | {"failed": errors}, state)
    return load_sweep(folder.path)


def _work_off(plan: Plan, engine: Engine, folder: Folder, progress: Mode) -> dict[str, str]:
    """Do all pieces, batch after batch; return the errors of those that failed."""
    errors: dict[str, str] = {}
    totals = [0] * len(plan.cells)
    wanted = [cell.runs for cell in plan.cells]
    batch = 1
    while wanted != totals:
        pieces = [
            piece
            for cell, first, last in zip(plan.cells, totals, wanted, strict=True)
            for piece in cell.pieces(first, last)
        ]
        title = "sweep" if plan.until is None else f"sweep, batch {batch}"
        errors |= _do_all([p for p in pieces if not folder.has(p)], engine, folder, progress, title)
        totals = wanted
        failed = {name.split("/")[0] for name in errors}
        wanted = [
            total if cell.folder in failed else _next(plan, folder, cell.number, total)
            for cell, total in zip(plan.cells, totals, strict=True)
        ]
        batch += 1
    return errors


def _next(plan: Plan, folder: Folder, number: int, total: int) -> int:
    if plan.until is None or plan.max_runs is None or total >= plan.max_runs:
        return total
    cell = plan.cells[number]
    regrets = final_regrets(folder.results / cell.folder, total)
    return next_total(regrets, plan.until, cell.runs, plan.max_runs)


def _do_all(
    pieces: list[Piece], engine: Engine, folder: Folder, progress: Mode, title: str
) -> dict[str, str]:
    """Do some pieces; those of workers that ended abruptly are given to new ones."""
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
    errors |= {p.name: f"{p.title}: its workers ended abruptly, out of memory?" for p in left}
    return errors


def _attempt(
    pieces: list[Piece], engine: Engine, folder: Folder, reporter: Reporter
) -> dict[str, str]:
    errors: dict[str, str] = {}
    by_name = {piece.name: piece for piece in pieces}
    outlines = engine.answers(
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
