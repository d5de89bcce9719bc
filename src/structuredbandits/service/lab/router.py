"""The lab over HTTP: `/v1/lab/problems`, `/v1/lab/structures`, `/v1/lab/runs`.

Every request is answered from its own body; one run is computed at a time, so that the lab never
takes more than one core from the decisions beside it. This module must not know storage.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from threading import BoundedSemaphore
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.exceptions import RequestValidationError
from fastapi.requests import Request
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute

from structuredbandits.errors import InvalidInput
from structuredbandits.service.lab import runs, structures
from structuredbandits.service.lab.looks import arm_look, policy_look
from structuredbandits.service.lab.models import (
    Looks,
    PolicyName,
    Problems,
    RunAnswer,
    RunRequest,
    StructureAnswer,
    StructureRequest,
)

LARGEST_BODY = 256 * 1024

_FORMS = ("body", "named", "drawn")
_one_at_a_time = BoundedSemaphore(1)


class Busy(Exception):
    """Somebody else's run is being computed."""


class _LabRoute(APIRoute):
    """Answers every mistake with one sentence, also where the lab is mounted alone."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                if len(await request.body()) > LARGEST_BODY:
                    return refusal(
                        413,
                        "too_large",
                        f"the request is larger than {LARGEST_BODY} bytes; draw fewer breakpoints.",
                    )
                return await inner(request)
            except Busy:
                return refusal(
                    429,
                    "busy",
                    "the lab is computing another run; try again in a second.",
                    {"Retry-After": "1"},
                )
            except RequestValidationError as problem:
                return refusal(422, "invalid", sentence_of(problem))
            except InvalidInput as problem:
                return refusal(422, "invalid", str(problem))

        return answer


router = APIRouter(prefix="/v1/lab", tags=["lab"], route_class=_LabRoute)


def refusal(
    status: int, code: str, message: str, headers: dict[str, str] | None = None
) -> JSONResponse:
    """Return an error in the form that the whole service uses."""
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers)


def sentence_of(problem: RequestValidationError) -> str:
    """Say the first thing that is wrong with a request, and where."""
    first = problem.errors()[0]
    parts = [str(part) for part in first["loc"] if part not in _FORMS]
    where = ".".join(parts) or "the request"
    reason = str(first["msg"])
    return f"{where}: {reason[:1].lower()}{reason[1:]}."


@router.get("/looks")
def looks(
    arms: Annotated[int, Query(ge=0, le=1000)] = 0,
    policy: Annotated[list[PolicyName], Query(max_length=20)] = [],  # noqa: B006  FastAPI copies it
) -> Looks:
    """Return the colours and lines of so many arms and of some policies."""
    return Looks(
        arms=[arm_look(position) for position in range(arms)],
        policies={name: policy_look(name) for name in policy},
    )


@router.get("/problems")
def problems() -> Problems:
    """List the structures that come with the library."""
    return Problems(problems=structures.list_problems())


@router.post("/structures")
def structure(asked: StructureRequest) -> StructureAnswer:
    """Return a structure, chosen by name or drawn as breakpoints, ready to be drawn."""
    return structures.show(structures.problem_of(asked.structure))


@router.post("/runs")
def run(asked: RunRequest) -> RunAnswer:
    """Run policies at a hidden θ* on the same luck, and return every round."""
    if not _one_at_a_time.acquire(blocking=False):
        raise Busy
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
