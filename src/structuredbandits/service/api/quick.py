"""The two routes that are asked most, without the framework's layers around them.

They answer as the documented routes of the same paths do, from the same models; this module must
not know more than how a request is read.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from structuredbandits.service.api import models
from structuredbandits.service.api.access import behind, require
from structuredbandits.service.api.decisions import decide_one
from structuredbandits.service.api.rewards import reward_one
from structuredbandits.service.refusals import Refusal

_EXPERIMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY = re.compile(r"[\x21-\x7e]{1,200}")
Endpoint = Callable[[Request], Awaitable[Response]]


def routes() -> list[Route]:
    """The quick routes, to be put before the others."""
    return [
        _route("/v1/experiments/{experiment}/decisions", "POST", _decide),
        _route("/v1/decisions/{decision}/reward", "PUT", _reward),
    ]


def _route(path: str, method: str, endpoint: Endpoint) -> Route:
    async def answer(request: Request) -> Response:
        request.scope["route"] = route  # the request's measures have its name
        return await endpoint(request)

    # A route that is asked with another method would refuse for the documented ones below it.
    route = _OneMethod(path, answer, methods=[method], include_in_schema=False)
    return route


class _OneMethod(Route):
    """A route that leaves other methods to the routes after it."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether the path and the method fit."""
        if scope["type"] == "http" and scope["method"] not in (self.methods or ()):
            return Match.NONE, {}
        return super().matches(scope)


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
