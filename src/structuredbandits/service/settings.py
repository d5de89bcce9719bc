"""The settings and limits of a running service."""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Limits:
    """Limits of one request, so that no client can exhaust a service.

    Examples
    --------
    >>> Limits().batch_items
    1000
    """

    body_bytes: int = 8_000_000  # a structure of a million means fits
    batch_items: int = 1_000
    name_length: int = 200  # of subjects and keys
    arms: int = 1_000
    means: int = 5_000_000  # parameters × arms of one structure
    page: int = 1_000  # rows of a list; exports may have more
    export_rows: int = 50_000


# Files that a process needs besides connections: database, log, pipes of workers, and a burst of
# connections that are accepted before the oldest are closed.
_OTHER_FILES = 256
_FEWEST_CONNECTIONS = 16


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits of the connections of one process.

    Parameters
    ----------
    connections
        In all; fewer if the process may open fewer files.
    per_address
        From one address of a client; half of all if None. A proxy is one address.
    header_bytes
        Of one request: its first line and headers.
    header_seconds, body_seconds
        In which a client has to send them.
    stalled_seconds
        In which a client has to read a part of its answer.

    Examples
    --------
    >>> ConnectionLimits(connections=100).of_one_address
    50
    """

    connections: int = 4_096
    per_address: int | None = None
    header_bytes: int = 65_536
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    stalled_seconds: float = 30.0

    @property
    def of_one_address(self) -> int:
        """Connections from one address."""
        return self.per_address or max(1, self.connections // 2)

    def within(self, files: int) -> ConnectionLimits:
        """The same limits in a process that may open this many files.

        Examples
        --------
        >>> ConnectionLimits().within(1024).connections
        768
        """
        most = max(_FEWEST_CONNECTIONS, files - _OTHER_FILES)
        return replace(self, connections=min(self.connections, most))


@dataclass(frozen=True)
class ServiceSettings:
    """The settings of `structuredbandits serve`.

    Parameters
    ----------
    database
        A path or a URL: ``bandits.db``, ``sqlite:///bandits.db``,
        ``postgresql://user@host/name``.
    insecure
        Whether requests need no API key; only for an address of this machine.
    public_metrics
        Whether /metrics needs no key either; it names the experiments.
    queue_length
        Writes that may wait; further ones are rejected with 429.
    group_size
        Maximum number of writes per transaction.
    writers
        Connections that write, for PostgreSQL; SQLite has one writer.
    request_seconds
        How long a request may take before it is answered with 503.
    decision_seconds
        CPU time of one decision; an experiment that needs more is refused when it is created.
    statement_seconds, lock_seconds, connect_seconds
        How long the database may take for a statement, a lock, a connection.
    sweep_seconds
        How often the background jobs run.
    retention_share
        The share of an experiment's subjects that retention deletes in one round; more needs a
        confirmation.
    drain_seconds
        How long the service still answers after SIGTERM, while it is reported as not ready.
    key_seconds, key_outage_seconds
        How long a revoked key may still work: while the database answers, and while it does not.
    log_requests
        Whether every request is logged; otherwise only server errors.
    limits, connections
        Limits of requests and of connections.
    """

    database: str = "structuredbandits.db"
    insecure: bool = False
    public_metrics: bool = False
    queue_length: int = 4_096
    group_size: int = 256
    writers: int = 1
    readers: int = 4
    request_seconds: float = 5.0
    decision_seconds: float = 0.5
    statement_seconds: float = 4.0
    lock_seconds: float = 2.0
    connect_seconds: float = 3.0
    sweep_seconds: float = 1.0
    retention_share: float = 0.5
    drain_seconds: float = 0.0
    key_seconds: float = 5.0
    key_outage_seconds: float = 600.0
    log_requests: bool = False
    limits: Limits = field(default_factory=Limits)
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)
