"""Cross-origin requests: web pages of other origins may use publishable keys.

When a browser asks whether it may send a request, the key is not known yet, so every origin is
accepted at that time, on the routes that take publishable keys. The request itself is
refused unless its key allows its origin. There are no cookies, so a page can do no more than a
program could.
"""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Receive, Scope, Send

#: Where authorization notes the origin of the page that may read the answer.
READER = "structuredbandits.origin"
_ROUTES = re.compile(
    r"/v1/experiments/[^/]+/decisions|/v1/decisions/[^/]+/reward|/v1/rewards"
    r"|/ofrep/v1/evaluate/flags(/[^/]+)?"
)
_HEADERS = (
    "authorization, content-type, idempotency-key, if-none-match, subject-token, traceparent, "
    "tracestate"
)
_PREFLIGHT = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"POST, PUT"),
    (b"access-control-allow-headers", _HEADERS.encode()),
    (b"access-control-max-age", b"7200"),
    (b"content-length", b"0"),
]
_EXPOSED = (b"access-control-expose-headers", b"etag, retry-after")


def reader_headers(origin: bytes) -> list[tuple[bytes, bytes]]:
    """Return the headers that let a page read an answer."""
    return [(b"access-control-allow-origin", origin), (b"vary", b"origin"), _EXPOSED]


class Preflights:
    """Answers what browsers ask before a cross-origin request.

    Parameters
    ----------
    app
        What answers all other requests.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        asks = scope["type"] == "http" and scope["method"] == "OPTIONS"
        if not asks or not _ROUTES.fullmatch(scope["path"]):
            await self._app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 204, "headers": _PREFLIGHT})
        await send({"type": "http.response.body", "body": b""})
