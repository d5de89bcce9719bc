"""The app: all routes around one service.

This module knows which routes there are. It must not know what they do.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import AsyncIterator

from fastapi import APIRouter, FastAPI
from starlette.types import ASGIApp

from structuredbandits._version import __version__
from structuredbandits.service.api import (
    decisions,
    events,
    experiments,
    health,
    keys,
    reference,
    rewards,
    subjects,
)
from structuredbandits.service.api.answers import install
from structuredbandits.service.api.gate import Gate
from structuredbandits.service.api.quick import Quick
from structuredbandits.service.runtime import Service
from structuredbandits.service.settings import ServiceSettings

_DESCRIPTION = """\
Decide well, from the first interactions, for someone you know nothing about.

An **experiment** is a structure, a policy and settings. A **subject** is somebody anonymous. Ask
for a **decision**, show its arm, and give back its **reward**: at once, late, or in any order.
Every answer to a write has been stored durably. Repeat a request with the same `Idempotency-Key`
and you get the same decision; repeat a reward and it still counts once.
"""
_PAGES = ("web.pages", "lab.router")


def create_app(settings: ServiceSettings, service: Service | None = None) -> FastAPI:
    """Make the app.

    Parameters
    ----------
    settings
        How the service is run.
    service
        The service to show, if it is there already.
    """
    behind = service or Service(settings)

    @contextlib.asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        behind.start()
        try:
            yield
        finally:
            behind.close()

    app = FastAPI(
        title="structuredbandits",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = behind
    install(app)
    for module in (experiments, subjects, decisions, rewards, events, keys, health, reference):
        app.include_router(module.router)
    for router in _pages():
        app.include_router(router)
    limits = settings.limits

    def gated(inner: ASGIApp) -> ASGIApp:
        return Gate(
            Quick(inner, app),
            behind.measures,
            limits.body_bytes,
            settings.insecure,
            settings.log_requests,
        )

    app.add_middleware(gated)
    return app


def _pages() -> list[APIRouter]:
    """Routers of the console and the lab."""
    found = []
    for name in _PAGES:
        with contextlib.suppress(ModuleNotFoundError):
            found.append(importlib.import_module(f"structuredbandits.service.{name}").router)
    return found
