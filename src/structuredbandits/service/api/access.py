"""Who may ask for what: the API key of a request, and the service behind it.

This module knows where a key is in a request. It must not know what the request does. A route asks
for its key before it reads the body: strangers cannot make the service read or parse anything.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, cast

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.responses import Response

from structuredbandits.service.keys import EVERYTHING, Grant
from structuredbandits.service.refusals import Refusal, unknown_experiment
from structuredbandits.service.runtime import Service

_GRANT = "structuredbandits.grant"
_bearer = HTTPBearer(auto_error=False, description="An API key, as `structuredbandits keys` makes.")


def behind(request: Request) -> Service:
    """The service that an app is the face of."""
    return cast(Service, request.app.state.service)


async def service_of(request: Request) -> Service:
    """The same as a dependency; one that does not wait would be called in another thread."""
    return behind(request)


async def grant_of(request: Request) -> Grant:
    """What the request's key opens."""
    service = behind(request)
    if service.settings.insecure:
        return EVERYTHING
    kind, _, text = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not text.strip():
        raise Refusal(
            401,
            "no_key",
            "the request has no API key.",
            "Send the header 'Authorization: Bearer KEY'.",
        )
    grant = await service.keyring.grant(text.strip())
    if grant is None:
        raise Refusal(
            401,
            "unknown_key",
            "the API key is unknown or revoked.",
            "Make one with 'structuredbandits keys create'.",
        )
    return grant


class Needs:
    """A dependency: the request's key must have a scope, for the experiment in its path.

    Parameters
    ----------
    scope
        Which one; None if any key will do.
    """

    def __init__(self, scope: str | None) -> None:
        self._scope = scope

    async def __call__(self, request: Request) -> Grant:
        """What the key opens; looked up once a request."""
        held: Grant | None = request.scope.get(_GRANT)
        if held is None:
            wanted = self._scope
            held = await (grant_of(request) if wanted is None else require(request, wanted))
            request.scope[_GRANT] = held
        return held


class GuardedRoute(APIRoute):
    """A route that asks for its key before it reads the body, for `APIRouter(route_class=...)`.

    By itself the framework reads and parses a body before it asks dependencies.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request."""
        answer = super().get_route_handler()
        found = [one.call for one in self.dependant.dependencies]
        checks = [check for check in found if isinstance(check, Needs)]

        async def guarded(request: Request) -> Response:
            for check in checks:
                await check(request)
            return await answer(request)

        return guarded


async def require(request: Request, scope: str) -> Grant:
    """What the request's key opens, if it has the scope for the experiment in the path."""
    grant = await grant_of(request)
    experiment = request.path_params.get("experiment")
    if experiment is not None and grant.experiment not in (None, experiment):
        raise unknown_experiment(str(experiment)[:80])
    if scope not in grant.scopes and "admin" not in grant.scopes:
        raise Refusal(
            403,
            "scope_missing",
            f"the key does not have the scope {scope!r}.",
            "Use a key that was made with it.",
        )
    return grant


def needs_everything(grant: Grant) -> None:
    """Refuse a key of one experiment what concerns all."""
    if grant.experiment is not None:
        raise Refusal(
            403,
            "one_experiment_only",
            f"the key opens only experiment {grant.experiment!r}.",
            "Use an admin key that was made without an experiment.",
        )


ServiceOf = Annotated[Service, Depends(service_of)]
MayDecide = Annotated[Grant, Depends(Needs("decide"))]
MayReward = Annotated[Grant, Depends(Needs("reward"))]
MayRead = Annotated[Grant, Depends(Needs("read"))]
MayAdminister = Annotated[Grant, Depends(Needs("admin"))]
any_key = Depends(Needs(None))
documented = Depends(_bearer)
