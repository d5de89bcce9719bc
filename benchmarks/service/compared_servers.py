"""The compared servers: each one uvicorn process with the same settings."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    """A free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Running:
    """A running server."""

    name: str
    port: int
    pid: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cpu_seconds(self) -> float:
        """CPU time of all its threads so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_megabytes(self) -> float:
        """Its resident memory now."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE") / 2**20


@contextlib.contextmanager
def running(name: str, command: Sequence[str], port: int, probe: str) -> Iterator[Running]:
    """Start a server, wait until it responds, and stop it afterwards."""
    process = subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(process, f"http://127.0.0.1:{port}{probe}")
        yield Running(name, port, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], url: str) -> None:
    end = time.monotonic() + 180  # an empty compile cache takes a while
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the server of {url} ended with code {process.returncode}")
        with contextlib.suppress(URLError, OSError), urlopen(url, timeout=5) as answer:
            if answer.status == 200:
                return
        time.sleep(0.05)
    raise RuntimeError(f"{url} did not answer within three minutes")


@contextlib.contextmanager
def service(database: str, *options: str) -> Iterator[Running]:
    """`structuredbandits serve` with default settings, without API keys."""
    port = free_port()
    start = "import sys; from structuredbandits.cli import main; sys.exit(main(sys.argv[1:]))"
    command = ["-c", start, "serve", "--db", database, "--insecure"]
    with running("service", [*command, "--port", str(port), *options], port, "/readyz") as server:
        yield server


@contextlib.contextmanager
def baseline(kind: str, database: str = "") -> Iterator[Running]:
    """One of the two baseline handlers."""
    port = free_port()
    command = ["-m", "benchmarks.service.compared_servers", kind, str(port), database]
    with running(kind, command, port, "/openapi.json") as server:
        yield server


def main() -> None:
    """Run a baseline: `python -m benchmarks.service.compared_servers insert PORT DATABASE`."""
    import uvicorn

    from benchmarks.service.baseline import hello_app, insert_app

    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["insert", "hello"])
    parser.add_argument("port", type=int)
    parser.add_argument("database", nargs="?", default="")
    given = parser.parse_args()
    app = hello_app() if given.kind == "hello" else insert_app(given.database)
    uvicorn.run(app, host="127.0.0.1", port=given.port, access_log=False, log_level="warning")


if __name__ == "__main__":
    main()
