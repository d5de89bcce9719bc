"""How many files of the package a decision over HTTP passes through."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx

from structuredbandits.service.api import create_app
from structuredbandits.service.decisions.chooser import Chooser
from structuredbandits.service.runtime import Service
from structuredbandits.service.settings import ServiceSettings
from tests.journeys import files_entered, follow_new_threads

MOST_FILES = 15
MOST_SERVICE_FILES = 13


def decision_files(database: Path) -> list[str]:
    """Files entered by one decision of a known subject, after a first one."""
    follow_new_threads()
    settings = ServiceSettings(database=str(database), insecure=True, request_seconds=60.0)
    service = Service(settings)
    transport = httpx.ASGITransport(create_app(settings, service))

    async def post(path: str, body: dict[str, object]) -> None:
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            answer = await client.post(path, json=body)
            assert answer.status_code == 201, answer.text

    body = {"id": "shop", "structure": {"problem": "three-arms"}, "policy": "ts-c"}
    asyncio.run(post("/v1/experiments", body))
    decide = "/v1/experiments/shop/decisions", {"subject": "ana"}
    for _ in range(2):
        asyncio.run(post(*decide))
    found = files_entered(lambda: asyncio.run(post(*decide)))
    service.close()
    return found


def test_a_decision_over_http_passes_through_few_files(tmp_path: Path) -> None:
    found = decision_files(tmp_path / "service.db")
    assert Chooser.__module__.replace("structuredbandits.", "").replace(".", "/") + ".py" in found
    assert len(found) <= MOST_FILES, "\n".join(found)
    of_service = [name for name in found if name.startswith("service/")]
    assert len(of_service) <= MOST_SERVICE_FILES, "\n".join(of_service)
