"""What happens to every request before and after its route: limits, headers, metrics and log.

This is plain ASGI, because it runs for every request. The busiest routes are also called from
here, past the framework's layers, which take as much processor time as the decision itself.
"""

from __future__ import annotations

import inspect
import logging
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, get_args, get_type_hints

from fastapi import FastAPI, params
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from structuredbandits.service.api.cors import READER, reader_headers
from structuredbandits.service.api.escaped_slashes import keep_escaped_slashes
from structuredbandits.service.api.responses import error_response
from structuredbandits.service.errors import RequestError
from structuredbandits.service.metrics import Metrics
from structuredbandits.service.request_context import RequestContext, current_request

_log = logging.getLogger("structuredbandits.service.requests")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
# Long text parses quickly; many small values do not, and parsing them blocks all other requests.
_UNCOUNTED_BYTES = 65_536
_MOST_VALUES = 100_000
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cache-control", b"no-store"),
]
_REQUEST_ID = b"x-request-id"
# What a client may call its request; anything else could forge a log.
_GIVEN_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_OWN_NAMES = ("127.0.0.1", "localhost", "[::1]")
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class RequestMiddleware:
    """Wraps an app.

    Parameters
    ----------
    app
        What answers requests.
    metrics
        Where requests are counted.
    body_bytes
        The largest body.
    keyless
        Whether requests need no API key: then requests from foreign web pages are rejected.
    log_requests
        Whether every request is logged; otherwise only server errors are.
    """

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        body_bytes: int,
        keyless: bool,
        log_requests: bool,
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._body_bytes = body_bytes
        self._keyless = keyless
        self._log_requests = log_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500
        given = next((value for name, value in scope["headers"] if name == _REQUEST_ID), None)
        context = RequestContext(request_id(given))
        token = current_request.set(context)
        if b"%2" in (scope.get("raw_path") or b""):
            scope = keep_escaped_slashes(scope)

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = list(message.get("headers", ()))
                present = {name.lower() for name, _ in headers}
                headers.extend(one for one in _HEADERS if one[0] not in present)
                headers.append((_REQUEST_ID, context.id.encode()))
                if READER in scope:
                    headers.extend(reader_headers(scope[READER]))
                message = {**message, "headers": headers}
            await send(message)

        try:
            error = self._reject(scope)
            if error is not None:
                await error_response(error)(scope, receive, send_with_headers)
            else:
                await self._app(scope, self._limited(receive), send_with_headers)
        finally:
            self._record(scope, status, time.perf_counter() - start)
            current_request.reset(token)

    def _reject(self, scope: Scope) -> RequestError | None:
        """Return the error for a request whose headers are enough to reject it."""
        headers = dict(scope["headers"])
        length = headers.get(b"content-length")
        if length is not None and not self._is_small(length):
            return _too_large(self._body_bytes)
        if self._keyless:
            port = (scope.get("server") or ("", None))[1]
            return check_origin(scope["method"], headers, port or 80)
        return None

    def _is_small(self, length: bytes) -> bool:
        # int() raises an error for numbers of thousands of digits.
        return length.isdigit() and len(length) < 20 and int(length) <= self._body_bytes

    def _limited(self, receive: Receive) -> Receive:
        read = values = 0

        async def counted() -> Message:
            nonlocal read, values
            message = await receive()
            part = message.get("body", b"")
            read += len(part)
            if read > self._body_bytes:
                # The framework turns this exception into an answer, and any other into a 400.
                raise HTTPException(413, f"the body has more than {self._body_bytes:,} bytes")
            if read > _UNCOUNTED_BYTES:
                values += part.count(b",") + part.count(b"[") + part.count(b"{")
                if values > _MOST_VALUES:
                    raise HTTPException(413, f"the body has more than {_MOST_VALUES:,} values")
            return message

        return counted

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        # The route's pattern, not the path: paths contain subject ids and are unbounded.
        name = getattr(scope.get("route"), "path", "other")
        self._metrics.request(scope["method"], name, status, seconds)
        if self._log_requests or status >= 500:
            detail = {
                "method": scope["method"],
                "route": name,
                "status": status,
                "milliseconds": round(1000 * seconds, 2),
            }
            _log.log(logging.WARNING if status >= 500 else logging.INFO, "request", extra=detail)


def request_id(given: bytes | None) -> str:
    """Return the ID that a client gave its request, or a new one.

    Examples
    --------
    >>> request_id(b"checkout-17")
    'checkout-17'
    >>> len(request_id(b"two words"))
    16
    """
    if given is not None and _GIVEN_ID.fullmatch(given):
        return given.decode()
    return secrets.token_hex(8)


def _too_large(limit: int) -> RequestError:
    return RequestError(
        413,
        "too_large",
        f"the body has more than {limit:,} bytes.",
        "Send smaller batches.",
    )


# -- requests without an API key -------------------------------------------------------------------


@lru_cache(maxsize=8)
def own_hosts(port: int) -> frozenset[bytes]:
    """Return the values that the header Host may have on a port of this machine.

    Examples
    --------
    >>> sorted(own_hosts(8000))
    [b'127.0.0.1:8000', b'[::1]:8000', b'localhost:8000']
    """
    hosts = {f"{name}:{port}".encode() for name in _OWN_NAMES}
    return frozenset(hosts | {name.encode() for name in _OWN_NAMES if port == 80})


