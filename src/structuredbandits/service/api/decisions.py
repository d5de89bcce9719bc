"""Routes of decisions: one, or many at once."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header
from starlette.responses import Response

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.service.api import models
from structuredbandits.service.api.access import GuardedRoute, MayDecide, ServiceOf, documented
from structuredbandits.service.api.answers import answer, refusal_of, refusals
from structuredbandits.service.api.experiments import ExperimentPath
from structuredbandits.service.experiments import Experiment
from structuredbandits.service.orders import Decide
from structuredbandits.service.prior import prior_decision
from structuredbandits.service.refusals import Refusal
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


async def decide(service: Service, orders: list[Decide]) -> list[Any]:
    """Answers of decisions; from the prior if the database is away and the experiment says so."""
    experiment = await service.experiment(orders[0].experiment)
    has_prior = experiment.settings.on_database_failure == "prior"
    try:
        results = await service.write(orders)
    except Refusal as refusal:
        if not (has_prior and _is_unavailable(refusal)):
            raise
        results = [refusal] * len(orders)
    if has_prior:
        results = [
            _from_prior(service, experiment, order) if _is_unavailable(result) else result
            for order, result in zip(orders, results, strict=True)
        ]
    _count(service, experiment.id, results)
    return results


def _is_unavailable(result: Any) -> bool:
    return isinstance(result, Refusal) and result.status == 503


def _from_prior(service: Service, experiment: Experiment, order: Decide) -> Any:
    try:
        return prior_decision(service.catalogue, experiment, order)
    except StructuredBanditsError as refusal:
        return refusal


def _count(service: Service, experiment: str, results: list[Any]) -> None:
    """Count what was decided: not what was refused, nor what was answered before."""
    new = [result[1]["stored"] for result in results if isinstance(result, tuple) and result[0]]
    for kind, number in (("stored", sum(new)), ("prior", len(new) - sum(new))):
        if number:
            service.measures.decisions.labels(experiment, kind).inc(number)


@router.post(
    "/decisions",
    status_code=201,
    responses=refusals(409)
    | {
        200: {"model": models.DecisionAnswer, "description": "The same decision as before."},
        201: {"model": models.DecisionAnswer, "description": "A new decision."},
    },
    response_class=Response,
    dependencies=[documented],
)
async def make_decision(
    experiment: ExperimentPath,
    body: models.DecisionRequest,
    service: ServiceOf,
    grant: MayDecide,
    idempotency_key: KeyHeader = None,
) -> Response:
    """Choose an arm for a subject, who is made if new."""
    return await decide_one(service, experiment, body, idempotency_key)


async def decide_one(
    service: Service, experiment: str, body: models.DecisionRequest, key: str | None
) -> Response:
    """The answer to a request for one decision."""
    arms = None if body.arms is None else tuple(body.arms)
    (result,) = await decide(service, [Decide(experiment, body.subject, arms, key)])
    if isinstance(result, BaseException):
        raise result
    new, content = result
    return answer(content, 201 if new else 200)


@router.post(
    "/decisions/batch",
    responses=refusals() | {200: {"model": models.DecisionBatchAnswer}},
    response_class=Response,
    dependencies=[documented],
)
async def make_decisions(
    experiment: ExperimentPath,
    body: models.DecisionBatch,
    service: ServiceOf,
    grant: MayDecide,
) -> Response:
    """Choose an arm for each of many subjects; each has its own answer or error."""
    orders = [
        Decide(experiment, one.subject, None if one.arms is None else tuple(one.arms), one.key)
        for one in body.decisions
    ]
    results = await decide(service, orders)
    return answer({"decisions": [_content(result) for result in results]})


def _content(result: Any) -> dict[str, Any]:
    if isinstance(result, StructuredBanditsError):
        return refusal_of(result).body(in_batch=True)
    content: dict[str, Any] = result[1]
    return content
