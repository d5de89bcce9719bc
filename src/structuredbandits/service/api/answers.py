"""How answers and refusals become HTTP.

This module knows status numbers and bodies. It must not know what is asked for.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from structuredbandits.errors import (
    FileError,
    InvalidInput,
    InvalidParameter,
    InvalidPolicy,
    InvalidReward,
    InvalidStructure,
    StructuredBanditsError,
    UnknownArm,
)
from structuredbandits.service.api.models import ErrorAnswer
from structuredbandits.service.mishaps import kind_of, place_of
from structuredbandits.service.refusals import Refusal

_log = logging.getLogger(__name__)
_CODES: tuple[tuple[type[Exception], str], ...] = (
    (UnknownArm, "unknown_arm"),
    (InvalidReward, "invalid_reward"),
    (InvalidPolicy, "invalid_policy"),
    (InvalidStructure, "invalid_structure"),
    (InvalidParameter, "invalid_parameter"),
    (FileError, "invalid_structure"),
    (InvalidInput, "invalid_input"),
)
_REASONS = {
    401: "The API key is missing, unknown or revoked.",
    403: "The key does not open this.",
    404: "There is no such thing, or the key opens another experiment.",
    409: "It does not fit what is there already.",
    413: "The body is too large.",
    422: "Something in the request cannot be used.",
    429: "Too much is waiting; try again after Retry-After seconds.",
    503: "The database did not answer in time; repeat the request.",
}


def answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON."""
    return Response(orjson.dumps(content), status, headers=headers, media_type="application/json")


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What the documentation says about a route's refusals; some can always happen."""
    always = (400, 401, 403, 404, 413, 422, 429, 503)
    return {
        status: {
            "model": ErrorAnswer,
            "description": _REASONS.get(status, "The request cannot be read."),
        }
        for status in sorted({*always, *statuses})
    }


def refusal_of(error: StructuredBanditsError) -> Refusal:
    """An error of the library as a refusal."""
    if isinstance(error, Refusal):
        return error
    for kind, code in _CODES:
        if isinstance(error, kind):
            return Refusal(422, code, str(error))
    return Refusal(422, "invalid_input", str(error))


def refused(error: StructuredBanditsError) -> Response:
    """An error as an answer."""
    refusal = refusal_of(error)
    headers = {}
    if refusal.retry_after is not None:
        headers["Retry-After"] = str(refusal.retry_after)
    if refusal.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return answer(refusal.body(), refusal.status, headers)


def install(app: FastAPI) -> None:
    """Let every failure of an app be one of ours."""

    async def on_error(_request: Request, error: Exception) -> Response:
        assert isinstance(error, StructuredBanditsError)
        return refused(error)

    async def on_validation(_request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError | ValidationError)
        return refused(Refusal(422, "invalid_request", _sentence(error)))

    async def on_http(_request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        code = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}.get(
            error.status_code, "bad_request"
        )
        response = refused(Refusal(error.status_code, code, f"{error.detail}."))
        for name, value in (error.headers or {}).items():
            response.headers[name] = value
        return response

    async def on_surprise(request: Request, error: Exception) -> Response:
        route = getattr(request.scope.get("route"), "path", "other")  # paths hold subjects' ids
        _log.error("a request failed: %s: %s", route, kind_of(error), extra=place_of(error))
        return refused(Refusal(500, "internal", "the service made a mistake; its log says which."))

    app.add_exception_handler(StructuredBanditsError, on_error)
    app.add_exception_handler(RequestValidationError, on_validation)
    app.add_exception_handler(ValidationError, on_validation)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(Exception, on_surprise)


def _sentence(error: RequestValidationError | ValidationError) -> str:
    """The first thing that is wrong, where it is, and how many more there are."""
    problems: Sequence[Any] = error.errors()
    first = problems[0]
    place = ".".join(str(part) for part in first["loc"]) or "request"
    more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{place[:200]}: {str(first['msg'])[:300]}{more}."
