"""A sweep holds what `simulate` finds, once; it resumes, and goes on when a piece fails."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import structuredbandits as sb
from structuredbandits.simulation.sweeps._sweep_folder import Folder

GRID: dict[str, Any] = {
    "problem": ["three-arms", "two-arms"],
    "theta": [0.5, 2.6],
    "policies": ["ucb", "ts-c"],
    "horizon": [60, 100],
    "seed": [0, 3],
    "runs": 5,
    "runs_per_task": 2,
    "checkpoints": 4,
}


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted((folder / "results").rglob("*"))
        if path.is_file()
    }


def test_the_files_hold_what_simulate_finds(tmp_path: Path) -> None:
    results = sb.sweep(GRID, tmp_path, n_jobs=1)
    assert results.complete
    assert results.failed == {}
    frame = results.to_frame()
    assert len(frame) == 2 * 2 * 2 * 2 * 2 * 5 * 4
    for (problem, horizon, seed), part in frame.groupby(["problem", "horizon", "seed"]):
        alone = sb.simulate(
            str(problem), ["ucb", "ts-c"], [0.5, 2.6], horizon=horizon, runs=5, seed=seed,
            checkpoints=4,
        )  # fmt: skip
        np.testing.assert_array_equal(part["regret"], alone.regret.ravel())
        np.testing.assert_array_equal(part["reward"], alone.reward.ravel())
        final = part[part["round"] == horizon]
        np.testing.assert_array_equal(
            np.stack(final["pulls"].to_list()), alone.pulls.reshape(20, -1)
        )
        np.testing.assert_array_equal(final["empty_rounds"], alone.empty_rounds.ravel())
        assert part["pulls"].notna().sum() == len(final)
    assert results.arms(0) == sb.load_structure("three-arms").arms


def test_the_summary_has_one_row_per_configuration(tmp_path: Path) -> None:
    results = sb.sweep(GRID, tmp_path, n_jobs=1)
    table = results.summary()
    assert len(table) == 32
    row = table.iloc[5]
    alone = sb.simulate(
        row["problem"], row["policy"], float(row["theta"]), horizon=int(row["horizon"]), runs=5,
        seed=int(row["seed"]),
    ).summary().iloc[0]  # fmt: skip
    for column in ("regret", "standard_error", "median", "worst", "reward", "empty_rounds"):
        assert row[column] == pytest.approx(alone[column])
    again = sb.load_sweep(tmp_path)
    pd.testing.assert_frame_equal(again.summary(), table)
    assert repr(again) == "<SweepResults: 32 configurations, 160 runs, complete>"


def test_pandas_alone_reads_the_folder(tmp_path: Path) -> None:
    results = sb.sweep(GRID, tmp_path, n_jobs=1)
    whole = pd.read_parquet(tmp_path / "results")
    assert len(whole) == len(results.to_frame())
    assert whole.groupby(["cell", "run", "round"]).size().max() == 1


def test_workers_write_the_same_bytes_as_one_process(tmp_path: Path) -> None:
    sb.sweep(GRID, tmp_path / "one", n_jobs=1)
    sb.sweep(GRID, tmp_path / "two", n_jobs=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    sb.sweep(GRID, tmp_path, n_jobs=1)
    before = contents(tmp_path)
    files = Folder(tmp_path).files()
    for path in files[::3]:
        path.unlink()
    dates = {path: path.stat().st_mtime_ns for path in Folder(tmp_path).files()}
    (tmp_path / ".unfinished").mkdir()
    (tmp_path / ".unfinished" / "0123").write_bytes(b"half a fi")
    sb.sweep(GRID, tmp_path, n_jobs=1)
    assert contents(tmp_path) == before
    assert {path: path.stat().st_mtime_ns for path in dates} == dates
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "manifest.json", "results"]


def test_the_manifest_says_how_it_was_made(tmp_path: Path) -> None:
    sb.sweep(GRID, tmp_path, n_jobs=1)
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["structuredbandits"] == sb.__version__
    assert manifest["versions"]["numpy"] == np.__version__
    assert manifest["state"] == "complete"
    assert manifest["engine"] == "local"
    assert {"node", "system", "processor", "cores"} == manifest["machine"].keys()
    assert manifest["plan"]["cells"][3]["policy"] == "ts-c"


@dataclass(frozen=True, repr=False)
class Broken(sb.UCB):
    """Works on long runs only."""

    name = "broken"

    def agent(self, structure: sb.Structure, rounds: int, horizon: int) -> Any:
        if horizon < 80:
            raise ZeroDivisionError("too short for me")
        return super().agent(structure, rounds, horizon)


def test_a_failed_piece_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    grid = {**GRID, "policies": ["ucb", Broken()], "seed": 0, "problem": "two-arms", "theta": 2.6}
    results = sb.sweep(grid, tmp_path, n_jobs=1)
    assert not results.complete
    assert len(results.failed) == 3  # three pieces of five runs at the horizon 60
    for reason in results.failed.values():
        assert reason.startswith("broken on two-arms at θ = 2.6, horizon 60, seed 0, runs ")
        assert reason.endswith("ZeroDivisionError: too short for me")
    table = results.summary()
    assert list(table["policy"]) == ["ucb", "ucb", "broken"]
    assert list(table["runs"]) == [5, 5, 5]
    again = sb.load_sweep(tmp_path)
    assert again.failed == results.failed


def test_a_failed_configuration_gets_no_further_batches(tmp_path: Path) -> None:
    grid = {**GRID, "policies": ["ucb", Broken()], "seed": 0, "problem": "two-arms", "theta": 2.6}
    results = sb.sweep(grid, tmp_path, n_jobs=1, until="5%", max_runs=20)
    assert len(results.failed) == 3
    assert results.summary()["runs"].max() > 5


def test_other_settings_and_other_things_in_the_folder_are_refused(tmp_path: Path) -> None:
    sb.sweep(GRID, tmp_path / "out", n_jobs=1)
    before = contents(tmp_path / "out")
    with pytest.raises(sb.InvalidInput, match="holds a sweep with other settings"):
        sb.sweep({**GRID, "runs": 6}, tmp_path / "out", n_jobs=1)
    assert contents(tmp_path / "out") == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(sb.InvalidInput, match=r"contains other files \('thesis.txt'\)"):
        sb.sweep(GRID, tmp_path / "mine", n_jobs=1)
    (tmp_path / "file").touch()
    with pytest.raises(sb.FileError, match="nothing can be written to"):
        sb.sweep(GRID, tmp_path / "file", n_jobs=1)


def test_another_version_and_a_damaged_manifest_are_refused(tmp_path: Path) -> None:
    sb.sweep(GRID, tmp_path, n_jobs=1)
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**manifest, "structuredbandits": "0.0.0"}), encoding="utf-8")
    with pytest.raises(sb.WrongVersion, match=r"begun by version 0\.0\.0"):
        sb.sweep(GRID, tmp_path, n_jobs=1)
    path.write_text(json.dumps({**manifest, "version": 99}), encoding="utf-8")
    with pytest.raises(sb.WrongVersion, match="version 99"):
        sb.load_sweep(tmp_path)
    for text in ("{", "[]", '{"format": "other"}'):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(sb.DamagedFile, match="not the manifest of a sweep"):
            sb.load_sweep(tmp_path)
    with pytest.raises(sb.FileError, match="does not hold a sweep"):
        sb.load_sweep(tmp_path / "nowhere")


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    results = sb.sweep(GRID, tmp_path, n_jobs=1)
    victim = Folder(tmp_path).files()[4]
    victim.write_bytes(victim.read_bytes()[:100])
    with pytest.raises(sb.DamagedFile, match=victim.name):
        results.to_frame()


def test_two_sweeps_at_once_in_one_folder_are_refused(tmp_path: Path) -> None:
    with Folder(tmp_path).locked(), pytest.raises(sb.InvalidInput, match="is running a sweep in"):
        sb.sweep(GRID, tmp_path, n_jobs=1)
    assert sb.sweep(GRID, tmp_path, n_jobs=1).complete


def test_a_killed_sweep_leaves_no_lock(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "from structuredbandits.simulation.sweeps._sweep_folder import Folder\n"
        "with Folder(Path(sys.argv[1])).locked():\n    os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert done.returncode == -9
    assert (tmp_path / ".lock").exists()
    with Folder(tmp_path).locked():
        pass


def test_a_file_system_without_locks_is_used_unlocked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr("fcntl.flock", unsupported)
    with Folder(tmp_path).locked(), Folder(tmp_path).locked():
        pass


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"engine": "dusk"}, "there is no engine 'dusk'; did you mean 'dask'"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"address": "tcp://head:1"}, "the local engine has no address"),
        ({"max_runs": 0, "until": "2%"}, "max_runs is 0"),
    ],
)
def test_invalid_options_are_refused(
    options: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(sb.InvalidInput, match=complaint):
        sb.sweep(GRID, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_the_example_runs(tmp_path: Path) -> None:
    example = Path(__file__).parents[3] / "examples" / "sweep.toml"
    table = sb.sweep(example, tmp_path, n_jobs=1).summary()
    assert set(table["problem"]) == {
        "three-arms",
        "movielens(split_seed=0)",
        "movielens(split_seed=1)",
    }
