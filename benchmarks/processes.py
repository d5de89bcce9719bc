"""What has to be measured in a process of its own: memory, start-up, and the first compilation."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time

POLICIES = ["ucb", "ucb-s", "ucb-c", "ts", "ts-c"]

_MEMORY = """
import resource, structuredbandits as sb
sb.simulate("three-arms", {policies}, 0.5, horizon={horizon}, runs={runs}, progress="off")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
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
    """Wall time of `structuredbandits --help`, best of some; processor time under load."""
    code = "from structuredbandits.cli import main; main(['--help'])"
    best = float("inf")
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        _run(code)
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
        best = min(best, max(busy, min(wall, 10.0)))
    return best


def first_seconds() -> tuple[float, float, str]:
    """Seconds to the first round with an empty compile cache, in a second process, and the line."""
    code = _FIRST.format(policies=POLICIES)
    with tempfile.TemporaryDirectory() as folder:
        first, second = (_run(code, STRUCTUREDBANDITS_CACHE_DIR=folder) for _ in range(2))
    told = first.stderr.strip().splitlines()
    return json.loads(first.stdout), json.loads(second.stdout), told[0] if told else ""
