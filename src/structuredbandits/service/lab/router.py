"""The routes of the lab: `/v1/lab/problems`, `/v1/lab/structures`, `/v1/lab/runs`, `/v1/lab/looks`.

Every response is computed from the request alone. One run is computed at a time, so that the lab
never takes more than one core from the decisions.
"""

from __future__ import annotations

from threading import BoundedSemaphore
from typing import Annotated

from fastapi import APIRouter, Query

from structuredbandits.service.api.authorization import GuardedRoute, any_key, documented
from structuredbandits.service.api.responses import error_responses
from structuredbandits.service.errors import RequestError
from structuredbandits.service.lab import lab_runs as runs
from structuredbandits.service.lab import lab_structures as structures
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

_one_at_a_time = BoundedSemaphore(1)

# Any key is enough: a run uses the processor, but shows no stored data.
router = APIRouter(
    prefix="/v1/lab",
    tags=["lab"],
    responses=error_responses(),
    dependencies=[documented, any_key],
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


@router.get("/problems")
def problems() -> Problems:
    """List the structures included in the library."""
    return Problems(problems=structures.list_problems())


@router.post("/structures")
def structure(asked: StructureRequest) -> LabStructureAnswer:
    """Return a structure, chosen by name or drawn as breakpoints, ready to be drawn."""
    return structures.show(structures.problem_of(asked.structure))


@router.post("/runs")
def run(asked: RunRequest) -> RunAnswer:
    """Run policies at a hidden θ* with identical simulated rewards, and return every round."""
    if not _one_at_a_time.acquire(blocking=False):
        raise RequestError(
            429, "busy", "the lab is computing another run.", "Try again in a second.", 1
        )
    try:
        return runs.run(
            structures.problem_of(asked.structure),
            tuple(asked.theta) if isinstance(asked.theta, list) else asked.theta,
            asked.policies,
            rounds=asked.rounds,
            seed=asked.seed,
        )
    finally:
        _one_at_a_time.release()
