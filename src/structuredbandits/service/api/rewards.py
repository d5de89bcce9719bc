"""Routes of rewards: one, a batch, and corrections."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.service.api import models
from structuredbandits.service.api.authorization import (
    GuardedRoute,
    MayAdminister,
    PublicReward,
    ServiceOf,
    TokenSubject,
    documented,
)
from structuredbandits.service.api.public_access import take_rewards
from structuredbandits.service.api.responses import answer, error_responses, to_request_error
from structuredbandits.service.decisions.commands import AddReward
from structuredbandits.service.decisions.corrections import correct_reward
from structuredbandits.service.runtime import Service

router = APIRouter(
    prefix="/v1", tags=["rewards"], dependencies=[documented], route_class=GuardedRoute
)
DecisionPath = Annotated[str, Path(max_length=64, description="The decision's ID.")]


@router.put(
    "/decisions/{decision}/reward",
    responses=error_responses(409) | {200: {"model": models.RewardAnswer}},
    response_class=Response,
    name="reward",
)
async def put_reward(
    decision: DecisionPath,
    body: models.RewardRequest,
    service: ServiceOf,
    grant: PublicReward,
    named: TokenSubject,
) -> Response:
    """Send the reward of a decision; a repeated reward is counted once."""
    command = AddReward(decision, body.reward, grant.experiment, named)
    (result,) = await service.write([command], tenant=(grant.experiment, grant.id))
    if isinstance(result, BaseException):
        raise result
    _count(service, [result])
    return answer(result)


@router.post(
    "/rewards",
    responses=error_responses() | {200: {"model": models.RewardBatchAnswer}},
    response_class=Response,
    name="reward_many",
)
async def put_rewards(
    body: models.RewardBatch,
    request: Request,
    service: ServiceOf,
    grant: PublicReward,
    named: TokenSubject,
) -> Response:
    """Send many rewards; each has its own answer or error."""
    take_rewards(service, grant, request, len(body.rewards))
    service.key_use.take(grant, len(body.rewards) - 1)
    commands = [
        AddReward(one.decision, one.reward, grant.experiment, named) for one in body.rewards
    ]
    repeats = len({one.decision for one in body.rewards}) < len(body.rewards)
    tenant = (grant.experiment, grant.id)
    results = await service.write_many(commands, tenant, in_order=repeats)
    _count(service, results)
    return answer({"rewards": [_content(result) for result in results]})


@router.post(
    "/decisions/{decision}/corrections",
    responses=error_responses(409) | {200: {"model": models.CorrectionAnswer}},
    response_class=Response,
)
async def correct(
    decision: DecisionPath, body: models.CorrectionRequest, service: ServiceOf, grant: MayAdminister
) -> Response:
    """Replace a wrong reward; the key and the reason are stored in the audit log."""
    result = await service.change(
        lambda connection: correct_reward(
            service.executor, connection, decision, body.reward, body.reason, grant
        )
    )
    return answer({"decision": decision} | result)


def _count(service: Service, results: list[Any]) -> None:
    """Count new rewards, without rejected and repeated ones."""
    for result in results:
        if isinstance(result, dict) and not result["repeated"]:
            service.metrics.rewards.labels(result["status"]).inc()


def _content(result: Any) -> dict[str, Any]:
    if isinstance(result, StructuredBanditsError):
        return to_request_error(result).body(in_batch=True)
    content: dict[str, Any] = result
    return content
