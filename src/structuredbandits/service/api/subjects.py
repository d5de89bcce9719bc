"""Routes of subjects: somebody anonymous, with what is known of her."""

from __future__ import annotations

import secrets
from typing import Annotated

from fastapi import APIRouter, Path, Query
from sqlalchemy import Connection
from starlette.responses import Response

from structuredbandits.service import subjects as use
from structuredbandits.service.answers import timestamp
from structuredbandits.service.api import models
from structuredbandits.service.api.access import (
    GuardedRoute,
    MayAdminister,
    MayDecide,
    MayRead,
    ServiceOf,
    documented,
)
from structuredbandits.service.api.answers import answer, refusals
from structuredbandits.service.api.experiments import ExperimentPath
from structuredbandits.service.departures import Who, erase_some
from structuredbandits.service.orders import AddSubject
from structuredbandits.service.upkeep import PATIENCE_SECONDS

router = APIRouter(
    prefix="/v1/experiments/{experiment}/subjects",
    tags=["subjects"],
    dependencies=[documented],
    route_class=GuardedRoute,
)
SubjectPath = Annotated[models.SubjectName, Path(description="The subject's id.")]
Limit = Annotated[int, Query(ge=1, le=1000, description="Rows at the most.")]


@router.post(
    "",
    status_code=201,
    responses=refusals() | {201: {"model": models.SubjectBrief}},
    response_class=Response,
)
async def create_subject(
    experiment: ExperimentPath,
    service: ServiceOf,
    grant: MayDecide,
    body: models.NewSubject | None = None,
) -> Response:
    """Make a subject; without an id of yours it gets one."""
    await service.experiment(experiment)
    chosen = body.subject if body is not None and body.subject is not None else None
    name = chosen or secrets.token_urlsafe(12)
    (member,) = await service.write([AddSubject(experiment, name)])
    if isinstance(member, BaseException):
        raise member
    content = {
        "subject": name,
        "structure_version": member.version,
        "decided": member.state.decided,
        "received": member.state.received,
        "created": timestamp(member.created),
    }
    return answer(content, 201)


@router.get(
    "", responses=refusals() | {200: {"model": models.SubjectList}}, response_class=Response
)
async def list_subjects(
    experiment: ExperimentPath,
    service: ServiceOf,
    grant: MayRead,
    limit: Limit = 100,
    after: Annotated[
        models.Name | None, Query(description="The `next` of the page before.")
    ] = None,
) -> Response:
    """List subjects, page by page, in the order of their ids."""
    return answer(await service.read(lambda c: use.list_subjects(c, experiment, after, limit)))


@router.get(
    "/{subject}",
    responses=refusals() | {200: {"model": models.SubjectAnswer}},
    response_class=Response,
)
async def get_subject(
    experiment: ExperimentPath, subject: SubjectPath, service: ServiceOf, grant: MayRead
) -> Response:
    """Show a subject: counts, means, plausible θ, competitive arms, fit of the structure."""
    return answer(
        await service.read(
            lambda c: use.describe_subject(c, service.catalogue, experiment, subject)
        )
    )


@router.get(
    "/{subject}/steps",
    responses=refusals() | {200: {"model": models.StepsAnswer}},
    response_class=Response,
)
async def get_steps(
    experiment: ExperimentPath,
    subject: SubjectPath,
    service: ServiceOf,
    grant: MayRead,
    limit: Limit = 200,
    after: Annotated[int, Query(ge=0, le=2**31 - 1, description="A round.")] = 0,
) -> Response:
    """Show a subject's decisions one by one, with what was plausible at each."""
    return answer(
        await service.read(
            lambda c: use.subject_steps(c, service.catalogue, experiment, subject, after, limit)
        )
    )


@router.delete("/{subject}", status_code=204, responses=refusals(), response_class=Response)
async def delete_subject(
    experiment: ExperimentPath, subject: SubjectPath, service: ServiceOf, grant: MayAdminister
) -> Response:
    """Delete a subject and all its data: gone at once, and 204 when no row is left.

    One with very many decisions may take longer than a request may. Then the answer is a 503, the
    deletion goes on, and a repeated request waits for its end.
    """
    who = Who(experiment, subject)

    def leave(connection: Connection) -> int | None:
        return use.delete_subject(connection, experiment, subject, grant.id)

    def erase(connection: Connection) -> bool:
        service.database.be_patient(connection)
        return erase_some(connection, who)

    async def work() -> None:
        number = await service.change(leave, PATIENCE_SECONDS)
        if number is not None:
            service.desk.numbers.forget({number})
        while await service.change(erase, PATIENCE_SECONDS):
            pass

    await service.together(("delete", *who), work)
    return Response(status_code=204)
