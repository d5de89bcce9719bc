"""`python -m benchmarks.statements`: measure what the statistical statements promise."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from benchmarks import report
from benchmarks.statements import (
    best_arms,
    confidence_sets,
    console,
    learned_tables,
    lifts,
    off_policy,
    page,
    refutation,
    result_tables,
)

PARTS: dict[str, Callable[..., list[dict[str, Any]]]] = {
    "sets": confidence_sets.measure,
    "refutation": refutation.measure,
    "identification": best_arms.measure,
    "off-policy": off_policy.measure,
    "lift": lifts.measure,
    "learned-tables": learned_tables.measure,
    "result-tables": result_tables.measure,
    "console": console.measure,
}
QUICK = 50


def main() -> None:
    """Measure, show, and write the page if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.statements", description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="one part; may be repeated")
    parser.add_argument("--quick", action="store_true", help=f"a trial with {QUICK} repetitions")
    parser.add_argument("--record", action="store_true", help="keep the figures and write the page")
    options = parser.parse_args()
    if options.quick and options.record:
        parser.error("a trial is not worth recording; leave out --quick or --record")
    for name in options.only or PARTS:
        print(f"== {name}", flush=True)
        rows = PARTS[name](QUICK) if options.quick else PARTS[name]()
        if name != "off-policy":  # which shows its rows as it goes
            for row in rows:
                print(f"{row['case']}: {row['measured']:.4f} (promised {row['promised']:.4g})")
        if options.record:
            report.record(f"statements-{name}", {"rows": rows})
    if options.record:
        page.write()


if __name__ == "__main__":
    main()
