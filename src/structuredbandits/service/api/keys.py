"""Routes of API keys, for whoever administers all experiments."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import Response

from structuredbandits.service import keys as use
from structuredbandits.service.answers import timestamp
from structuredbandits.service.api import models
from structuredbandits.service.api.access import (
    GuardedRoute,
    MayAdminister,
    ServiceOf,
    documented,
    needs_everything,
)
from structuredbandits.service.api.answers import answer, refusals
from structuredbandits.service.keys import Grant

router = APIRouter(
    prefix="/v1/keys", tags=["keys"], dependencies=[documented], route_class=GuardedRoute
)


def _told(grant: Grant) -> dict[str, Any]:
    return {
        "id": grant.id,
        "scopes": sorted(grant.scopes),
        "experiment": grant.experiment,
        "label": grant.label,
        "created": timestamp(grant.created),
        "revoked": timestamp(grant.revoked),
    }


@router.post(
    "",
    status_code=201,
    responses=refusals() | {201: {"model": models.NewKeyAnswer}},
    response_class=Response,
)
async def create_key(body: models.NewKey, service: ServiceOf, grant: MayAdminister) -> Response:
    """Make a key; its text is shown only in this answer."""
    needs_everything(grant)
    text, made = await service.change(
        lambda c: use.create_key(c, body.scopes, body.experiment, body.label)
    )
    return answer(_told(made) | {"key": text}, 201)


@router.get("", responses=refusals() | {200: {"model": models.KeyList}}, response_class=Response)
async def list_keys(service: ServiceOf, grant: MayAdminister) -> Response:
    """List the keys, without what would open anything."""
    needs_everything(grant)
    return answer({"keys": [_told(one) for one in await service.read(use.list_keys)]})


@router.delete(
    "/{key}", responses=refusals() | {200: {"model": models.KeyAnswer}}, response_class=Response
)
async def revoke_key(
    key: Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="The key's id, not its text.")],
    service: ServiceOf,
    grant: MayAdminister,
) -> Response:
    """Let a key open nothing any more; it takes a few seconds to be known everywhere."""
    needs_everything(grant)
    return answer(_told(await service.change(lambda c: use.revoke_key(c, key))))
