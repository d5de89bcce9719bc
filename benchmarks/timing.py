"""Time per round of a policy in the compiled simulator, best of repeated runs."""

from __future__ import annotations

import time
from collections.abc import Callable

import structuredbandits as sb
from benchmarks.instances import true_parameter
from structuredbandits.environments import Gaussian
from structuredbandits.simulation.task import Task

HORIZON = 50_000


def best_seconds(work: Callable[[], object], repeats: int) -> float:
    """Shortest time of several calls; the first call, which may compile, is not timed."""
    work()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def simulated_ns(structure: sb.Structure, policy: str, repeats: int = 15) -> float:
    """Nanoseconds per round of one run of 50,000 rounds, noise included."""
    theta = true_parameter(structure)
    task = Task(
        sb.make_algorithm(policy), structure, Gaussian(structure), theta, (HORIZON,), 0, 0, 1
    )
    return best_seconds(task.run, repeats) / HORIZON * 1e9
