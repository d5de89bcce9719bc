"""What only a process of its own shows: signals, full disks, closed pipes, other terminals."""

import os
import pty
import resource
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Start = Callable[..., "subprocess.Popen[str]"]
#: How long a busy machine may take, which compiles first; nobody waits so long on an idle one.
PATIENCE_SECONDS = 900
LONG = ("simulate", "three-arms", "--policies", "ucb,ucb-c", "--runs", "100000", "--theta", "0.5")
SHORT = ("simulate", "setup", "--policies", "ucb", "--runs", "2", "--horizon", "50")


def wait_for(path: Path) -> None:
    """Wait until a process has begun its work, which is when its hidden folder is there."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not list(path.glob(".unfinished-*")):
        assert time.monotonic() < deadline, "the work never began"
        time.sleep(0.05)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupt_ends_the_work_and_leaves_nothing(
    start: Start, tmp_path: Path, workers: str
) -> None:
    process = start(*LONG, "--out", "results", "--n-jobs", workers)
    wait_for(tmp_path / "results")
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_sentence(start: Start, tmp_path: Path) -> None:
    """A limit on the size of files is what a full disk looks like to a program."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))

    # Compiled code must be there already: its cache is also made of files.
    start(*SHORT).communicate(timeout=PATIENCE_SECONDS)
    process = start(*SHORT, "--out", "results", preexec_fn=limit)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 2
    assert "ucb has the least mean regret." in out
    sentence = err.splitlines()[-1]
    assert sentence.startswith("error: nothing can be written to 'results' (")
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_a_full_standard_output_is_one_sentence(start: Start) -> None:
    with Path("/dev/full").open("w") as full:
        process = start("problems", stdout=full)
        _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, err) == (2, "error: No space left on device.\n")


def test_a_reader_that_leaves_is_nothing_to_talk_about(start: Start) -> None:
    reader, writer = os.pipe()
    os.close(reader)  # before the command starts: it must not win a race
    process = start("policies", "--json", stdout=writer)
    os.close(writer)
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, err) == (1, "")


def test_a_terminal_without_greek_letters_gets_the_table(start: Start, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    process = start(*SHORT, env=environment)
    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert out.isascii()
    assert "ucb" in out


def test_a_terminal_gets_a_bar_and_a_log_gets_lines(start: Start) -> None:
    options = ("--policies", "ucb", "--theta", "0.5", "--n-jobs", "1")
    main, side = pty.openpty()
    # 10⁹ rounds take several seconds on any machine, and the bar comes after two.
    process = start("simulate", "three-arms", *options, "--runs", "20000", stderr=side)
    os.close(side)
    shown = read_terminal(main)
    process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert "simulating" in shown
    assert "100 %" in shown
    second = start("simulate", "three-arms", *options, "--runs", "3000")
    _, logged = second.communicate(timeout=PATIENCE_SECONDS)
    assert "\x1b" not in logged
    assert "\r" not in logged


def read_terminal(descriptor: int) -> str:
    """Everything that is written to a terminal until its last writer leaves."""
    parts = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        ready, _, _ = select.select([descriptor], [], [], 1.0)
        if ready:
            try:
                part = os.read(descriptor, 65536)
            except OSError:  # how Linux says that nobody writes any more
                break
            parts.append(part)
    os.close(descriptor)
    return b"".join(parts).decode()


def test_the_command_is_installed(tmp_path: Path) -> None:
    import sys

    command = Path(sys.executable).with_name("structuredbandits")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("structuredbandits ")
