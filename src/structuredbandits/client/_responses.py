"""Converts error responses of the service to the exceptions of the library."""

from __future__ import annotations

from typing import Any

from structuredbandits.errors import (
    Conflict,
    NotAllowed,
    NotFound,
    Overloaded,
    Refused,
    ServiceError,
    Unavailable,
    Unusable,
)

_BY_STATUS: dict[int, type[ServiceError]] = {
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    429: Overloaded,
    503: Unavailable,
}
_BY_CODE: dict[str, type[ServiceError]] = {"experiment_unusable": Unusable}


def error_of(status: int, body: object, retry_after: float | None = None) -> ServiceError:
    """The exception for a response that is not a 2xx.

    Parameters
    ----------
    status
        The HTTP status.
    body
        The decoded JSON, or the text of any other response (a proxy's page, for example).
    retry_after
        The Retry-After header in seconds.

    Examples
    --------
    >>> body = {"error": {"code": "unknown_arm", "message": "No arm 'x'.", "remedy": "Use 'a'."}}
    >>> error_of(422, body)
    Refused("No arm 'x'. Use 'a'.")
    >>> error_of(502, "<html>Bad gateway</html>")
    ServiceError('The service answered 502: <html>Bad gateway</html>')
    """
    code, message = "", ""
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        fault: dict[str, Any] = body["error"]
        code = str(fault.get("code", ""))
        message = " ".join(str(fault[name]) for name in ("message", "remedy") if fault.get(name))
    if not message:
        shown = str(body).strip()[:200] or "nothing else"
        message = f"The service answered {status}: {shown}"
    kind = _BY_CODE.get(code) or _BY_STATUS.get(
        status, Refused if 400 <= status < 500 else ServiceError
    )
    return kind(message, status=status, code=code, retry_after=retry_after)
