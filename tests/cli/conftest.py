"""The command line as a function, and as a process of its own."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from structuredbandits.cli.main import run

COMMAND = [sys.executable, "-c", "from structuredbandits.cli import main; main()"]


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def no_wishes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a user may ask of every program would change widths and colours."""
    for name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Run the command line in this process."""

    def run_here(*arguments: str) -> Ended:
        capsys.readouterr()
        code = run(arguments)
        return Ended(code, *capsys.readouterr())

    return run_here


def hear_interrupts() -> None:
    """In the new process: what a script starts in the background is born deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start the command line as a process in an empty folder."""

    def run_elsewhere(*arguments: str, **settings: object) -> subprocess.Popen[str]:
        options = {
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "cwd": tmp_path,
            "preexec_fn": hear_interrupts,
        }
        return subprocess.Popen([*COMMAND, *arguments], text=True, **(options | settings))

    return run_elsewhere
