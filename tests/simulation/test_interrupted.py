"""Ctrl-C and killed workers: the work ends, nothing is left behind, and one can go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

#: How long a busy machine may take for a second's work; nobody waits so long on an idle one.
PATIENCE_SECONDS = 240
#: Works until it is interrupted, then simulates once more and says so.
PROGRAM = """
import contextlib, sys
import joblib
import structuredbandits as sb

def simulate(runs, n_jobs=1):
    return sb.simulate("three-arms", "ucb", [0.5, 2.6], horizon=50_000, runs=runs, n_jobs=n_jobs)

kind = sys.argv[1]
before = simulate(2)
backend = joblib.parallel_config("loky") if kind == "loky" else contextlib.nullcontext()
print("working", flush=True)
try:
    with backend:
        simulate(200_000, n_jobs=1 if kind == "alone" else 2)
except KeyboardInterrupt:
    print("interrupted", flush=True)
except sb.StructuredBanditsError as error:
    print(error, flush=True)
print((simulate(2).regret == before.regret).all(), flush=True)
"""


def hear_interrupts() -> None:
    """In the new process: what a script starts in the background is born deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def members(session: int) -> list[int]:
    """The living processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            state, _, _, own = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):  # no process, or one that ended while we looked
            continue
        if int(own) == session and state != "Z":
            found.append(int(entry.name))
    return found


def wait_until(session: int, number: int) -> list[int]:
    """Wait for so many processes of a session (at least that many, or none)."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found = members(session)
        if len(found) >= number if number else not found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{members(session)} in place of {number} processes")


@pytest.fixture
def start() -> object:
    started: list[subprocess.Popen[str]] = []

    def run(kind: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, kind],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # a group of its own, as a terminal gives each command
            preexec_fn=hear_interrupts,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "working\n"
        return process

    yield run
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


@pytest.mark.parametrize("kind", ["alone", "threads", "loky"])
def test_ctrl_c_ends_the_work_and_leaves_nothing(kind: str, start: object) -> None:
    process = start(kind)  # type: ignore[operator]
    if kind == "loky":
        wait_until(process.pid, 4)  # this one, two workers and their tracker
    time.sleep(1.0)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: all of the group
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert out.splitlines() == ["interrupted", "True"]
    if kind != "loky":  # workers that still import when they are interrupted say so by themselves
        assert err == ""
    wait_until(process.pid, 0)


def test_a_killed_worker_is_one_sentence(start: object) -> None:
    process = start("loky")  # type: ignore[operator]
    workers = [
        member
        for member in wait_until(process.pid, 4)
        if b"popen_loky" in Path(f"/proc/{member}/cmdline").read_bytes()
    ]
    time.sleep(1.0)
    os.kill(workers[0], signal.SIGKILL)
    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert out.splitlines() == [
        "a worker ended abruptly, perhaps for lack of memory; simulate again with fewer n_jobs.",
        "True",
    ]
    wait_until(process.pid, 0)
