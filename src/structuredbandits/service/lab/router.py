"""The routes of the lab: `/v1/lab/problems`, `/v1/lab/structures`, `/v1/lab/runs`, `/v1/lab/looks`.

Every response is computed from the request alone, in a process of its own with a small queue, so
that the lab takes no time from the decisions.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from structuredbandits.service.api.authorization import GuardedRoute, Needs, ServiceOf, documented
from structuredbandits.service.api.responses import error_responses
from structuredbandits.service.lab import lab_work as work
from structuredbandits.service.lab.appearance import arm_look, policy_look
from structuredbandits.service.lab.lab_models import (
    LabStructureAnswer,
    Looks,
    PolicyName,
    Problems,
    RunAnswer,
    RunRequest,
    StructureRequest,
)

# A run shows no stored data, but uses the processor: the scope is for people, not for web pages.
router = APIRouter(
    prefix="/v1/lab",
    tags=["lab"],
    responses=error_responses(),
    dependencies=[documented, Depends(Needs("read"))],
    route_class=GuardedRoute,
)


@router.get("/looks")
def looks(
    arms: Annotated[int, Query(ge=0, le=1000, description="How many arms.")] = 0,
    policy: Annotated[list[PolicyName], Query(max_length=20, description="A policy's name.")] = [],  # noqa: B006  FastAPI copies it
) -> Looks:
    """Return the colours and line styles of arms and policies."""
    return Looks(
        arms=[arm_look(position) for position in range(arms)],
        policies={name: policy_look(name) for name in policy},
    )


@router.get("/problems", response_model=Problems)
async def problems(service: ServiceOf) -> Response:
    """List the structures included in the library."""
    return _json(await service.lab.call(work.problems_json))


@router.post("/structures", response_model=LabStructureAnswer)
async def structure(asked: StructureRequest, service: ServiceOf) -> Response:
    """Return a structure, chosen by name or drawn as breakpoints, ready to be drawn."""
    return _json(await service.lab.call(work.structure_json, asked.model_dump_json()))


@router.post("/runs", response_model=RunAnswer)
async def run(asked: RunRequest, service: ServiceOf) -> Response:
    """Run policies at a hidden θ* with identical simulated rewards, and return every round."""
    return _json(await service.lab.call(work.run_json, asked.model_dump_json()))


def _json(content: str) -> Response:
    return Response(content, media_type="application/json")
