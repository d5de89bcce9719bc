"""Routes for whoever runs the service: is it alive, is it ready, what has it counted."""

from __future__ import annotations

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from structuredbandits._version import __version__
from structuredbandits.service.api.access import (
    ServiceOf,
    documented,
    needs_everything,
    require,
)
from structuredbandits.service.api.answers import answer, refusals
from structuredbandits.service.api.figures import StatusAnswer
from structuredbandits.service.api.models import ErrorAnswer
from structuredbandits.service.refusals import unavailable

router = APIRouter(tags=["health"])
_METRICS = {"schema": {"type": "string"}, "example": "structuredbandits_orders_waiting 0.0\n"}


@router.get(
    "/livez",
    response_class=Response,
    responses={200: {"model": StatusAnswer, "description": "Alive."}},
)
async def livez() -> Response:
    """Whether the process answers; it does not ask the database."""
    return answer({"status": "alive", "version": __version__})


@router.get(
    "/readyz",
    response_class=Response,
    responses={
        200: {"model": StatusAnswer, "description": "Ready."},
        503: {"model": ErrorAnswer, "description": "Not ready."},
    },
)
async def readyz(service: ServiceOf) -> Response:
    """Whether a write would be done now."""
    if not await service.is_ready():
        raise unavailable("it does not take writes at the moment")
    return answer({"status": "ready", "version": __version__})


@router.get(
    "/metrics",
    response_class=Response,
    responses=refusals()
    | {200: {"content": {"text/plain": _METRICS}, "description": "Prometheus text."}},
    dependencies=[documented],
)
async def metrics(request: Request, service: ServiceOf) -> Response:
    """Count for Prometheus: routes and experiments, no ids of subjects.

    It needs a key with the scope `read` for all experiments, unless the service was started with
    `--public-metrics`.
    """
    if not service.settings.public_metrics:
        needs_everything(await require(request, "read"))
    return Response(service.measures.text(service.commits.waiting), media_type=CONTENT_TYPE_LATEST)
