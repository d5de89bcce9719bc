"""The route that confirms a large deletion by retention."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from structuredbandits.service.api.authorization import (
    GuardedRoute,
    MayAdminister,
    ServiceOf,
    documented,
)
from structuredbandits.service.api.experiments import ExperimentPath
from structuredbandits.service.api.responses import error_responses
from structuredbandits.service.jobs.retention import confirm_retention

router = APIRouter(
    prefix="/v1/experiments/{experiment}/retention",
    tags=["subjects"],
    dependencies=[documented],
    route_class=GuardedRoute,
)


@router.post("/confirm", status_code=204, responses=error_responses(), response_class=Response)
async def confirm(experiment: ExperimentPath, service: ServiceOf, grant: MayAdminister) -> Response:
    """Confirm that retention may delete any share of the subjects, for an hour.

    Without it, a round that would delete more than `--retention-share` of them deletes nothing:
    more likely a clock or `retention_days` is wrong. The log says when that happens.
    """
    await service.change(lambda c: confirm_retention(c, service.database, experiment, grant.id))
    service.refused_retention.pop(experiment, None)
    return Response(status_code=204)
