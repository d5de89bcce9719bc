"""Run the blocks of pages one after the other, as a reader would.

Each page has its own state, pages of one group share a folder, and warnings are errors. A service
that a page starts on port 8000 gets a free port instead, so that pages can run in parallel.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from docs.making.blocks import Block

ROOT = Path(__file__).parents[2]
_WIDTH = "92"
_SECONDS = 300
_PORT = "8000"
# Ibis uses functions that newer releases of DuckDB and pandas have deprecated.
_OTHERS_WARNINGS = (
    r"fetch_\w+\(\) is deprecated",
    r"The 'future.infer_string' option is deprecated",
)


class Done(NamedTuple):
    """The output of a block, and its picture."""

    output: str
    picture: bytes | None


class Failed(Exception):
    """A block that failed."""


def run_story(pages: Mapping[str, Sequence[Block]]) -> dict[str, list[Done]]:
    """Run pages that share a folder, in order.

    Raises
    ------
    Failed
        With the page, the line and the error.
    """
    os.environ.setdefault("MPLBACKEND", "Agg")
    with tempfile.TemporaryDirectory(prefix="page-") as place, contextlib.chdir(place):
        folder = Path(place)
        shutil.copytree(ROOT / "examples", folder / "examples")
        return {name: _run_page(name, blocks, folder) for name, blocks in pages.items()}


def _run_page(name: str, blocks: Sequence[Block], folder: Path) -> list[Done]:
    page = _Page(name, folder, _free_port())
    try:
        return [page.run(block) for block in blocks]
    finally:
        page.close()


class _Page:
    """The shared state of the blocks of a page."""

    def __init__(self, name: str, folder: Path, port: str) -> None:
        self.name, self.folder, self.port = name, folder, port
        # A separate module, since pickle looks up the definitions of a page there.
        self.module = ModuleType("__main__")
        self.before = sys.modules["__main__"], dict(os.environ)
        sys.modules["__main__"] = self.module
        self.background: list[subprocess.Popen[bytes]] = []

    def run(self, block: Block) -> Done:
        code = block.code.replace(_PORT, self.port)
        try:
            if block.language == "console":
                output = self._commands(code, block.options.get("run") == "background")
            else:
                output = self._python(code, block.line)
            picture = self._picture(block.options.get("picture"))
        except Failed:
            raise
        except BaseException as error:
            shown = "".join(traceback.format_exception(error, limit=-3))
            raise Failed(f"{self.name}, line {block.line}: {shown}") from None
        output = output.replace(self.port, _PORT).replace(str(self.folder), ".")
        return Done("\n".join(line.rstrip() for line in output.splitlines()), picture)

    def _python(self, code: str, line: int) -> str:
        # Blank lines make tracebacks show the line of the page.
        compiled = compile("\n" * (line - 1) + code, self.name, "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("error")
            for message in _OTHERS_WARNINGS:
                warnings.filterwarnings("ignore", message=message)
            exec(compiled, vars(self.module))
        return printed.getvalue()

    def _commands(self, code: str, stays: bool) -> str:
        # Commands are found next to the interpreter, whether or not its environment is active.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        settings = {**os.environ, "PATH": path, "COLUMNS": _WIDTH, "NO_COLOR": "1"}
        if stays:
            with Path("background.log").open("wb") as log:
                started = subprocess.Popen(
                    ["bash", "-c", f"exec {code}"], env=settings, stdout=log, stderr=log
                )
            self.background.append(started)
            self._wait(started)
            return ""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", code],
            env=settings,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{code}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def _wait(self, started: subprocess.Popen[bytes]) -> None:
        """Wait until the started service is ready."""
        for _ in range(6000):
            if started.poll() is not None:
                raise RuntimeError(Path("background.log").read_text(encoding="utf-8"))
            with contextlib.suppress(OSError, urllib.error.URLError):
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5).close()
                return
            time.sleep(0.1)
        raise RuntimeError("the service is not ready after ten minutes.")

    def _picture(self, name: str | None) -> bytes | None:
        if name is None:
            return None
        path = self.folder / name
        if not path.exists():
            from matplotlib import pyplot as plt

            if not plt.get_fignums():
                raise RuntimeError(f"the block neither drew a figure nor wrote {name}.")
            plt.gcf().savefig(path, bbox_inches="tight")
            plt.close("all")
        return path.read_bytes()

    def close(self) -> None:
        for process in self.background:
            process.terminate()
            process.wait(timeout=60)
        sys.modules["__main__"], settings = self.before
        os.environ.clear()
        os.environ.update(settings)


def _free_port() -> str:
    """A free port of five digits, which no other number in a page equals."""
    for _ in _forever():
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = str(taken.getsockname()[1])
        if len(port) == 5:
            return port
    raise AssertionError


def _forever() -> Iterator[None]:
    while True:
        yield
