"""Routes of subjects: anonymous visitors, with what is known of each."""

from __future__ import annotations

import logging
import secrets
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BeforeValidator
from sqlalchemy import Connection
from starlette.responses import Response

from structuredbandits.service.api import models
from structuredbandits.service.api.authorization import (
    GuardedRoute,
    MayAdminister,
    MayDecide,
    MayRead,
    ServiceOf,
    documented,
)
from structuredbandits.service.api.escaped_slashes import with_slashes
from structuredbandits.service.api.experiments import ExperimentPath
from structuredbandits.service.api.responses import answer, error_responses
from structuredbandits.service.decisions.commands import AddSubject
from structuredbandits.service.decisions.explanation import timestamp
from structuredbandits.service.jobs.deadlines import JOB_SECONDS
from structuredbandits.service.subjects import deletion
from structuredbandits.service.subjects import description as use
from structuredbandits.service.subjects.deletion import Who, delete_some_rows

_log = logging.getLogger(__name__)
router = APIRouter(
    prefix="/v1/experiments/{experiment}/subjects",
    tags=["subjects"],
    dependencies=[documented],
    route_class=GuardedRoute,
)
SubjectPath = Annotated[
    models.SubjectName,
    BeforeValidator(with_slashes),
    Path(description="The subject's ID; a slash is written as %2F."),
]
Limit = Annotated[int, Query(ge=1, le=1000, description="Maximum number of rows.")]


@router.post(
    "",
    status_code=201,
    responses=error_responses() | {201: {"model": models.SubjectBrief}},
    response_class=Response,
)
async def create_subject(
    experiment: ExperimentPath,
    service: ServiceOf,
    grant: MayDecide,
    body: models.NewSubject | None = None,
) -> Response:
    """Create a subject; without an ID it gets one."""
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
    "", responses=error_responses() | {200: {"model": models.SubjectList}}, response_class=Response
)
async def list_subjects(
    experiment: ExperimentPath,
    service: ServiceOf,
    grant: MayRead,
    limit: Limit = 100,
    after: Annotated[
        models.Name | None, Query(description="The `next` of the previous page.")
    ] = None,
) -> Response:
    """List subjects, page by page, sorted by ID."""
    return answer(await service.read(lambda c: use.list_subjects(c, experiment, after, limit)))


@router.get(
    "/{subject}",
    responses=error_responses() | {200: {"model": models.SubjectAnswer}},
    response_class=Response,
)
async def get_subject(
    experiment: ExperimentPath, subject: SubjectPath, service: ServiceOf, grant: MayRead
) -> Response:
    """Show a subject: counts, means, plausible θ, competitive arms, fit of the structure."""
    return answer(
        await service.read(
            lambda c: use.describe_subject(c, service.experiment_cache, experiment, subject)
        )
    )


@router.get(
    "/{subject}/steps",
    responses=error_responses() | {200: {"model": models.StepsAnswer}},
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
            lambda c: use.subject_steps(
                c, service.experiment_cache, experiment, subject, after, limit
            )
        )
    )


@router.delete("/{subject}", status_code=204, responses=error_responses(), response_class=Response)
async def delete_subject(
    experiment: ExperimentPath, subject: SubjectPath, service: ServiceOf, grant: MayAdminister
) -> Response:
    """Delete a subject and all its data: it is gone at once, and 204 is sent when no row is left.

    A subject with very many decisions may take longer than a request. Then the response is a 503,
    the deletion continues, and a repeated request waits for its end.
    """
    who = Who(experiment, subject)

    def leave(connection: Connection) -> int | None:
        return deletion.delete_subject(connection, experiment, subject, grant.id)

    def erase(connection: Connection) -> bool:
        service.database.be_patient(connection)
        return delete_some_rows(connection, who)

    async def work() -> None:
        number = await service.change(leave, JOB_SECONDS)
        if number is not None:
            service.executor.numbers.forget({number})
            service.metrics.deletions.labels("request").inc()
            _log.info("deleted a subject", extra={"experiment": experiment, "key": grant.id})
        while await service.change(erase, JOB_SECONDS):
            pass

    await service.together(("delete", *who), work)
    return Response(status_code=204)
