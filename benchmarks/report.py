"""Recorded measurements as pages: benchmarks/README.md, benchmarks/peers.png and docs/peers.md.

Each part is recorded on its own as JSON; the pages are written from whatever is recorded.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent
RECORDS = ROOT / "records"
DOCS = ROOT.parent / "docs"

_HEAD = """\
# Benchmarks

Written by `python -m benchmarks --record`. `make bench` measures everything and records nothing;
`--quick` is a rehearsal of a few minutes, `--only core` (or `peers`, `scaling`, `correctness`) one
part. Only ratios within one run are claimed: the times are of one machine on one day.

Other pages have commands of their own: `python -m benchmarks.experiments` (the figures of the
paper), `benchmarks.comparison` (all policies on all embedded problems), `benchmarks.identification`
(rewards until the best arm is certain), `benchmarks.learning` (logs of 100 million rows) and
`benchmarks.theory` (how long an analysis takes).
"""


def about() -> dict[str, Any]:
    """When, where and with which versions something was measured."""
    packages = ("numpy", "numba", "scipy", "joblib", "pandas", "river", "mabwiser")
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[0], 1),
        "packages": {name: version(name) for name in packages},
    }


def record(part: str, data: dict[str, Any]) -> None:
    """Keep a part's measurements."""
    RECORDS.mkdir(exist_ok=True)
    text = json.dumps({**about(), **data}, indent=1, ensure_ascii=False)
    (RECORDS / f"{part}.json").write_text(text + "\n", encoding="utf-8")


def recorded(part: str) -> dict[str, Any] | None:
    """A part's measurements, if there are any."""
    path = RECORDS / f"{part}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def table(columns: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _origin(data: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {number}" for name, number in data["packages"].items())
    text = f"{data['date']}, Python {data['python']}, {data['machine']}, {packages}."
    if data["load"] > 1.5:
        text += (
            f" The machine was shared (load {data['load']}); figures are the best of many repeats."
        )
    return text + "\n"


def core_section(data: dict[str, Any]) -> str:
    """What structure costs."""
    rows = [
        [row["figure"], row["target"], row["value"], "yes" if row["reached"] else "no"]
        for row in data["rows"]
    ]
    return (
        "## The core\n\nT = 50,000 on one core unless stated, 40 runs at a time, as `simulate` "
        "does them; the two sides of a ratio take turns."
        "\n\n" + table(["figure", "target", "measured", "reached"], rows) + "\n" + _origin(data)
    )


def scaling_section(data: dict[str, Any]) -> str:
    """Two processes."""
    one, two = (", ".join(f"{seconds:.1f}" for seconds in data[key]) for key in ("one", "two"))
    return (
        "## A sweep on two processes\n\n"
        f"{one} s with one process and {two} s with two, start-up included: the best are "
        f"{data['ratio']:.2f} times apart (target 1.7). {data.get('note', '')}\n\n" + _origin(data)
    )


def peers_section(data: dict[str, Any]) -> str:
    """Who is how fast at K = 3, relative to us."""
    points = [p for p in data["points"] if p["against"] == "K" and p["at"] in (3, 100)]
    base = {
        (p["kind"], p["policy"], p["at"]): p["seconds"]
        for p in points
        if p["who"] == "structuredbandits"
    }
    rows = []
    for p in points:
        like = "ts" if p["policy"] == "ts-beta" else p["policy"]
        ours = base.get((p["kind"], like, p["at"]))
        ratio = f"{p['seconds'] / ours:,.1f}" if ours else ""
        micros = p["seconds"] * 1e6
        time = f"{micros:,.0f} µs" if micros >= 100 else f"{micros:.3g} µs"
        rows.append([p["kind"], p["who"], p["policy"], str(p["at"]), time, ratio])
    rows.sort(key=lambda row: (row[0], int(row[3])))
    text = "## Peers\n\n![Cost of a round](peers.png)\n\n"
    text += (
        "Seconds a round, and how many times ours that is for the same policy (Beta Thompson is "
        "held against our Gaussian one). Peers' simulators run their own problems: River's "
        "`evaluate`, MABWiser's replay of a log in one batch, SMPyBandits' Evaluator.\n\n"
    )
    columns = ["what", "library", "policy", "K", "a round", "÷ ours"]
    text += table(columns, rows) + "\n"
    text += _growth(data["points"])
    names = ", ".join(f"{name} {number}" for name, number in data["versions"].items())
    text += f"Versions: {names}.\n"
    text += "".join(f"\n- {line}" for line in data["missing"])
    return text + "\n" + _origin(data)


_AXES = {
    "K": "The simulator against the number of arms (|Θ| = 1,000)",
    "parameters": "UCB-C against |Θ| (K = 18)",
    "runs": "UCB against the number of runs (K = 3)",
    "T": "The simulator against the number of rounds (K = 18, |Θ| = 1,000)",
}


def _growth(points: list[dict[str, Any]]) -> str:
    """How the simulator's cost grows, with NumPy, peers and the floor beside it."""
    text = ""
    for against, title in _AXES.items():
        chosen = [p for p in points if p["against"] == against and p["kind"] == "simulator"]
        sizes = sorted({p["at"] for p in chosen})
        lines: dict[tuple[str, str], dict[int, float]] = {}
        for p in chosen:
            lines.setdefault((p["who"], p["policy"]), {})[p["at"]] = p["seconds"] * 1e9
        rows = [
            [who, policy, *(f"{found[n]:,.3g}" if n in found else "" for n in sizes)]
            for (who, policy), found in lines.items()
        ]
        rows = [[_plain(cell) for cell in row] for row in rows]
        columns = ["library", "policy", *(f"{n:,}" for n in sizes)]
        text += f"{title}, nanoseconds a round:\n\n{table(columns, rows)}\n"
    return text


def _plain(cell: str) -> str:
    """A number of three digits without a power of ten."""
    return f"{float(cell.replace(',', '')):,.0f}" if "e+" in cell else cell


def correctness_page(data: dict[str, Any]) -> str:
    """Docs: regret of peers' policies against the textbook."""
    rows = [
        [
            f["library"], f["policy"], str(f["runs"]),
            f"{f['regret']:.1f} ± {f['standard_error']:.1f}", f"{f['textbook']:.1f}",
            f"{f['z']:+.1f}", f["verdict"],
        ]
        for f in data["findings"]
    ]  # fmt: skip
    names = ", ".join(f"{name} {number}" for name, number in data["versions"].items())
    missing = "".join(f"\n- {line}" for line in data["missing"])
    template = (ROOT / "peers" / "page.md").read_text(encoding="utf-8")
    columns = ["library", "policy", "runs", "regret", "textbook", "z", "finding"]
    return template.format(
        table=table(columns, rows), versions=names, date=data["date"], missing=missing
    )


SECTIONS: dict[str, Callable[[dict[str, Any]], str]] = {
    "core": core_section,
    "scaling": scaling_section,
    "peers": peers_section,
}


def write_pages() -> list[Path]:
    """Write all pages anew from what is recorded."""
    parts = [_HEAD]
    for name, section in SECTIONS.items():
        data = recorded(name)
        if data is not None:
            parts.append(section(data))
    pages = [ROOT / "README.md"]
    pages[0].write_text("\n".join(parts), encoding="utf-8")
    peers, correctness = recorded("peers"), recorded("correctness")
    if peers is not None:
        from benchmarks.peers.picture import draw

        pages.append(ROOT / "peers.png")
        draw(peers, pages[-1])
    if correctness is not None:
        pages.append(DOCS / "peers.md")
        pages[-1].write_text(correctness_page(correctness), encoding="utf-8")
    return pages
