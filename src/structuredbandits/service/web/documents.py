"""Documents that are made once and sent from memory, compressed and with an ETag."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

# A browser revalidates its copy each time, so a page never mixes files of two versions.
REVALIDATED = {"Cache-Control": "no-cache"}
_COMPRESSED_FROM_BYTES = 1_000


class Document:
    """What is sent to everybody who asks for a page or a file of it.

    Parameters
    ----------
    content
        The whole of it.
    media_type
        As in the header Content-Type.
    headers
        Sent besides those of the document itself.

    Examples
    --------
    >>> request = Request({"type": "http", "headers": []})
    >>> Document(b"text", "text/plain").response(request).body
    b'text'
    """

    def __init__(
        self, content: bytes, media_type: str, headers: Mapping[str, str] = REVALIDATED
    ) -> None:
        self._content = content
        self._media_type = media_type
        large = len(content) >= _COMPRESSED_FROM_BYTES
        self._compressed = gzip.compress(content, 9, mtime=0) if large else content
        self.etag = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
        self._headers = {**headers, "ETag": self.etag, "Vary": "Accept-Encoding"}

    def response(self, request: Request) -> Response:
        """Return the document, or 304 if the browser has it."""
        known = request.headers.get("if-none-match", "")
        if any(one.strip().removeprefix("W/") in (self.etag, "*") for one in known.split(",")):
            return Response(status_code=304, headers=self._headers)
        accepted = "gzip" in request.headers.get("accept-encoding", "")
        if not accepted or len(self._compressed) >= len(self._content):
            return Response(self._content, headers=self._headers, media_type=self._media_type)
        headers = self._headers | {"Content-Encoding": "gzip"}
        return Response(self._compressed, headers=headers, media_type=self._media_type)
