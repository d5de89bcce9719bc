"""Serves the console at `/`, the lab at `/lab`, and the files that they are made of."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.requests import Request
from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import FileResponse, Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Receive, Scope, Send

FOLDER = Path(__file__).parent / "static"

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
# The other security headers are the same for every response, and the middleware adds them.
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    # A browser revalidates its copy each time, so a page never mixes files of two versions.
    "Cache-Control": "no-cache",
}
_COMPRESSED_FROM_BYTES = 1_000


class PageFiles(StaticFiles):
    """The files of the pages, with their headers and an ETag of their content.

    Starlette's own ETag is made from time and size, which two versions of a file can share.
    """

    path = "/static/{name:path}"  # the route's name in metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        scope["route"] = self
        await super().__call__(scope, receive, send)

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        """Return a file, or 304 if the browser has it."""
        headers = HEADERS | {"ETag": content_tag(str(full_path), stat_result.st_mtime_ns)}
        response = FileResponse(full_path, status_code, headers, stat_result=stat_result)
        if self.is_not_modified(response.headers, Headers(scope=scope)):
            return NotModifiedResponse(response.headers)
        return response


@lru_cache(maxsize=256)
def content_tag(path: str, _changed: int) -> str:
    """Return the ETag of a file's content.

    Examples
    --------
    >>> content_tag(str(FOLDER / "lab.html"), 0)[0]
    '"'
    """
    digest = hashlib.blake2b(Path(path).read_bytes(), digest_size=12)
    return f'"{digest.hexdigest()}"'


files = PageFiles(directory=FOLDER)
router = APIRouter(include_in_schema=False)


@router.get("/")
async def console(request: Request) -> Response:
    """Send the console."""
    return await files.get_response("console.html", request.scope)


@router.get("/lab")
async def lab(request: Request) -> Response:
    """Send the lab."""
    return await files.get_response("lab.html", request.scope)


def add_pages(app: FastAPI) -> None:
    """Add the pages and their files to an app."""
    app.include_router(router)
    app.mount("/static", GZipMiddleware(files, minimum_size=_COMPRESSED_FROM_BYTES))
