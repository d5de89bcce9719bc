"""Routes for operators: liveness, readiness and metrics."""

from __future__ import annotations

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from structuredbandits._version import __version__
from structuredbandits.service.api.authorization import (
    ServiceOf,
    documented,
    needs_everything,
    require,
)
from structuredbandits.service.api.models import ErrorAnswer
from structuredbandits.service.api.responses import answer, error_responses
from structuredbandits.service.api.summary_models import StatusAnswer
from structuredbandits.service.errors import unavailable

router = APIRouter(tags=["health"])
_METRICS = {"schema": {"type": "string"}, "example": "structuredbandits_orders_waiting 0.0\n"}


@router.get(
    "/livez",
    response_class=Response,
    responses={200: {"model": StatusAnswer, "description": "Alive."}},
)
async def livez() -> Response:
    """Whether the process answers; the database is not used."""
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
    """Whether a write succeeds now."""
    if not await service.is_ready():
        raise unavailable("it does not accept writes at the moment")
    return answer({"status": "ready", "version": __version__})


@router.get(
    "/metrics",
    response_class=Response,
    responses=error_responses()
    | {200: {"content": {"text/plain": _METRICS}, "description": "Prometheus text."}},
    dependencies=[documented],
)
async def metrics(request: Request, service: ServiceOf) -> Response:
    """Return the metrics for Prometheus, by route and experiment, without subject IDs.

    It needs a key with the scope `read` for all experiments, unless the service was started with
    `--public-metrics`.
    """
    if not service.settings.public_metrics:
        needs_everything(await require(request, "read"))
    return Response(await service.metrics_text(), media_type=CONTENT_TYPE_LATEST)
