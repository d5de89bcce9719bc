"""Routes of decisions: one, or a batch."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header
from starlette.responses import Response

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.service.api import models
from structuredbandits.service.api.authorization import (
    GuardedRoute,
    MayDecide,
    PublicDecide,
    ServiceOf,
    TokenSubject,
    documented,
)
from structuredbandits.service.api.experiments import ExperimentPath
from structuredbandits.service.api.public_access import check_subject
from structuredbandits.service.api.responses import answer, error_responses, to_request_error
from structuredbandits.service.decisions.commands import Decide
from structuredbandits.service.decisions.costly_decisions import decide_costly
from structuredbandits.service.decisions.fallback import prior_decision
from structuredbandits.service.errors import RequestError
from structuredbandits.service.experiments.stored_experiment import StoredExperiment
from structuredbandits.service.runtime import Service

router = APIRouter(
    prefix="/v1/experiments/{experiment}", tags=["decisions"], route_class=GuardedRoute
)
KeyHeader = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="Repeat a request with the same key to get the same decision.",
    ),
]


async def decide(service: Service, commands: list[Decide], key: str | None = None) -> list[Any]:
    """Return decisions; from the prior if the database fails and the experiment allows it."""
    experiment = await service.experiment(commands[0].experiment)
    has_prior = experiment.settings.on_database_failure == "prior"
    try:
        results = await _write(service, experiment, commands, key)
    except RequestError as error:
        if not (has_prior and _is_unavailable(error)):
            raise
        results = [error] * len(commands)
    if has_prior:
        results = [
            _from_prior(service, experiment, command) if _is_unavailable(result) else result
            for command, result in zip(commands, results, strict=True)
        ]
    _count(service, experiment.id, results)
    return results


async def _write(
    service: Service, experiment: StoredExperiment, commands: list[Decide], key: str | None
) -> list[Any]:
    tenant = (experiment.id, key)
    version = service.experiment_cache.known_version(experiment.id, experiment.version)
    if version is not None and version.chooser.is_costly:
        return await decide_costly(service, experiment, version, commands, tenant)
    repeats = len({command.subject for command in commands}) < len(commands)
    return await service.write_many(commands, tenant, in_order=repeats)


def _is_unavailable(result: Any) -> bool:
    return isinstance(result, RequestError) and result.status == 503


def _from_prior(service: Service, experiment: StoredExperiment, command: Decide) -> Any:
    try:
        return prior_decision(service.experiment_cache, experiment, command)
    except StructuredBanditsError as error:
        return error


def _count(service: Service, experiment: str, results: list[Any]) -> None:
    """Count new decisions, without rejected and repeated ones."""
    new = [result[1]["stored"] for result in results if isinstance(result, tuple) and result[0]]
    for kind, number in (("stored", sum(new)), ("prior", len(new) - sum(new))):
        if number:
            service.metrics.decisions.labels(experiment, kind).inc(number)


@router.post(
    "/decisions",
    status_code=201,
    responses=error_responses(409)
    | {
        200: {"model": models.DecisionAnswer, "description": "The same decision as before."},
        201: {"model": models.DecisionAnswer, "description": "A new decision."},
    },
    response_class=Response,
    dependencies=[documented],
    name="decide",
)
async def make_decision(
    experiment: ExperimentPath,
    body: models.DecisionRequest,
    service: ServiceOf,
    grant: PublicDecide,
    named: TokenSubject,
    idempotency_key: KeyHeader = None,
) -> Response:
    """Choose an arm for a subject, which is created if new."""
    if grant.public is not None:
        check_subject(service, grant, named, body.subject)
    arms = None if body.arms is None else tuple(body.arms)
    command = Decide(experiment, body.subject, arms, idempotency_key)
    (result,) = await decide(service, [command], grant.id)
    if isinstance(result, BaseException):
        raise result
    new, content = result
    status = 201 if new else 200
    return Response(orjson.dumps(content), status, media_type="application/json")


@router.post(
    "/decisions/batch",
    responses=error_responses() | {200: {"model": models.DecisionBatchAnswer}},
    response_class=Response,
    dependencies=[documented],
    name="decide_many",
)
async def make_decisions(
    experiment: ExperimentPath,
    body: models.DecisionBatch,
    service: ServiceOf,
    grant: MayDecide,
) -> Response:
    """Choose an arm for each of many subjects; each has its own answer or error."""
    service.key_use.take(grant, len(body.decisions) - 1)
    commands = [
        Decide(experiment, one.subject, None if one.arms is None else tuple(one.arms), one.key)
        for one in body.decisions
    ]
    results = await decide(service, commands, grant.id)
    return answer({"decisions": [_content(result) for result in results]})


def _content(result: Any) -> dict[str, Any]:
    if isinstance(result, StructuredBanditsError):
        return to_request_error(result).body(in_batch=True)
    content: dict[str, Any] = result[1]
    return content
