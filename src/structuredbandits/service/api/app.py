"""The FastAPI app: all routes, pages and middleware around one service."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.types import ASGIApp

from structuredbandits._version import __version__
from structuredbandits.service.api import (
    audit,
    decisions,
    events,
    experiments,
    health,
    keys,
    ofrep,
    retention,
    rewards,
    subjects,
)
from structuredbandits.service.api import docs_page as reference
from structuredbandits.service.api.cors import Preflights
from structuredbandits.service.api.middleware import FastRoutes, RequestMiddleware
from structuredbandits.service.api.responses import install
from structuredbandits.service.runtime import Service
from structuredbandits.service.settings import ServiceSettings
from structuredbandits.service.web.pages import add_pages

_DESCRIPTION = """\
Decide well, from the first interactions, for someone you know nothing about.

An **experiment** is a structure, a policy and settings. A **subject** is an anonymous visitor. Ask
for a **decision**, show its arm, and send its **reward**: immediately, late, or in any order.
Every write is stored durably before it is answered. Repeat a request with the same
`Idempotency-Key` and you get the same decision; repeated rewards are counted once.
"""


def operation_id(route: APIRoute) -> str:
    """Return the name of an operation in generated clients, such as ``listExperiments``."""
    first, *others = route.name.split("_")
    return first + "".join(word.capitalize() for word in others)


def create_app(settings: ServiceSettings, service: Service | None = None) -> FastAPI:
    """Make the app.

    Parameters
    ----------
    settings
        How the service is run.
    service
        The service behind the app; a new one if left out.
    """
    # The lab's routes use this package, so they cannot be imported with it.
    from structuredbandits.service.lab.router import router as lab

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
        openapi_url=None,  # its own route sends it from memory
        generate_unique_id_function=operation_id,
    )
    app.state.service = behind
    install(app)
    for module in (
        experiments,
        subjects,
        retention,
        decisions,
        rewards,
        events,
        keys,
        audit,
        ofrep,
        health,
        reference,
    ):
        app.include_router(module.router)
    add_pages(app)
    app.include_router(lab)
    limits = settings.limits
    endpoints = (decisions.make_decision, rewards.put_reward)
    busiest = [
        route
        for route in (*decisions.router.routes, *rewards.router.routes)
        if isinstance(route, APIRoute) and route.endpoint in endpoints
    ]

    def gated(inner: ASGIApp) -> ASGIApp:
        return RequestMiddleware(
            FastRoutes(Preflights(inner), app, busiest),
            behind.metrics,
            limits.body_bytes,
            settings.insecure,
            settings.log_requests,
        )

    app.add_middleware(gated)
    return app
