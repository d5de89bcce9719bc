"""The route of the audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from structuredbandits.service.api import models
from structuredbandits.service.api.authorization import (
    GuardedRoute,
    MayAdminister,
    ServiceOf,
    documented,
)
from structuredbandits.service.api.responses import answer, error_responses
from structuredbandits.service.errors import unknown_experiment
from structuredbandits.service.reporting.audit_log import read_audit

router = APIRouter(
    prefix="/v1/audit", tags=["audit"], dependencies=[documented], route_class=GuardedRoute
)


@router.get(
    "", responses=error_responses() | {200: {"model": models.AuditLines}}, response_class=Response
)
async def list_audit(
    service: ServiceOf,
    grant: MayAdminister,
    experiment: Annotated[
        models.ExperimentName | None, Query(description="Only lines of this experiment.")
    ] = None,
    after: Annotated[
        int, Query(ge=0, le=2**62, description="The number of the last line that is known.")
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="Maximum number of lines.")] = 100,
) -> Response:
    """Read the audit log, the oldest lines first: changes of experiments, keys and rewards.

    A key for one experiment reads the lines of this experiment.
    """
    if experiment is not None and grant.experiment not in (None, experiment):
        raise unknown_experiment(experiment)
    wanted = grant.experiment or experiment
    lines = await service.read(lambda c: read_audit(c, wanted, after, limit))
    last = lines[-1]["number"] if len(lines) == limit else None
    return answer({"lines": lines, "next": last})
