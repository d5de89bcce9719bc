"""Measurements that need a separate process: memory, start-up, and the first compilation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time

POLICIES = ["ucb", "ucb-s", "ucb-c", "ts", "ts-c"]

# A process inherits its parent's ru_maxrss on Linux, so the kernel's own peak is read.
_MEMORY = """
import pathlib, re, structuredbandits as sb
sb.simulate("three-arms", {policies}, 0.5, horizon={horizon}, runs={runs}, progress="off")
status = pathlib.Path("/proc/self/status").read_text()
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", status).group(1)) / 1024)
"""
_FIRST = """
import time
start = time.perf_counter()
import json, structuredbandits as sb
sb.simulate("three-arms", {policies}, 0.5, horizon=1, runs=1, progress="lines")
print(json.dumps(time.perf_counter() - start))
"""


def _run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )


def peak_megabytes(horizon: int = 1_000_000, runs: int = 100) -> float:
    """Peak resident memory of a process that simulates five policies."""
    code = _MEMORY.format(policies=POLICIES, horizon=horizon, runs=runs)
    return float(_run(code).stdout)


def help_seconds(repeats: int = 5) -> float:
    """Shortest wall time of `structuredbandits --help`."""
    code = "from structuredbandits.cli import main; main(['--help'])"
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        _run(code)
        best = min(best, time.perf_counter() - start)
    return best


def first_seconds() -> tuple[float, float, str]:
    """Seconds to the first round with an empty and a filled compile cache, and the printed line."""
    code = _FIRST.format(policies=POLICIES)
    with tempfile.TemporaryDirectory() as folder:
        first, second = (_run(code, STRUCTUREDBANDITS_CACHE_DIR=folder) for _ in range(2))
    lines = first.stderr.strip().splitlines()
    return json.loads(first.stdout), json.loads(second.stdout), lines[0] if lines else ""
