"""The Prometheus metrics of a running service."""

from __future__ import annotations

import time

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

_SECONDS = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024)


class Metrics:
    """Counters and histograms of one service, in a registry of its own.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.request("GET", "/livez", 200, 0.001)
    >>> b'structuredbandits_requests_total{method="GET"' in metrics.text(0)
    True
    """

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.registry = CollectorRegistry()
        self._known: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        name = "structuredbandits"
        self._requests = Counter(
            f"{name}_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            f"{name}_request_seconds",
            "Time to answer a request.",
            ["route"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._groups = Histogram(
            f"{name}_transaction_orders",
            "Commands done in one transaction.",
            buckets=_SIZES,
            registry=self.registry,
        )
        self._commits = Histogram(
            f"{name}_transaction_seconds",
            "Time of a transaction with its durable commit.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._waiting = Gauge(
            f"{name}_orders_waiting", "Commands in the queue.", registry=self.registry
        )
        self.decisions = Counter(
            f"{name}_decisions",
            "Decisions answered.",
            ["experiment", "kind"],
            registry=self.registry,
        )
        self.rewards = Counter(
            f"{name}_rewards", "Rewards taken.", ["status"], registry=self.registry
        )

        self.ready = Gauge(
            f"{name}_ready", "Whether a write succeeds now: 1 or 0.", registry=self.registry
        )
        self.reads_waiting = Gauge(
            f"{name}_reads_waiting", "Reads that run or wait.", registry=self.registry
        )
        self.database_errors = Counter(
            f"{name}_database_errors",
            "Errors of the database: SQLite's name or PostgreSQL's SQLSTATE.",
            ["code"],
            registry=self.registry,
        )
        self.transactions_failed = Counter(
            f"{name}_transactions_failed",
            "Transactions that failed and were not repeated with success.",
            registry=self.registry,
        )
        ProcessCollector(registry=self.registry)  # memory and CPU time of the process
        self.deletions = Counter(
            f"{name}_deletions",
            "Subjects deleted: by request or by retention.",
            ["kind"],
            registry=self.registry,
        )

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        key = (method, route, status)
        found = self._known.get(key)
        if found is None:  # routes and statuses are few; looking labels up is slow
            found = self._requests.labels(method, route, str(status)), self._seconds.labels(route)
            self._known[key] = found
        found[0].inc()
        found[1].observe(seconds)

    def group(self, size: int, seconds: float) -> None:
        """Count a transaction."""
        self._groups.observe(size)
        self._commits.observe(seconds)

    def transaction_failed(self, code: str | None) -> None:
        """Count a transaction that failed, and the error of the database if it was one."""
        self.transactions_failed.inc()
        if code is not None:
            self.database_errors.labels(code).inc()

    def text(self, waiting: int) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        self._waiting.set(waiting)
        return bytes(generate_latest(self.registry))
