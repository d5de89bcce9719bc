"""What happens to every request before and after its route: limits, headers, measures, log.

This module is plain ASGI, since it runs for every request. It must not know what routes do.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from structuredbandits.service.api.answers import refused
from structuredbandits.service.api.visitors import refuse_foreign
from structuredbandits.service.measures import Measures
from structuredbandits.service.refusals import Refusal

_log = logging.getLogger("structuredbandits.service.requests")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
# Text is read quickly; many small values are not, and while they are read nobody else is answered.
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


class Gate:
    """Wraps an app.

    Parameters
    ----------
    app
        What answers.
    measures
        Where requests are counted.
    body_bytes
        The largest body.
    keyless
        Whether requests need no key: then those of other people's pages are refused.
    log_requests
        Whether every request is logged; otherwise only failures of ours are.
    """

    def __init__(
        self,
        app: ASGIApp,
        measures: Measures,
        body_bytes: int,
        keyless: bool,
        log_requests: bool,
    ) -> None:
        self._app = app
        self._measures = measures
        self._body_bytes = body_bytes
        self._keyless = keyless
        self._log_requests = log_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def tell(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = list(message.get("headers", ()))
                present = {name.lower() for name, _ in headers}
                headers.extend(one for one in _HEADERS if one[0] not in present)
                message = {**message, "headers": headers}
            await send(message)

        try:
            refusal = self._refusal(scope)
            if refusal is not None:
                await refused(refusal)(scope, receive, tell)
            else:
                await self._app(scope, self._limited(receive), tell)
        finally:
            self._note(scope, status, time.perf_counter() - start)

    def _refusal(self, scope: Scope) -> Refusal | None:
        """Why a request is refused by its head."""
        headers = dict(scope["headers"])
        length = headers.get(b"content-length")
        if length is not None and not self._is_small(length):
            return _too_large(self._body_bytes)
        if self._keyless:
            port = (scope.get("server") or ("", None))[1]
            return refuse_foreign(scope["method"], headers, port or 80)
        return None

    def _is_small(self, length: bytes) -> bool:
        # Python reads no numbers of thousands of digits, and says so with an error.
        return length.isdigit() and len(length) < 20 and int(length) <= self._body_bytes

    def _limited(self, receive: Receive) -> Receive:
        read = values = 0

        async def counted() -> Message:
            nonlocal read, values
            message = await receive()
            part = message.get("body", b"")
            read += len(part)
            if read > self._body_bytes:
                # Of this kind the framework makes an answer, of others a 400.
                raise HTTPException(413, f"the body has more than {self._body_bytes:,} bytes")
            if read > _UNCOUNTED_BYTES:
                values += part.count(b",") + part.count(b"[") + part.count(b"{")
                if values > _MOST_VALUES:
                    raise HTTPException(413, f"the body has more than {_MOST_VALUES:,} values")
            return message

        return counted

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        # The route's pattern, not the path: paths hold ids of subjects, and are without number.
        route: Any = scope.get("route")
        name = getattr(route, "path", "other")
        self._measures.request(scope["method"], name, status, seconds)
        if self._log_requests or status >= 500:
            detail = {
                "method": scope["method"],
                "route": name,
                "status": status,
                "milliseconds": round(1000 * seconds, 2),
            }
            _log.log(logging.WARNING if status >= 500 else logging.INFO, "request", extra=detail)


def _too_large(limit: int) -> Refusal:
    return Refusal(
        413,
        "too_large",
        f"the body has more than {limit:,} bytes.",
        "Send smaller batches.",
    )
