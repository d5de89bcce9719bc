"""`python -m benchmarks`: measure, print, and with --record store the results."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from benchmarks import report


def core(quick: bool) -> dict[str, Any]:
    from benchmarks.core import all_rows

    rows = []
    for row in all_rows(quick):
        mark = "ok  " if row.reached else "MISS"
        print(f"{mark} {row.figure}: {row.value}  (target {row.target})", flush=True)
        rows.append(asdict(row))
    return {"rows": rows}


def scaling(quick: bool) -> dict[str, Any]:
    from benchmarks.scaling import measure

    data = measure(quick)
    print(f"two processes: {data['ratio']:.2f} times as fast as one")
    return data


def peers(quick: bool) -> dict[str, Any]:
    from benchmarks.peers.speed import measure

    data = measure(quick)
    for p in data["points"]:
        where = f"{p['against']} = {p['at']:,}"
        named = f"{p['kind']:12} {p['who']:20} {p['policy']:16} {where:22}"
        print(f"{named} {p['seconds'] * 1e9:14,.1f} ns")
    return data


def correctness(quick: bool) -> dict[str, Any]:
    from benchmarks.peers.correctness import examine

    data = examine(quick)
    for f in data["findings"]:
        named = f"{f['library']:18} {f['policy']:20}"
        print(f"{named} {f['regret']:8.1f} {f['textbook']:8.1f}  {f['verdict']}")
    return data


PARTS: dict[str, Callable[[bool], dict[str, Any]]] = {
    "core": core,
    "scaling": scaling,
    "peers": peers,
    "correctness": correctness,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="one part; may be repeated")
    parser.add_argument("--quick", action="store_true", help="a trial of a few minutes")
    parser.add_argument("--record", action="store_true", help="store the results in the repository")
    options = parser.parse_args()
    if options.quick and options.record:
        parser.error("a quick trial cannot be recorded; give only one of --quick and --record")
    for name in options.only or PARTS:
        print(f"== {name}", flush=True)
        data = PARTS[name](options.quick)
        if options.record:
            report.record(name, data)
    if options.record:
        for page in report.write_pages():
            print(f"written: {page}")


if __name__ == "__main__":
    main()
