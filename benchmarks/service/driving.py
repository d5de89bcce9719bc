"""Run wrk against a server, and read its report and the CPU times."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.service.compared_servers import Running

SCRIPT = Path(__file__).with_name("post.lua")
CLIENTS = 32


@dataclass(frozen=True)
class Measured:
    """One run of wrk."""

    requests: int
    seconds: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    cpu_us: float  # of the server's process, per request
    database_cpu_us: float  # of PostgreSQL's processes, per request; SQLite is part of the server

    @property
    def per_second(self) -> float:
        return self.requests / self.seconds


def require_wrk() -> None:
    """Install wrk from Debian's packages if possible; otherwise report how to install it."""
    if shutil.which("wrk"):
        return
    if shutil.which("apt-get") and os.geteuid() == 0:
        command = ["apt-get", "install", "--yes", "--no-install-recommends", "wrk"]
        subprocess.run(command, capture_output=True, check=False)
    if not shutil.which("wrk"):
        raise SystemExit("The benchmark needs wrk: install it, for example with 'apt install wrk'.")


def drive(
    server: Running,
    path: str,
    seconds: int,
    *,
    subjects: int = 1_000,
    rewards: bool = False,
    database_cpu: Callable[[], float] = lambda: 0.0,
) -> Measured:
    """32 connections that each send a request as soon as the previous one is answered."""
    before, database_before = server.cpu_seconds(), database_cpu()
    command = ["wrk", "-t1", f"-c{CLIENTS}", f"-d{seconds}s", "--timeout", "10s"]
    done = subprocess.run(
        [*command, "-s", str(SCRIPT), server.url],
        env={
            **os.environ,
            "BENCH_PATH": path,
            "BENCH_SUBJECTS": str(subjects),
            "BENCH_REWARDS": str(int(rewards)),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    used, database_used = server.cpu_seconds() - before, database_cpu() - database_before
    reported = json.loads(done.stdout.strip().splitlines()[-1])
    failed = reported["bad_status"] + reported["socket_errors"]
    if failed or not reported["requests"]:
        raise RuntimeError(f"{server.name}: {failed} of {reported['requests']} requests failed")
    return Measured(
        requests=reported["requests"],
        seconds=reported["seconds"],
        p50_ms=reported["p50_ms"],
        p99_ms=reported["p99_ms"],
        max_ms=reported["max_ms"],
        cpu_us=used / reported["requests"] * 1e6,
        database_cpu_us=database_used / reported["requests"] * 1e6,
    )


def median(runs: list[Measured]) -> Measured:
    """The run with the median requests per second; all other figures are of this run."""
    return sorted(runs, key=lambda run: run.per_second)[len(runs) // 2]
