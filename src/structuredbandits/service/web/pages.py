"""Serves the console at `/`, the lab at `/lab`, and the files that they are made of.

All files are read once and sent from memory: whoever asks for them takes no time from decisions.
"""

from __future__ import annotations

import mimetypes
from functools import lru_cache
from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.requests import Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from structuredbandits.service.web.documents import REVALIDATED, Document

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
HEADERS = REVALIDATED | {"Content-Security-Policy": CONTENT_SECURITY_POLICY}


def read_files(folder: Path) -> dict[str, Document]:
    """Read all files of a folder, by their path in it."""
    return {
        path.relative_to(folder).as_posix(): Document(path.read_bytes(), media_type(path), HEADERS)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def media_type(path: Path) -> str:
    """Return the Content-Type of a file.

    Examples
    --------
    >>> media_type(Path("site.css")), media_type(Path("icon.svg"))
    ('text/css; charset=utf-8', 'image/svg+xml')
    """
    kind = mimetypes.guess_type(path.name)[0] or "text/plain"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind


@lru_cache(maxsize=1)
def files() -> dict[str, Document]:
    """The files of the pages."""
    return read_files(FOLDER)


router = APIRouter(include_in_schema=False)


@router.get("/")
async def console(request: Request) -> Response:
    """Send the console."""
    return files()["console.html"].response(request)


@router.get("/lab")
async def lab(request: Request) -> Response:
    """Send the lab."""
    return files()["lab.html"].response(request)


@router.api_route("/static/{name:path}", methods=["GET", "HEAD"])
async def file(request: Request, name: str) -> Response:
    """Send a file of the pages."""
    found = files().get(name)
    if found is None:
        raise HTTPException(404, "Not Found")
    return found.response(request)


def add_pages(app: FastAPI) -> None:
    """Add the pages and their files to an app."""
    files()  # read before the first request
    app.include_router(router)
