"""Ask a running service for decisions, from a program that needs nothing else of the library.

The clients know HTTP and the errors; they import no policy, no structure and no numpy.

>>> from structuredbandits.client import Client
>>> client = Client("http://127.0.0.1:8000", key="sb_secret")
>>> client
Client('http://127.0.0.1:8000', key=...)
>>> client.close()
"""

from __future__ import annotations

from structuredbandits.client.asynchronous import AsyncClient
from structuredbandits.client.records import (
    Correction,
    Decision,
    Experiment,
    Page,
    Reward,
    Subject,
)
from structuredbandits.client.retries import Retries
from structuredbandits.client.sync import Client

__all__ = [
    "AsyncClient",
    "Client",
    "Correction",
    "Decision",
    "Experiment",
    "Page",
    "Retries",
    "Reward",
    "Subject",
]
