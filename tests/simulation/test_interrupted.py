"""Ctrl-C and killed workers: the work ends, nothing is left behind, and one can go on."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

#: How long a busy machine may take for a second's work; nobody waits so long on an idle one.
PATIENCE_SECONDS = 900
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
try:
    print("working", flush=True)
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


def workers(session: int) -> list[int]:
    """Its workers; a process that was just forked does not have their name yet."""
    found = []
    for member in members(session):
        with contextlib.suppress(OSError):  # it ended while we looked
            if b"popen_loky" in Path(f"/proc/{member}/cmdline").read_bytes():
                found.append(member)
    return found


def wait_for_workers(session: int) -> list[int]:
    """Wait until both are there."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(found := workers(session)) < 2:
        assert time.monotonic() < deadline, f"{members(session)} without two workers"
        time.sleep(0.05)
    return found


def wait_for_the_end(session: int) -> None:
    """Wait until no process of a session is left."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while found := members(session):
        assert time.monotonic() < deadline, f"{found} are left"
        time.sleep(0.05)


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
        wait_for_workers(process.pid)
    time.sleep(1.0)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: all of the group
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert out.splitlines() == ["interrupted", "True"]
    if kind != "loky":  # workers that still import when they are interrupted say so by themselves
        assert err == ""
    wait_for_the_end(process.pid)


def test_a_killed_worker_is_one_sentence(start: object) -> None:
    process = start("loky")  # type: ignore[operator]
    victim = wait_for_workers(process.pid)[0]
    time.sleep(1.0)
    os.kill(victim, signal.SIGKILL)
    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert out.splitlines() == [
        "a worker ended abruptly, perhaps for lack of memory; retry with fewer n_jobs.",
        "True",
    ]
    wait_for_the_end(process.pid)
