"""How much faster a sweep is with two processes than with one."""

from __future__ import annotations

import tempfile
import time
from typing import Any

import structuredbandits as sb


def grid(share: float) -> dict[str, Any]:
    """A sweep of about a minute on one core at share 1."""
    return {
        "problem": "three-arms",
        "theta": [0.5, 1.5, 2.6],
        "policies": ["ucb", "ucb-c", "ts", "ts-c"],
        "horizon": 50_000,
        "runs": max(8, int(3200 * share)),
        "runs_per_task": max(1, int(200 * share)),
        "checkpoints": 10,
    }


def measure(quick: bool) -> dict[str, Any]:
    """All times with one and with two processes, start-up included, and the ratio of the best."""
    share = 0.02 if quick else 1.0
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for n_jobs in (1, 2, 1, 2):
        with tempfile.TemporaryDirectory() as out:
            start = time.perf_counter()
            sb.sweep(grid(share), out, n_jobs=n_jobs, progress="off")
            seconds[n_jobs].append(round(time.perf_counter() - start, 1))
    return {"one": seconds[1], "two": seconds[2], "ratio": min(seconds[1]) / min(seconds[2])}
