"""Clients of a running service: `Client` waits for each response, `AsyncClient` is awaited.

They import neither NumPy nor the rest of the library, so that a program that only asks for
decisions starts fast.

>>> from structuredbandits.client import Client
>>> client = Client("http://127.0.0.1:8000", key="sb_secret")
>>> client
Client('http://127.0.0.1:8000', key=...)
>>> client.close()
"""

from __future__ import annotations

from structuredbandits.client._async_client import AsyncClient
from structuredbandits.client._records import (
    Correction,
    Decision,
    Experiment,
    Page,
    Reward,
    Subject,
)
from structuredbandits.client._retry import Retries
from structuredbandits.client._subject_tokens import sign_subject
from structuredbandits.client._sync_client import Client

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
    "sign_subject",
]
