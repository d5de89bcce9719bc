"""The request that a piece of code works for: its ID, key and experiment, for the log."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class RequestContext:
    """One request."""

    id: str
    key: str | None = None  # the ID of its API key
    experiment: str | None = None


current_request: ContextVar[RequestContext | None] = ContextVar("current_request", default=None)
