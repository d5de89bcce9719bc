"""Routes of API keys, for administrators of all experiments."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path
from sqlalchemy import Connection
from starlette.responses import Response

from structuredbandits.service.api import models
from structuredbandits.service.api.authorization import (
    GuardedRoute,
    MayAdminister,
    ServiceOf,
    documented,
    needs_everything,
)
from structuredbandits.service.api.responses import answer, error_responses
from structuredbandits.service.decisions.explanation import timestamp
from structuredbandits.service.security import api_keys as use
from structuredbandits.service.security.api_keys import Grant, KeyTerms
from structuredbandits.service.security.publishable_keys import PublicTerms, read_origins

router = APIRouter(
    prefix="/v1/keys", tags=["keys"], dependencies=[documented], route_class=GuardedRoute
)

KeyPath = Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="The key's ID, not its text.")]


def _describe(grant: Grant) -> dict[str, Any]:
    return {
        "id": grant.id,
        "scopes": sorted(grant.scopes),
        "experiment": grant.experiment,
        "label": grant.label,
        "created": timestamp(grant.created),
        "revoked": timestamp(grant.revoked),
        "publishable": None if grant.public is None else asdict(grant.public),
        "expires": timestamp(grant.expires),
        "last_used": timestamp(grant.used),
        "requests_per_minute": grant.per_minute,
    }


@router.post(
    "",
    status_code=201,
    responses=error_responses() | {201: {"model": models.NewKeyAnswer}},
    response_class=Response,
)
async def create_key(body: models.NewKey, service: ServiceOf, grant: MayAdminister) -> Response:
    """Create a key; its text is shown only in this response."""
    needs_everything(grant)
    public = None if body.publishable is None else PublicTerms(**_terms(body.publishable))
    terms = KeyTerms(body.expires_days, body.requests_per_minute)

    def create(connection: Connection) -> tuple[str, Grant, str | None]:
        text, made = use.create_key(
            connection, body.scopes, body.experiment, body.label, public, terms, grant.id
        )
        return text, made, use.subject_secret(connection, made)

    return _new_key(*await service.change(create))


def _new_key(text: str, made: Grant, secret: str | None) -> Response:
    content = _describe(made) | {"key": text}
    return answer(content if secret is None else content | {"token_secret": secret}, 201)


def _terms(given: models.PublishableTerms) -> dict[str, Any]:
    return given.model_dump() | {"origins": read_origins(given.origins)}


@router.get(
    "", responses=error_responses() | {200: {"model": models.KeyList}}, response_class=Response
)
async def list_keys(service: ServiceOf, grant: MayAdminister) -> Response:
    """List the keys, without their secrets."""
    needs_everything(grant)
    return answer({"keys": [_describe(one) for one in await service.read(use.list_keys)]})


@router.post(
    "/{key}/rotate",
    status_code=201,
    responses=error_responses() | {201: {"model": models.NewKeyAnswer}},
    response_class=Response,
)
async def rotate_key(
    key: KeyPath,
    service: ServiceOf,
    grant: MayAdminister,
    body: models.KeyRotation | None = None,
) -> Response:
    """Replace a key: its successor is shown only here, and both work for `overlap_hours`.

    The successor has the same scopes, experiment, label and limits, and expires after as long.
    """
    needs_everything(grant)
    hours = (body or models.KeyRotation()).overlap_hours

    def rotate(connection: Connection) -> tuple[str, Grant, str | None]:
        text, made = use.rotate_key(connection, key, hours, grant.id)
        return text, made, use.subject_secret(connection, made)

    return _new_key(*await service.change(rotate))


@router.delete(
    "/{key}",
    responses=error_responses() | {200: {"model": models.KeyAnswer}},
    response_class=Response,
)
async def revoke_key(
    key: KeyPath,
    service: ServiceOf,
    grant: MayAdminister,
) -> Response:
    """Revoke a key; replicas may accept it for a few more seconds."""
    needs_everything(grant)
    return answer(_describe(await service.change(lambda c: use.revoke_key(c, key, grant.id))))
