"""How a service is run: its database, its limits and its patience.

This module knows numbers and their meaning. It must not know who uses them.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Limits:
    """What one request may ask for, so that nobody can exhaust a service.

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


@dataclass(frozen=True)
class ServiceSettings:
    """Everything that `structuredbandits serve` can be told.

    Parameters
    ----------
    database
        A path or an URL: ``bandits.db``, ``sqlite:///bandits.db``,
        ``postgresql://user@host/name``.
    insecure
        Whether requests need no API key; only for an address of this machine.
    public_metrics
        Whether /metrics needs no key either; it names the experiments.
    queue_length
        Writes that may wait; further ones are refused with 429.
    group_size
        Writes in one transaction at the most.
    writers
        Connections that write, for PostgreSQL; SQLite has one writer.
    request_seconds
        How long a request may take before it is answered with 503.
    statement_seconds, lock_seconds, connect_seconds
        How long the database may take for a statement, a lock, a connection.
    sweep_seconds
        How often deadlines and retention are looked after.
    key_seconds, key_outage_seconds
        How long a revoked key may still work: while the database answers, and while it does not.
    log_requests
        Whether every request is a line of the log; otherwise only failures are.
    """

    database: str = "structuredbandits.db"
    insecure: bool = False
    public_metrics: bool = False
    queue_length: int = 4_096
    group_size: int = 256
    writers: int = 1
    readers: int = 4
    request_seconds: float = 5.0
    statement_seconds: float = 4.0
    lock_seconds: float = 2.0
    connect_seconds: float = 3.0
    sweep_seconds: float = 1.0
    key_seconds: float = 5.0
    key_outage_seconds: float = 600.0
    log_requests: bool = False
    limits: Limits = field(default_factory=Limits)
