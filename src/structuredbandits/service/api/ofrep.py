"""Routes of the OpenFeature Remote Evaluation Protocol: experiments are flags, arms variants."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy import Connection, select
from starlette.exceptions import HTTPException
from starlette.responses import Response

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.service.api import ofrep_models as models
from structuredbandits.service.api.authorization import (
    GuardedRoute,
    PublicDecide,
    ServiceOf,
    TokenSubject,
    documented,
)
from structuredbandits.service.api.decisions import decide
from structuredbandits.service.api.experiments import ExperimentPath
from structuredbandits.service.api.public_access import check_subject
from structuredbandits.service.api.responses import answer, error_responses, to_request_error
from structuredbandits.service.decisions.commands import Decide
from structuredbandits.service.errors import RequestError
from structuredbandits.service.runtime import Service
from structuredbandits.service.storage import tables

# A bulk evaluation decides in every experiment that the key can access.
_MOST_FLAGS = 100
# Statuses that mean the same with and without the protocol: its clients read only these.
_PLAIN = (401, 403, 413, 429, 503)


class OfrepRoute(GuardedRoute):
    """A route whose errors have the protocol's form."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers a request."""
        inner = super().get_route_handler()

        async def answered(request: Request) -> Response:
            key = request.path_params.get("experiment")
            try:
                return await inner(request)
            except RequestValidationError as error:
                return answer(*_invalid(key, error))
            except HTTPException as error:  # a body that is not UTF-8
                if error.status_code != 400:
                    raise
                return answer(_failure(key, "PARSE_ERROR", str(error.detail)[:300]), 400)
            except StructuredBanditsError as error:
                found = to_request_error(error)
                if found.status in _PLAIN:
                    raise
                return answer(failure(key, found), 404 if found.status == 404 else 400)

        return answered


def failure(key: str | None, error: RequestError) -> dict[str, Any]:
    """Return an error in the protocol's form."""
    code = {404: "FLAG_NOT_FOUND", 422: "INVALID_CONTEXT"}.get(error.status, "GENERAL")
    details = f"{error.message} {error.remedy}" if error.remedy else error.message
    return _failure(key, code, details)


def _failure(key: str | None, code: str, details: str) -> dict[str, Any]:
    content = {"errorCode": code, "errorDetails": details}
    return content if key is None else {"key": key[:80]} | content


def _invalid(key: str | None, error: RequestValidationError) -> tuple[dict[str, Any], int]:
    """Return the answer to a request that does not fit its model, and its status."""
    first = error.errors()[0]
    place = first["loc"]
    if place[0] == "path":  # an experiment cannot have this ID
        return _failure(key, "FLAG_NOT_FOUND", f"there is no experiment {key!r:.80}."), 404
    within = place[1:2] == ("context",)
    if (within and place[2:3] == ("targetingKey",)) or (place[1:] == ("context",)):
        code = "TARGETING_KEY_MISSING" if first["type"] == "missing" else "INVALID_CONTEXT"
    else:
        code = "INVALID_CONTEXT" if within else "PARSE_ERROR"
    where = ".".join(str(part) for part in place)
    return _failure(key, code, f"{where[:200]}: {str(first['msg'])[:300]}."), 400


async def evaluate(
    service: Service, experiment: str, context: models.EvaluationContext, key: str | None
) -> dict[str, Any]:
    """Return a subject's pending decision, or a new one, as the evaluation of a flag."""
    arms = None if context.arms is None else tuple(context.arms)
    command = Decide(experiment, context.targetingKey, arms, sticky=True)
    (result,) = await decide(service, [command], key)
    if isinstance(result, BaseException):
        raise result
    made = result[1]
    metadata = {name: made[name] for name in ("probability", "structure_version", "stored")}
    return {
        "key": experiment,
        "reason": "SPLIT",
        "variant": made["arm"],
        "value": made.get("payload", made["arm"]),
        "metadata": metadata if made["id"] is None else {"decision": made["id"]} | metadata,
    }


_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": models.EvaluationFailure, "description": "The flag cannot be evaluated."},
    404: {"model": models.EvaluationFailure, "description": "There is no such experiment."},
}
router = APIRouter(
    prefix="/ofrep/v1/evaluate/flags",
    tags=["openfeature"],
    dependencies=[documented],
    route_class=OfrepRoute,
)


@router.post(
    "/{experiment}",
    responses=error_responses() | _ERRORS | {200: {"model": models.EvaluationSuccess}},
    response_class=Response,
)
async def evaluate_flag(
    experiment: ExperimentPath,
    body: models.EvaluationRequest,
    service: ServiceOf,
    grant: PublicDecide,
    named: TokenSubject,
) -> Response:
    """Evaluate a flag: the subject's pending decision for `sticky_seconds`, then a new one."""
    check_subject(service, grant, named, body.context.targetingKey)
    return answer(await evaluate(service, experiment, body.context, grant.id))


@router.post(
    "",
    responses=error_responses()
    | _ERRORS
    | {
        200: {"model": models.BulkEvaluation, "description": "The flags; ETag is their digest."},
        304: {"description": "The flags are those of If-None-Match.", "model": None},
    },
    response_class=Response,
)
async def evaluate_flags(
    body: models.EvaluationRequest,
    service: ServiceOf,
    grant: PublicDecide,
    named: TokenSubject,
    if_none_match: Annotated[
        str | None, Header(max_length=1000, description="The ETag of an earlier answer.")
    ] = None,
) -> Response:
    """Evaluate all running experiments that the key can access."""
    check_subject(service, grant, named, body.context.targetingKey)
    names = await service.read(lambda connection: _running(connection, grant.experiment))
    if len(names) > _MOST_FLAGS:
        raise RequestError(
            409,
            "too_many_experiments",
            f"more than {_MOST_FLAGS} experiments are running.",
            "Use a key for one experiment, or evaluate the flags one by one.",
        )
    flags = await asyncio.gather(
        *(_one_of_many(service, name, body.context, grant.id) for name in names)
    )
    content = orjson.dumps({"flags": flags})
    etag = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
    if if_none_match is not None and etag in if_none_match:
        return Response(status_code=304, headers={"ETag": etag})
    return Response(content, headers={"ETag": etag}, media_type="application/json")


async def _one_of_many(
    service: Service, experiment: str, context: models.EvaluationContext, key: str | None
) -> dict[str, Any]:
    try:
        return await evaluate(service, experiment, context, key)
    except StructuredBanditsError as error:
        found = to_request_error(error)
        if found.status in _PLAIN:
            raise
        return failure(experiment, found)


def _running(connection: Connection, only: str | None) -> list[str]:
    """Return the IDs of running experiments, one more than are evaluated."""
    table = tables.experiments.c
    statement = select(table.id).where(table.state == "running").order_by(table.id)
    if only is not None:
        statement = statement.where(table.id == only)
    return list(connection.execute(statement.limit(_MOST_FLAGS + 1)).scalars())
