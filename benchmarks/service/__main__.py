"""`python -m benchmarks.service`: measure, print, and with --record write README.md."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.service import measuring
from benchmarks.service.driving import require_wrk
from benchmarks.service.report import about, page

KINDS = ("sqlite", "postgresql")
FOLDER = Path(__file__).parent


def say(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="write record.json and README.md")
    parser.add_argument("--quick", action="store_true", help="a trial of a minute or two")
    parser.add_argument("--only", choices=["compare", "subjects", "client"])
    parser.add_argument("--kind", choices=KINDS)
    given = parser.parse_args()
    require_wrk()
    size = measuring.QUICK if given.quick else measuring.Size()
    parts = {
        "compare": measuring.compare,
        "subjects": measuring.many_subjects,
        "client": measuring.real_client,
    }
    record_path = FOLDER / "record.json"
    record = json.loads(record_path.read_text()) if given.record and record_path.exists() else {}
    for name, measure in parts.items():
        for kind in KINDS:
            if given.only in (None, name) and given.kind in (None, kind):
                record.setdefault(name, {})[kind] = {**measure(kind, size, say), **about()}
    if not record.get("compare"):
        return
    if given.record:
        record_path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        (FOLDER / "README.md").write_text(page(record), encoding="utf-8")
    say("\n" + page(record))


if __name__ == "__main__":
    main()
