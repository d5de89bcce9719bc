"""Serves the console at `/`, the lab at `/lab`, and the files that they are made of.

All files come from this folder and are read once, so a path from outside can never reach another
one. This module must not know what the pages show.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from fastapi import APIRouter
from fastapi.requests import Request
from fastapi.responses import Response

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
# The other security headers are the same for every answer, and the service adds them.
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    # A browser asks each time whether its copy is still right, so pages never mix two versions.
    "Cache-Control": "no-cache",
}

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    "": "text/plain; charset=utf-8",
}


class StaticFile(NamedTuple):
    """One file as it is sent."""

    content: bytes
    media_type: str
    etag: str


@cache
def static_files() -> dict[str, StaticFile]:
    """Return every file of the pages by its path below `static`.

    Examples
    --------
    >>> static_files()["lab.html"].media_type
    'text/html; charset=utf-8'
    """
    found = {}
    for path in sorted(FOLDER.rglob("*")):
        if path.is_file() and path.suffix in _TYPES:
            content = path.read_bytes()
            digest = hashlib.blake2b(content, digest_size=12).hexdigest()
            name = path.relative_to(FOLDER).as_posix()
            found[name] = StaticFile(content, _TYPES[path.suffix], f'"{digest}"')
    return found


router = APIRouter(include_in_schema=False)


def _send(request: Request, name: str) -> Response:
    file = static_files().get(name)
    if file is None:
        message = f"there is no file {name[:80]!r} among the pages; start at /."
        return Response(message, 404, headers=HEADERS, media_type="text/plain; charset=utf-8")
    headers = HEADERS | {"ETag": file.etag}
    if request.headers.get("If-None-Match") == file.etag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media_type)


@router.get("/")
def console(request: Request) -> Response:
    """Send the console."""
    return _send(request, "console.html")


@router.get("/lab")
def lab(request: Request) -> Response:
    """Send the lab."""
    return _send(request, "lab.html")


@router.get("/static/{name:path}")
def static(request: Request, name: str) -> Response:
    """Send one of the pages' files."""
    return _send(request, name)
