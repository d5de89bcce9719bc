"""Turns answers and errors into HTTP responses."""

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
from structuredbandits.service.errors import RequestError, kind_of, place_of

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
    403: "The key does not allow this.",
    404: "It does not exist, or the key is for another experiment.",
    409: "It conflicts with the stored state.",
    413: "The body is too large.",
    422: "Something in the request cannot be used.",
    429: "Too many requests are waiting; try again after Retry-After seconds.",
    503: "The database did not answer in time; repeat the request.",
}


def answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a JSON response."""
    return Response(orjson.dumps(content), status, headers=headers, media_type="application/json")


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What the documentation says about a route's errors; some can always happen."""
    always = (400, 401, 403, 404, 413, 422, 429, 503)
    return {
        status: {
            "model": ErrorAnswer,
            "description": _REASONS.get(status, "The request cannot be read."),
        }
        for status in sorted({*always, *statuses})
    }


def to_request_error(error: StructuredBanditsError) -> RequestError:
    """Convert an error of the library to the error of a request."""
    if isinstance(error, RequestError):
        return error
    for kind, code in _CODES:
        if isinstance(error, kind):
            return RequestError(422, code, str(error))
    return RequestError(422, "invalid_input", str(error))


def error_response(error: StructuredBanditsError) -> Response:
    """Return the response of an error."""
    found = to_request_error(error)
    headers = {}
    if found.retry_after is not None:
        headers["Retry-After"] = str(found.retry_after)
    if found.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return answer(found.body(), found.status, headers)


def install(app: FastAPI) -> None:
    """Install the handlers that turn exceptions of an app into error responses."""

    async def on_error(_request: Request, error: Exception) -> Response:
        assert isinstance(error, StructuredBanditsError)
        return error_response(error)

    async def on_validation(_request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError | ValidationError)
        return error_response(RequestError(422, "invalid_request", _sentence(error)))

    async def on_http(_request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        code = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}.get(
            error.status_code, "bad_request"
        )
        response = error_response(RequestError(error.status_code, code, f"{error.detail}."))
        for name, value in (error.headers or {}).items():
            response.headers[name] = value
        return response

    async def on_surprise(request: Request, error: Exception) -> Response:
        route = getattr(request.scope.get("route"), "path", "other")  # paths hold subjects' ids
        _log.error("a request failed: %s: %s", route, kind_of(error), extra=place_of(error))
        return error_response(RequestError(500, "internal", "the service failed; see its log."))

    app.add_exception_handler(StructuredBanditsError, on_error)
    app.add_exception_handler(RequestValidationError, on_validation)
    app.add_exception_handler(ValidationError, on_validation)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(Exception, on_surprise)


def _sentence(error: RequestValidationError | ValidationError) -> str:
    """Describe the first problem, its place, and the number of others."""
    problems: Sequence[Any] = error.errors()
    first = problems[0]
    place = ".".join(str(part) for part in first["loc"]) or "request"
    more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{place[:200]}: {str(first['msg'])[:300]}{more}."
