"""Learn a structure from 100 million rows in Parquet: time and peak memory.

    python -m benchmarks.learning                  # writes the files to a temporary folder
    python -m benchmarks.learning --rows 1000000   # a smaller one

Each engine runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import structuredbandits as sb

ROWS = 100_000_000
ROWS_PER_FILE = 5_000_000
GENRES, AGES, JOBS = 18, 7, 21


def make_log(folder: Path, rows: int) -> None:
    """Write a log of ratings with uniform segments and genres; the true means are fixed."""
    generator = np.random.default_rng(0)
    means = generator.normal(3.5, 0.4, size=(AGES, JOBS, GENRES))
    labels = {
        "genre": pa.array([f"genre {k:02d}" for k in range(GENRES)]),
        "age": pa.array([f"age {i}" for i in range(AGES)]),
        "occupation": pa.array([f"occupation {i:02d}" for i in range(JOBS)]),
    }
    for number, start in enumerate(range(0, rows, ROWS_PER_FILE)):
        size = min(ROWS_PER_FILE, rows - start)
        age, job, genre = (generator.integers(n, size=size) for n in (AGES, JOBS, GENRES))
        noise = generator.standard_normal(size)
        stars = np.clip(np.rint(means[age, job, genre] + noise), 1, 5)
        codes = {"genre": genre, "age": age, "occupation": job}
        columns = {
            name: pa.DictionaryArray.from_arrays(pa.array(codes[name]), labels[name]).cast("string")
            for name in labels
        }
        columns["user"] = pa.array(generator.integers(1 << 40, size=size))
        columns["rating"] = pa.array(stars)
        parquet.write_table(pa.table(columns), folder / f"part-{number:03d}.parquet")


def measure(folder: str, engine: str) -> None:
    """Learn once and print time and memory as JSON; runs in a separate process."""
    start = time.perf_counter()
    structure = sb.learn_structure(
        folder,
        arm="genre",
        segment=["age", "occupation"],
        reward="rating",
        engine=engine,  # type: ignore[arg-type]  # from the command line
    )
    seconds = time.perf_counter() - start
    assert structure.counts is not None
    figures = {
        "engine": engine,
        "seconds": seconds,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "rows": float(structure.counts.sum()),
        "mean": float((structure.counts * structure.means).sum() / structure.counts.sum()),
    }
    print(json.dumps(figures))


def main() -> None:
    """Make the log, measure both engines and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--engines", default="ibis,pandas")
    parser.add_argument("--measure", nargs=2, metavar=("FOLDER", "ENGINE"))
    options = parser.parse_args()
    if options.measure:
        measure(*options.measure)
        return
    with tempfile.TemporaryDirectory(prefix="structuredbandits-") as name:
        folder = Path(name)
        start = time.perf_counter()
        make_log(folder, options.rows)
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(
            f"{options.rows:,} rows in {len(list(folder.iterdir()))} files, {size / 1e9:.2f} GB, "
            f"made in {time.perf_counter() - start:.0f} s"
        )
        print("| engine | seconds | peak memory, GB | rows used |")
        print("|---|---|---|---|")
        for engine in options.engines.split(","):
            command = [sys.executable, "-m", "benchmarks.learning", "--measure", name, engine]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout)
            print(
                f"| {engine} | {found['seconds']:.1f} | {found['peak_bytes'] / 1e9:.2f} | "
                f"{found['rows']:,.0f} |"
            )


if __name__ == "__main__":
    main()
