"""The same sweep on local processes, a real Dask cluster and a real Ray gives the same bytes."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import distributed
import pytest

import structuredbandits as sb
from structuredbandits.simulation.sweeps._worker import Outline, do_piece
from structuredbandits.simulation.sweeps.plan import Piece

SETTINGS = """
problem = "three-arms"
theta = [0.5, 2.6]
policies = ["ucb", "ts-c"]
horizon = [2_000, 20_000]
runs = 40
runs_per_task = 10
checkpoints = 10
until = "5%"
max_runs = 80
"""
COMMAND = "from structuredbandits.cli import main; main()"
LONGER = """
problem = "three-arms"
theta = 2.6
policies = ["ucb", "ucb-c"]
horizon = 50_000
runs = 800
runs_per_task = 40
checkpoints = 5
"""


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted((folder / "results").rglob("*"))
        if path.is_file()
    }


def written(folder: Path, text: str) -> Path:
    path = folder / "sweep.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("expected")
    assert sb.sweep(written(folder, SETTINGS), folder / "out", n_jobs=1).complete
    return contents(folder / "out")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two Dask workers, each a process of its own."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    ) as running:
        yield running


def test_local_processes(expected: dict[str, bytes], tmp_path: Path) -> None:
    assert sb.sweep(written(tmp_path, SETTINGS), tmp_path / "out", n_jobs=2).complete
    assert contents(tmp_path / "out") == expected


def test_dask(expected: dict[str, bytes], cluster: Any, tmp_path: Path) -> None:
    results = sb.sweep(
        written(tmp_path, SETTINGS),
        tmp_path / "out",
        engine="dask",
        address=cluster.scheduler_address,
    )
    assert results.complete
    assert results.manifest["engine"] == "dask"
    assert contents(tmp_path / "out") == expected


def test_dask_without_an_address_starts_a_cluster_here(
    expected: dict[str, bytes], tmp_path: Path
) -> None:
    results = sb.sweep(written(tmp_path, SETTINGS), tmp_path / "out", engine="dask", n_jobs=2)
    assert results.complete
    assert contents(tmp_path / "out") == expected


def test_dask_uses_the_client_that_is_open(
    expected: dict[str, bytes], cluster: Any, tmp_path: Path
) -> None:
    with distributed.Client(cluster):
        results = sb.sweep(written(tmp_path, SETTINGS), tmp_path / "out", engine="dask")
    assert results.complete
    assert contents(tmp_path / "out") == expected


def deadly(piece: Piece, folder: Path, mark: Path) -> Outline:
    """Do a piece, but let the first worker that finds five done be killed instead."""
    if sum(1 for _ in folder.glob("results/*/*.parquet")) >= 5:
        try:
            mark.touch(exist_ok=False)
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return do_piece(piece, folder)


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A worker of the next sweep is killed in the middle, and leaves this file."""
    # By its full name: the package offers the function `sweep` under the name of this module.
    home = importlib.import_module("structuredbandits.simulation.sweeps._sweep")
    path = tmp_path / "killed"
    monkeypatch.setattr(home, "do_piece", partial(deadly, mark=path))
    return path


def test_a_dask_worker_is_killed_in_the_middle(cluster: Any, mark: Path, tmp_path: Path) -> None:
    settings = written(tmp_path, LONGER)
    results = sb.sweep(settings, tmp_path / "out", engine="dask", address=cluster.scheduler_address)
    assert mark.exists()
    assert results.complete
    assert sb.sweep(settings, tmp_path / "calm", n_jobs=1).complete
    assert contents(tmp_path / "out") == contents(tmp_path / "calm")


def test_ray_from_the_command_line(expected: dict[str, bytes], tmp_path: Path) -> None:
    """A real Ray in a process of its own, with a temporary home folder."""
    # Ray's sockets need a short path, which a test's folder is not.
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp") as home:
        environment = {
            **os.environ,
            "HOME": home,
            "RAY_TMPDIR": home,
            "RAY_USAGE_STATS_ENABLED": "0",
            "STRUCTUREDBANDITS_CACHE_DIR": str(cache_root()),
        }
        done = subprocess.run(
            [
                sys.executable, "-c", COMMAND, "sweep", "sweep.toml", "--out", "out",
                "--engine", "ray", "--n-jobs", "2", "--quiet",
            ],
            cwd=written(tmp_path, SETTINGS).parent,
            env=environment,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert contents(tmp_path / "out") == expected
    assert sb.load_sweep(tmp_path / "out").manifest["engine"] == "ray"


def cache_root() -> Path:
    from structuredbandits._compiled.cache import cache_folder

    return cache_folder().parent


def test_a_cluster_that_does_not_answer_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(sb.InvalidInput, match=r"no Dask cluster responds at 'nowhere'"):
        sb.sweep(written(tmp_path, SETTINGS), tmp_path / "out", engine="dask", address="nowhere")


def test_a_local_worker_is_killed_in_the_middle(mark: Path, tmp_path: Path) -> None:
    """Joblib gives up when a process is gone; the sweep goes on with new ones."""
    settings = written(tmp_path, LONGER)
    results = sb.sweep(settings, tmp_path / "out", n_jobs=2)
    assert mark.exists()
    assert results.complete
    assert sb.sweep(settings, tmp_path / "calm", n_jobs=1).complete
    assert contents(tmp_path / "out") == contents(tmp_path / "calm")
