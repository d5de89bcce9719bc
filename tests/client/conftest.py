"""A mock service that returns scripted responses and records the requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from structuredbandits.client import AsyncClient, Client, Retries

URL = "http://service.test"
KEY = "sb_0123456789abcdef"

#: Retries with short waits, so that the tests are fast.
QUICK = Retries(attempts=4, first_wait_seconds=0.001, longest_wait_seconds=0.002)

Answer = httpx.Response | type[httpx.TransportError]


class Script:
    """Returns the responses in order, and the last one forever."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, httpx.Response):
            return httpx.Response(
                answer.status_code, headers=answer.headers, content=answer.content
            )
        raise answer("scripted", request=request)


class Both:
    """One interface to the sync and the async client: each test runs with both."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def run(
        self,
        script: Script,
        name: str,
        *args: Any,
        answer: Callable[[httpx.Request], httpx.Response] | None = None,
        **options: Any,
    ) -> Any:
        """Make one call with a new client."""
        transport = httpx.MockTransport(answer or script)
        if self.kind == "sync":
            with Client(URL, KEY, retries=QUICK, transport=transport) as client:
                return getattr(client, name)(*args, **options)

        async def ask() -> Any:
            async with AsyncClient(URL, KEY, retries=QUICK, transport=transport) as client:
                return await getattr(client, name)(*args, **options)

        return asyncio.run(ask())


@pytest.fixture(params=["sync", "async"])
def both(request: pytest.FixtureRequest) -> Both:
    return Both(request.param)


@pytest.fixture
def script() -> Callable[..., Script]:
    return Script
