"""The two routes that are asked most, without the framework's layers around them.

They answer as the documented routes of the same paths do, from the same models; this module must
not know more than how a request is read.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from structuredbandits.service.api import models
from structuredbandits.service.api.access import behind, require
from structuredbandits.service.api.decisions import decide_one
from structuredbandits.service.api.rewards import reward_one
from structuredbandits.service.refusals import Refusal

_EXPERIMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY = re.compile(r"[\x21-\x7e]{1,200}")


class QuickRoute(NamedTuple):
    """A path with one parameter in its middle."""

    method: str
    before: str
    parameter: str
    after: str
    endpoint: Callable[[Request], Awaitable[Response]]

    @property
    def path(self) -> str:
        """The pattern, by which requests are counted."""
        return f"{self.before}{{{self.parameter}}}{self.after}"

    def match(self, path: str) -> str | None:
        """The parameter's value if a path fits.

        Examples
        --------
        >>> route = QuickRoute("GET", "/a/", "name", "/b", lambda request: None)
        >>> route.path, route.match("/a/x/b"), route.match("/a/x/y/b"), route.match("/a//b")
        ('/a/{name}/b', 'x', None, None)
        """
        if not (path.startswith(self.before) and path.endswith(self.after)):
            return None
        value = path[len(self.before) : len(path) - len(self.after)]
        return value if value and "/" not in value else None


class Quick:
    """Answers the quick routes, and leaves everything else to the app inside.

    Parameters
    ----------
    app
        What answers all other requests.
    owner
        The app whose answers to exceptions are used.
    """

    def __init__(self, app: ASGIApp, owner: FastAPI) -> None:
        self._app = app
        self._owner = owner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and not scope.get("root_path"):
            for route in _ROUTES:
                if scope["method"] == route.method:
                    value = route.match(scope["path"])
                    if value is not None:
                        scope["path_params"] = {route.parameter: value}
                        scope["route"] = route
                        response = await self._answer(route, Request(scope, receive))
                        await response(scope, receive, send)
                        return
        await self._app(scope, receive, send)

    async def _answer(self, route: QuickRoute, request: Request) -> Response:
        try:
            return await route.endpoint(request)
        except Exception as error:
            handlers: Any = self._owner.exception_handlers
            kind = next(kind for kind in type(error).__mro__ if kind in handlers)
            response: Response = await handlers[kind](request, error)
            return response


async def _decide(request: Request) -> Response:
    await require(request, "decide")
    experiment = request.path_params["experiment"]
    if not _EXPERIMENT.fullmatch(experiment):
        raise _invalid("path.experiment: it is no experiment's id")
    key = request.headers.get("idempotency-key")
    if key is not None and not _KEY.fullmatch(key):
        raise _invalid("header.idempotency-key: give 1 to 200 visible ASCII characters")
    body = models.DecisionRequest.model_validate_json(await _json(request))
    return await decide_one(behind(request), experiment, body, key)


async def _reward(request: Request) -> Response:
    grant = await require(request, "reward")
    decision = request.path_params["decision"]
    if len(decision) > 64:
        raise _invalid("path.decision: it has more than 64 characters")
    body = models.RewardRequest.model_validate_json(await _json(request))
    return await reward_one(behind(request), decision, body, grant)


async def _json(request: Request) -> bytes:
    if "json" not in request.headers.get("content-type", ""):
        raise _invalid("header.content-type: send application/json")
    return await request.body()


def _invalid(message: str) -> Refusal:
    return Refusal(422, "invalid_request", f"{message}.")


_ROUTES = (
    QuickRoute("POST", "/v1/experiments/", "experiment", "/decisions", _decide),
    QuickRoute("PUT", "/v1/decisions/", "decision", "/reward", _reward),
)
