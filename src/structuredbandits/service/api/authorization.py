"""Authorization: which service, key and scope a route needs.

A route checks its key before it reads the body, so that an unauthorized request costs little.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, cast

from fastapi import Depends, Header, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.responses import Response

from structuredbandits.service.api import public_access
from structuredbandits.service.errors import RequestError, unknown_experiment
from structuredbandits.service.request_context import current_request
from structuredbandits.service.runtime import Service
from structuredbandits.service.security.api_keys import EVERYTHING, Grant

_GRANT = "structuredbandits.grant"
_bearer = HTTPBearer(
    auto_error=False, description="An API key, as created by `structuredbandits keys`."
)


def behind(request: Request) -> Service:
    """Return the service behind the app of a request."""
    return cast(Service, request.app.state.service)


async def service_of(request: Request) -> Service:
    """The same as a dependency; a synchronous one would be called in another thread."""
    return behind(request)


async def grant_of(request: Request) -> Grant:
    """Return the grant of the request's key."""
    service, context = behind(request), current_request.get()
    if context is not None:
        named = str(request.path_params.get("experiment", ""))
        # Only what exists gets into the log: a path may contain anything, such as a key.
        context.experiment = None if service.experiment_cache.known(named) is None else named
    if service.settings.insecure:
        return EVERYTHING
    kind, _, text = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not text.strip():
        raise RequestError(
            401,
            "no_key",
            "the request has no API key.",
            "Send the header 'Authorization: Bearer KEY'.",
        )
    if "origin" in request.headers:
        public_access.note_origin(request, text.strip())
    grant = await service.key_cache.grant(text.strip())
    if grant is None:
        raise RequestError(
            401,
            "unknown_key",
            "the API key is unknown or revoked, or has expired.",
            "Create one with 'structuredbandits keys create'.",
        )
    service.key_use.note(grant)
    if context is not None:
        context.key = grant.id
    return grant


class Needs:
    """A dependency: the request's key must have a scope, for the experiment in its path.

    Parameters
    ----------
    scope
        The scope; None if any key is enough.
    public
        Whether a publishable key is enough.
    """

    def __init__(self, scope: str | None, *, public: bool = False) -> None:
        self._scope = scope
        self._public = public

    async def __call__(self, request: Request) -> Grant:
        """Return the grant of the key, looked up once per request."""
        held: Grant | None = request.scope.get(_GRANT)
        if held is None:
            wanted = self._scope
            held = await (grant_of(request) if wanted is None else require(request, wanted))
            if held.public is not None:
                public_access.admit(request, behind(request), held)
                if not self._public:
                    public_access.refuse_public(held)
            if held.per_minute is not None:
                behind(request).key_use.take(held)
            request.scope[_GRANT] = held
        return held


class GuardedRoute(APIRoute):
    """A route that checks its key before it reads the body, for `APIRouter(route_class=...)`.

    FastAPI itself reads and parses a body before it calls dependencies.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers a request."""
        answer = super().get_route_handler()
        found = [one.call for one in self.dependant.dependencies]
        checks = [check for check in found if isinstance(check, Needs)]

        async def guarded(request: Request) -> Response:
            for check in checks:
                await check(request)
            return await answer(request)

        return guarded


async def require(request: Request, scope: str) -> Grant:
    """Return the grant of the request's key, if it has the scope for the experiment in the path."""
    grant = await grant_of(request)
    experiment = request.path_params.get("experiment")
    if experiment is not None and grant.experiment not in (None, experiment):
        raise unknown_experiment(str(experiment)[:80])
    if scope not in grant.scopes and "admin" not in grant.scopes:
        raise RequestError(
            403,
            "scope_missing",
            f"the key does not have the scope {scope!r}.",
            "Use a key that was made with it.",
        )
    return grant


def needs_everything(grant: Grant) -> None:
    """Reject a key of one experiment where all experiments are concerned."""
    if grant.experiment is not None:
        raise RequestError(
            403,
            "one_experiment_only",
            f"the key is only for experiment {grant.experiment!r}.",
            "Use an admin key that was made without an experiment.",
        )


async def token_subject(
    request: Request,
    subject_token: Annotated[
        str | None,
        Header(description="With some publishable keys: names the subject, signed by your server."),
    ] = None,
) -> str | None:
    """Return the subject of the request's token; None if the key needs no tokens.

    The parameter is there for the documentation: the busiest routes pass only the request.
    """
    grant: Grant = request.scope[_GRANT]
    if grant.public is None or not grant.public.signed:
        return None
    return await public_access.subject_of_token(request, behind(request), grant)


ServiceOf = Annotated[Service, Depends(service_of)]
MayDecide = Annotated[Grant, Depends(Needs("decide"))]
#: A publishable key is enough for these two; `TokenSubject` comes after them.
PublicDecide = Annotated[Grant, Depends(Needs("decide", public=True))]
PublicReward = Annotated[Grant, Depends(Needs("reward", public=True))]
TokenSubject = Annotated[str | None, Depends(token_subject)]
MayRead = Annotated[Grant, Depends(Needs("read"))]
MayAdminister = Annotated[Grant, Depends(Needs("admin"))]
documented = Depends(_bearer)
