"""Write the measurements as a page."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

_HEAD = """\
# Throughput and latency of the service

Written by `python -m benchmarks.service --record`; `make bench-service` measures the same and
records nothing. wrk keeps 32 connections busy over loopback; client, server and database share the
machine. Each server is one process. Compared servers are measured alternately within one run, and
the ratio is the median of the turns; only ratios are meaningful, since the times are from one
machine on one day.

The service runs without API keys, and requests carry no Idempotency-Key; each of the two adds a
lookup. The lines below the tables give the load of the machine, including the benchmark itself.

- **service**: `POST .../decisions` of an experiment on the MovieLens structure (18 arms, 106
  segments) with the `hierarchical` policy, for 1,000 subjects with different rewards; every
  response waits for a durable commit.
- **insert**: a FastAPI handler that does one durable insert into a database of the same kind and
  nothing else: prepared connections, no object mapper.
- **hello**: a FastAPI handler that returns `{"hello": "world"}`.
"""
_PACKAGES = ("fastapi", "uvicorn", "uvloop", "httptools", "sqlalchemy", "psycopg", "numba")


def about() -> dict[str, Any]:
    """Date, machine and versions of a measurement."""
    printed = subprocess.run(["wrk", "--version"], capture_output=True, text=True, check=False)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[0], 1),
        "priority": "ordinary" if os.sched_getscheduler(0) == os.SCHED_OTHER else "real-time",
        "wrk": printed.stdout.split("[")[0].strip(),
        "packages": {name: version(name) for name in _PACKAGES},
    }


def _with(facts: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {number}" for name, number in facts["packages"].items())
    return (
        f"{facts['date']}, {facts['machine']}, Python {facts['python']}, {packages}, "
        f"{facts['wrk']}; {facts.get('priority', 'ordinary')} priority, load of the machine at the "
        f"end {facts['load']}."
    )


def page(record: dict[str, Any]) -> str:
    """README.md."""
    return "\n".join([_HEAD, *_compared(record["compare"]), *_rest(record)])


def _compared(parts: dict[str, Any]) -> Iterator[str]:
    names = {
        "service": "service",
        "insert": "insert",
        "hello": "hello",
        "with_rewards": "service, decisions and rewards alternately",
    }
    for kind, part in parts.items():
        yield f"## {_KINDS[kind]}\n"
        yield "| server | requests per second | p50 | p99 | CPU per request | CPU of the database |"
        yield "|---|---|---|---|---|---|"
        for name, shown in names.items():
            run = part[name]
            speed = run["requests"] / run["seconds"]
            database = f"{run['database_cpu_us']:.0f} µs" if run["database_cpu_us"] else "–"
            yield (
                f"| {shown} | {speed:,.0f} | {run['p50_ms']:.1f} ms | {run['p99_ms']:.1f} ms "
                f"| {run['cpu_us']:.0f} µs | {database} |"
            )
        turns = ", ".join(f"{ratio:.2f}" for ratio in part["ratios"])
        verdict = "reached" if part["ratio"] >= 0.7 else "not reached"
        yield (
            f"\nDecisions per second ÷ inserts per second: **{part['ratio']:.2f}** "
            f"(turns: {turns}; target 0.7, {verdict}). "
            f"Memory of the service afterwards: {part['memory_megabytes']:.0f} MB.\n"
        )
        yield _with(part) + "\n"


_KINDS = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


def _rest(record: dict[str, Any]) -> Iterator[str]:
    if "subjects" in record:
        yield "## A million subjects stored\n"
        yield "| database | subjects | p99 with 1,000 | p99 with all | ratio (≤ 1.5) | per second |"
        yield "|---|---|---|---|---|---|"
        for kind, part in record["subjects"].items():
            few, many = part["p99_ms"]
            slow, fast = part["per_second"][1], part["per_second"][0]
            yield (
                f"| {_KINDS[kind]} | {part['subjects']:,} | {few:.1f} ms | {many:.1f} ms "
                f"| {part['ratio']:.2f} | {fast:,.0f} and {slow:,.0f} |"
            )
        yield "\nDecisions and their rewards alternately, with the same stored subjects:\n"
        yield "| database | requests per second with 1,000 | with all | ratio (≥ 0.9) | turns |"
        yield "|---|---|---|---|---|"
        for kind, part in record["subjects"].items():
            few, many = part["with_rewards_per_second"]
            turns = ", ".join(f"{ratio:.2f}" for ratio in part["with_rewards_ratios"])
            ratio = part["with_rewards_ratio"]
            yield f"| {_KINDS[kind]} | {few:,.0f} | {many:,.0f} | {ratio:.2f} | {turns} |"
        yield "\n" + _with(next(iter(record["subjects"].values()))) + "\n"
    if "client" in record:
        yield "## The Python client\n"
        yield (
            "32 tasks of one `AsyncClient` in one process request decisions and send their "
            "rewards, until the count is reached; no call fails. The client uses more CPU time "
            "than the service.\n"
        )
        yield "| database | decisions | decisions with rewards per second | p50 | p99 |"
        yield "|---|---|---|---|---|"
        for kind, part in record["client"].items():
            yield (
                f"| {_KINDS[kind]} | {part['decisions']:,} | {part['per_second']:,.0f} "
                f"| {part['p50_ms']:.1f} ms | {part['p99_ms']:.1f} ms |"
            )
        yield "\n" + _with(next(iter(record["client"].values()))) + "\n"
