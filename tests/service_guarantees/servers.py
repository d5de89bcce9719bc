"""Servers as processes: started quickly, killed at will, asked until they answer."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

ROOT = Path(__file__).parents[2]


_kept: list[socket.socket] = []


def free_port() -> int:
    """A port of this machine that is ours until the launcher ends.

    A socket that never listens stays bound to it, so that the system gives it to nobody else before
    a server listens there, or while one is started again; nor to a client as its own end.
    """
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: they may share it
    kept.bind(("127.0.0.1", 0))
    _kept.append(kept)
    return int(kept.getsockname()[1])


def wait_until(true: object, seconds: float = 120.0, what: str = "it") -> None:
    """Ask again and again until a function says yes.

    How long is only so that a test ends at all: a busy machine must not make it red.
    """
    assert callable(true)
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"{what} did not happen within {seconds} s"
        time.sleep(0.01)


@dataclass
class Server:
    """One running process of the service."""

    pid: int
    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def status(self, path: str, seconds: float = 60.0) -> int:
        """The status of a GET without a key; 0 if there is no answer."""
        try:
            return httpx.get(self.url + path, timeout=seconds).status_code
        except httpx.TransportError:
            return 0

    def lives(self) -> bool:
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self.pid).status() != psutil.STATUS_ZOMBIE
        return False

    def wait_until_ready(self) -> None:
        def ready() -> bool:
            assert self.lives(), f"the server ended: {self.text()[-2000:]}"
            return self.status("/readyz") == 200

        wait_until(ready, 300.0, "a ready server")

    def kill(self) -> None:
        """End the process without letting it do anything more."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ask the process to end, and wait."""
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)
        wait_until(lambda: not self.lives(), what="the end of the server")

    def memory_megabytes(self) -> float:
        """What the process holds in memory now."""
        return float(psutil.Process(self.pid).memory_info().rss) / 2**20

    def text(self) -> str:
        """Everything it has written so far."""
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""


class Launcher:
    """Starts servers from one process that has imported everything already."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._servers: list[Server] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.service_guarantees.launcher"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._said().startswith("ready")

    def _said(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the launcher ended"
        return line

    def start(
        self,
        *arguments: str,
        port: int | None = None,
        wait: bool = True,
        files: int | None = None,
    ) -> Server:
        """A new server with these arguments of `structuredbandits serve`.

        Parameters
        ----------
        files
            What `ulimit -n` sets.
        """
        port = port or free_port()
        log = self._folder / f"server-{port}.log"
        given = [*arguments, "--port", str(port)]
        wanted = {"arguments": given, "log": str(log), "files": files}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        server = Server(int(self._said()), port, log)
        self._servers.append(server)
        if wait:
            server.wait_until_ready()
        return server

    def close(self) -> None:
        for server in self._servers:
            if server.lives():
                server.kill()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=120)
        assert self._process.stdout is not None
        self._process.stdout.close()
        for kept in _kept:
            kept.close()
        _kept.clear()


@contextlib.contextmanager
def launcher(folder: Path) -> Iterator[Launcher]:
    """A launcher that takes its servers with it."""
    made = Launcher(folder)
    try:
        yield made
    finally:
        made.close()
