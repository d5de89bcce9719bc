"""Routes of rewards: one, many at once, and corrections."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import Response

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.service.api import models
from structuredbandits.service.api.access import (
    GuardedRoute,
    MayAdminister,
    MayReward,
    ServiceOf,
    documented,
)
from structuredbandits.service.api.answers import answer, refusal_of, refusals
from structuredbandits.service.corrections import correct_reward
from structuredbandits.service.keys import Grant
from structuredbandits.service.orders import Reward
from structuredbandits.service.runtime import Service

router = APIRouter(
    prefix="/v1", tags=["rewards"], dependencies=[documented], route_class=GuardedRoute
)
DecisionPath = Annotated[str, Path(max_length=64, description="The decision's id.")]


@router.put(
    "/decisions/{decision}/reward",
    responses=refusals(409) | {200: {"model": models.RewardAnswer}},
    response_class=Response,
)
async def put_reward(
    decision: DecisionPath, body: models.RewardRequest, service: ServiceOf, grant: MayReward
) -> Response:
    """Give the reward of a decision: at once, late, or again; it counts once."""
    return await reward_one(service, decision, body, grant)


async def reward_one(
    service: Service, decision: str, body: models.RewardRequest, grant: Grant
) -> Response:
    """The answer to one reward."""
    (result,) = await service.write([Reward(decision, body.reward, grant.experiment)])
    if isinstance(result, BaseException):
        raise result
    _count(service, [result])
    return answer(result)


@router.post(
    "/rewards",
    responses=refusals() | {200: {"model": models.RewardBatchAnswer}},
    response_class=Response,
)
async def put_rewards(body: models.RewardBatch, service: ServiceOf, grant: MayReward) -> Response:
    """Give many rewards; each has its own answer or error."""
    orders = [Reward(one.decision, one.reward, grant.experiment) for one in body.rewards]
    results = await service.write(orders)
    _count(service, results)
    return answer({"rewards": [_content(result) for result in results]})


@router.post(
    "/decisions/{decision}/corrections",
    responses=refusals(409) | {200: {"model": models.CorrectionAnswer}},
    response_class=Response,
)
async def correct(
    decision: DecisionPath, body: models.Correction, service: ServiceOf, grant: MayAdminister
) -> Response:
    """Replace a reward that was wrong; who did it and why is kept."""
    result = await service.change(
        lambda connection: correct_reward(
            service.desk, connection, decision, body.reward, body.reason, grant
        )
    )
    return answer({"decision": decision} | result)


def _count(service: Service, results: list[Any]) -> None:
    """Count what was taken: not what was refused, nor what had come before."""
    for result in results:
        if isinstance(result, dict) and not result["repeated"]:
            service.measures.rewards.labels(result["status"]).inc()


def _content(result: Any) -> dict[str, Any]:
    if isinstance(result, StructuredBanditsError):
        return refusal_of(result).body(in_batch=True)
    content: dict[str, Any] = result
    return content
