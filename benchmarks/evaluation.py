"""`python -m benchmarks.evaluation`: how long off-policy evaluation takes.

10 million rows with two policies of fixed shares, and 30,000 rows with five policies that learn,
with an empty compile cache and with a filled one. Each is measured in a process of its own, by the
clock and by processor time, since the clock counts what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import structuredbandits as sb
from benchmarks import report

LEARNING = ("ts-c", "ucb-c", "ts", "hierarchical", "ucb")
FIXED = ("uniform", "always a")
TARGETS = {
    "10 million rows, 2 policies of fixed shares": 30.0,
    "30,000 rows, 5 policies that learn, empty compile cache": 22.0,
    "30,000 rows, 5 policies that learn": 10.0,
}


def write_fixed(path: Path, rows: int) -> None:
    """0/1 rewards of four arms, ten decisions per subject."""
    generator = np.random.default_rng(1)
    arms = np.array(list("abcd"), dtype=object)[generator.integers(4, size=rows)]
    frame = pd.DataFrame({"subject": np.arange(rows) // 10, "arm": arms, "probability": 0.25})
    frame["reward"] = (generator.random(rows) < 0.3).astype(float)
    frame.to_parquet(path)


def work(path: str, kind: str) -> None:
    """Evaluate, and print the seconds."""
    clock, processor = time.perf_counter(), time.process_time()
    if kind == "fixed":
        sb.compare_policies(path, FIXED)
    else:
        sb.compare_policies(path, LEARNING, structure="movielens")
    seconds = {"clock": time.perf_counter() - clock, "processor": time.process_time() - processor}
    print(json.dumps(seconds))


def in_process(path: Path, kind: str, cache: Path) -> dict[str, float]:
    """Seconds of an evaluation in a new process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.evaluation", "--work", kind, str(path)],
        env={**os.environ, "STRUCTUREDBANDITS_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure(rows: int) -> list[dict[str, Any]]:
    """All three figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_fixed(folder / "fixed.parquet", rows)
        log = sb.simulate_log("movielens", "uniform", subjects=1500, rounds=20, seed=1)
        log.to_parquet(folder / "learning.parquet")
        found = []
        for figure, (file, kind) in zip(
            TARGETS, (("fixed", "fixed"), ("learning", "cold"), ("learning", "warm")), strict=True
        ):
            seconds = in_process(folder / f"{file}.parquet", kind, folder / "cache")
            found.append({"figure": figure, "target": TARGETS[figure], **seconds})
            print(
                f"{figure}: {seconds['clock']:.1f} s, processor {seconds['processor']:.1f} s "
                f"(target {TARGETS[figure]:g} s)",
                flush=True,
            )
    return found


def main() -> None:
    """Measure, and record if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evaluation", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the large log")
    parser.add_argument("--record", action="store_true", help="keep the figures")
    parser.add_argument("--work", choices=("fixed", "cold", "warm"), help=argparse.SUPPRESS)
    parser.add_argument("path", nargs="?", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.path, options.work)
        return
    rows = measure(options.rows)
    if options.record:
        report.record("evaluation", {"rows": rows})


if __name__ == "__main__":
    main()
