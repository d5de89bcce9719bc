"""Slashes inside the ID of a subject, which is one part of a path.

A server decodes a path before routes are compared with it, so that ``a%2Fb`` becomes two parts.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from starlette.types import Scope

# Stands for a slash inside a part. No client can send it: it is not a character of UTF-8.
_SLASH = "\udc2f"
_SUBJECTS = "/subjects/"


def keep_escaped_slashes(scope: Scope) -> Scope:
    """Return a request whose path has the same parts as the one that was sent.

    Examples
    --------
    >>> scope = {"path": "/v1/subjects/a/b/steps", "raw_path": b"/v1/subjects/a%2Fb/steps"}
    >>> [with_slashes(part) for part in keep_escaped_slashes(scope)["path"].split("/")]
    ['', 'v1', 'subjects', 'a/b', 'steps']
    """
    raw: bytes = scope.get("raw_path") or b""
    if b"%2" not in raw or b"%2f" not in raw.lower() or _SUBJECTS not in scope["path"]:
        return scope
    parts = raw.decode("ascii", "replace").split("/")
    path = "/".join(unquote(part).replace("/", _SLASH) for part in parts)
    # A copy, because the server may write the path into its log.
    return {**scope, "path": path}


def with_slashes(part: Any) -> Any:
    """Return a part of a path with its slashes."""
    return part.replace(_SLASH, "/") if isinstance(part, str) else part
