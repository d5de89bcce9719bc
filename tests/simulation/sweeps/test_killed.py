"""A sweep that is killed, at any moment and however often, ends with the same bytes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import structuredbandits as sb

SETTINGS = """
problem = "three-arms"
theta = [0.5, 2.6]
policies = ["ucb", "ts-c"]
horizon = 20_000
seed = [0, 1]
runs = 20
runs_per_task = 4
checkpoints = 10
until = "5%"
max_runs = 60
"""
PIECES = 40  # before precision asks for more

# The process kills itself while it writes its n-th file: half of the bytes are there, or all of
# them under another name, or the file is in place but not reported.
SELF_KILLER = """
import os, pathlib, signal, sys
moment, number, settings, out = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
calls = 0
def die_at(name, before):
    def wrap(real):
        def call(*arguments):
            global calls
            calls += name == moment
            if calls == number and name == moment:
                before(*arguments)
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments)
        return call
    return wrap
real_replace = pathlib.Path.replace
os.fsync = die_at("half", lambda handle: os.ftruncate(handle, 100))(os.fsync)
pathlib.Path.replace = die_at("before", lambda *_: None)(pathlib.Path.replace)
pathlib.Path.replace = die_at("after", real_replace)(pathlib.Path.replace)
import structuredbandits as sb
sb.sweep(settings, out, n_jobs=1)
"""

# Sweeps, but begins no further piece when this many are done: whoever wants to kill or interrupt it
# comes in time, however busy the machine is. A worker whose process was killed goes on.
STOPPING_SHORT = """
import importlib, os, pathlib, sys, time
settings, most, n_jobs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
home = importlib.import_module("structuredbandits.simulation.sweeps._sweep")
real, first = home.do_piece, os.getpid()
def do_piece(piece, folder):
    while first in (os.getpid(), os.getppid()):
        if len([*pathlib.Path(folder).glob("results/*/*.parquet")]) < most:
            break
        time.sleep(0.005)
    return real(piece, folder)
home.do_piece = do_piece
home.sweep(settings, "out", n_jobs=n_jobs)
"""


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted((folder / "results").rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("settings") / "sweep.toml"
    path.write_text(SETTINGS, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def undisturbed(settings: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert sb.sweep(settings, folder, n_jobs=1).complete
    found = contents(folder)
    assert len(found) > PIECES
    return found


def number_of_files(folder: Path) -> int:
    return sum(1 for _ in folder.glob("results/*/*.parquet"))


def wait_for_files(folder: Path, number: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has done this many pieces, even if it compiles for minutes first."""
    end = time.monotonic() + 600
    while number_of_files(folder) < number:
        assert process.poll() is None, "the sweep ended by itself"
        assert time.monotonic() < end, "the pieces were never done"
        time.sleep(0.002)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_killed_at_random_moments(
    n_jobs: int, settings: Path, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    """Three kills, each after some more files and a random moment; the workers are not asked."""
    chance = random.Random(n_jobs)
    out = tmp_path / "out"
    for _ in range(3):
        goal = number_of_files(out) + chance.randrange(1, 8)
        command = [sys.executable, "-c", STOPPING_SHORT, str(settings), str(goal + 4), str(n_jobs)]
        process = subprocess.Popen(command, cwd=tmp_path)
        wait_for_files(out, goal, process)
        time.sleep(chance.random() * 0.05)
        assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert number_of_files(out) < len(undisturbed)
    # Workers of a killed process may still be at their last piece; they disturb nothing.
    assert sb.sweep(settings, out, n_jobs=n_jobs).complete
    assert contents(out) == undisturbed


@pytest.mark.parametrize("moment", ["half", "before", "after"])
def test_killed_while_a_file_is_written(
    moment: str, settings: Path, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    # The first file is the manifest.
    for number in (1, 6):
        killed = subprocess.run(
            [sys.executable, "-c", SELF_KILLER, moment, str(number), str(settings), str(out)],
            check=False,
            timeout=600,
            capture_output=True,
            text=True,
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert 0 < number_of_files(out) < PIECES
    assert sb.sweep(settings, out, n_jobs=1).complete
    assert contents(out) == undisturbed
    assert not (out / ".unfinished").exists()


def hear_interrupts() -> None:
    """In the new process: what a script starts in the background is born deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupted_sweep_says_so_and_continues(
    settings: Path, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPING_SHORT, str(settings), "5", "1"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        preexec_fn=hear_interrupts,
    )
    wait_for_files(tmp_path / "out", 3, process)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode != 0
    assert sb.load_sweep(tmp_path / "out").manifest["state"] == "interrupted"
    assert sb.sweep(settings, tmp_path / "out", n_jobs=1).complete
    assert contents(tmp_path / "out") == undisturbed