def check_origin(method: str, headers: Mapping[bytes, bytes], port: int) -> RequestError | None:
    """Return an error if a request without a key comes from a foreign web page.

    A browser on this machine can reach a service that only this machine can reach, and does so on
    behalf of any page that it shows.

    Parameters
    ----------
    method
        Of the request.
    headers
        With names in lower case.
    port
        Where the service listens.

    Examples
    --------
    >>> check_origin("GET", {b"host": b"127.0.0.1:8000"}, 8000) is None
    True
    >>> check_origin("GET", {b"host": b"elsewhere.example:8000"}, 8000).code
    'foreign_host'
    """
    host = headers.get(b"host", b"").lower()
    hosts = own_hosts(port)
    if host not in hosts:
        # A foreign host name that resolves to this machine would make the service part of its site.
        return _foreign("foreign_host", f"the request is for {_shown(host)}, not for", port)
    site = headers.get(b"sec-fetch-site", b"none")
    # Following a link to a page here is harmless.
    follows = method in _SAFE_METHODS and headers.get(b"sec-fetch-mode") == b"navigate"
    if site not in (b"none", b"same-origin") and not follows:
        return _foreign("foreign_page", "the request comes from a page that is not on", port)
    origin = headers.get(b"origin")
    own = {b"http://" + one for one in hosts}
    if origin is None or method in _SAFE_METHODS or origin.lower() in own:
        return None
    return _foreign("foreign_page", f"the request comes from {_shown(origin)}, not from", port)


def _shown(value: bytes) -> str:
    return repr(value[:80].decode("latin-1"))


def _foreign(code: str, sentence: str, port: int) -> RequestError:
    return RequestError(
        403,
        code,
        f"{sentence} http://127.0.0.1:{port}.",
        "Use that address, or serve with API keys instead of --insecure.",
    )


# -- the busiest routes ----------------------------------------------------------------------------


class FastRoutes:
    """Answers some declared routes directly, and leaves all other requests to the app inside.

    Paths, validation, authorization and endpoints are read from the declarations, so that a route
    exists once and answers the same either way.

    Parameters
    ----------
    inner
        What answers all other requests.
    app
        The app whose exception handlers answer errors.
    routes
        The declared routes; each has one method, and endpoints that return a response.
    """

    def __init__(self, inner: ASGIApp, app: FastAPI, routes: Sequence[APIRoute]) -> None:
        self._inner = inner
        self._app = app
        self._routes = [_FastRoute(route) for route in routes]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and not scope.get("root_path"):
            for route in self._routes:
                if scope["method"] == route.method and (match := route.match(scope["path"])):
                    scope["path_params"] = match.groupdict()
                    scope["route"] = route.declared
                    response = await self._answer(route, Request(scope, receive))
                    await response(scope, receive, send)
                    return
        await self._inner(scope, receive, send)

    async def _answer(self, route: _FastRoute, request: Request) -> Response:
        try:
            given: dict[str, Any] = {}
            for name, read, waits in route.arguments:
                given[name] = await read(request) if waits else read(request)
            response: Response = await route.declared.endpoint(**given)
        except Exception as error:
            handlers: Any = self._app.exception_handlers
            kind = next(kind for kind in type(error).__mro__ if kind in handlers)
            response = await handlers[kind](request, error)
        return response


class _FastRoute:
    """A declared route, with one function per argument that reads it from a request."""

    def __init__(self, route: APIRoute) -> None:
        self.declared = route
        self.method = next(iter(route.methods or ()))
        self.match = route.path_regex.match
        hints = get_type_hints(route.endpoint, include_extras=True)
        parameters = inspect.signature(route.endpoint).parameters
        found = [
            (name, *_argument(name, hints[name], parameters[name].default)) for name in parameters
        ]
        # Keys are checked before the body is read.
        self.arguments = [
            (name, read, when != 1) for name, when, read in sorted(found, key=lambda one: one[1])
        ]


def _argument(name: str, hint: Any, default: Any) -> tuple[int, Callable[[Request], Any]]:
    """Return when an argument is read (0 dependency, 1 path or header, 2 body), and the reader."""
    given, *marks = get_args(hint) or (hint,)
    for mark in marks:
        if isinstance(mark, params.Depends) and mark.dependency is not None:
            return 0, mark.dependency
        if isinstance(mark, params.Path | params.Header):
            header = name.replace("_", "-") if isinstance(mark, params.Header) else None
            return 1, partial(_validated, TypeAdapter(hint), name, header, default)
    assert issubclass(given, BaseModel)
    return 2, partial(_body, given)


def _validated(
    adapter: TypeAdapter[Any], name: str, header: str | None, default: Any, request: Request
) -> Any:
    value = request.path_params[name] if header is None else request.headers.get(header)
    if value is None:
        return default
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        raise _invalid(error, "path" if header is None else "header", header or name) from None


async def _body(model: type[BaseModel], request: Request) -> BaseModel:
    if "json" not in request.headers.get("content-type", ""):
        message = "header.content-type: send application/json."
        raise RequestError(422, "invalid_request", message)
    content = await request.body()
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        raise _invalid(error, "body") from None


def _invalid(error: ValidationError, *place: str) -> RequestValidationError:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return RequestValidationError([one | {"loc": (*place, *one["loc"])} for one in problems])
