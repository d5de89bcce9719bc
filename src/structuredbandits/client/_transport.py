"""What both clients share around a call: settings, the result of an attempt, whether to retry.

Nothing here sends or waits. The retries are written here and not with a library because the
decision to retry needs the call (whether it may be repeated) and the earlier attempts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from structuredbandits.client._requests import Call
from structuredbandits.client._responses import error_of
from structuredbandits.client._retry import Retries, read_retry_after
from structuredbandits.errors import InvalidInput, Overloaded, ServiceError, Unreachable

if TYPE_CHECKING:
    import httpx

Result = TypeVar("Result")

#: Statuses after which a retry may succeed: overload, a proxy without its service, no database.
_TEMPORARY = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Address and key of a service; printed without the key."""

    url: str
    key: str | None
    timeout_seconds: float
    connections: int

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput(
                f"{self.url!r} is not the address of a service: give one like 'http://127.0.0.1:8000'."
            )
        if parts.username or parts.password or parts.query:
            raise InvalidInput(
                "The address contains a user, a password or a query: give the API key as key=..., "
                "not in the address."
            )
        if self.key is not None and not (self.key.isascii() and self.key.isprintable()):
            raise InvalidInput(
                "The key contains characters that are not allowed in a key: copy it again."
            )
        if self.key is not None and (not self.key or " " in self.key):
            raise InvalidInput("The key is empty or contains a space: copy it again.")
        if not self.timeout_seconds > 0:
            raise InvalidInput(
                f"timeout_seconds is {self.timeout_seconds!r}: give a number above 0."
            )

        if isinstance(self.connections, bool) or not isinstance(self.connections, int):
            raise InvalidInput(f"connections is {self.connections!r}: give 1 or more.")
        if self.connections < 1:
            raise InvalidInput(f"connections is {self.connections}: give 1 or more.")

    def __repr__(self) -> str:
        return f"{self.url!r}, key={'None' if self.key is None else '...'}"

    def options(self) -> dict[str, Any]:
        """The arguments of the HTTP client."""
        headers = {"Accept": "application/json", "User-Agent": "structuredbandits"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        import httpx

        # Redirects are not followed, so that the key is sent to the given address only.
        return {
            "limits": httpx.Limits(
                max_connections=self.connections, max_keepalive_connections=self.connections
            ),
            "base_url": self.url,
            "headers": headers,
            "timeout": self.timeout_seconds,
            "follow_redirects": False,
        }


def options_of(call: Call[Any]) -> dict[str, Any]:
    """The arguments with which an HTTP client sends a call."""
    options: dict[str, Any] = {"method": call.method, "url": call.path, "headers": call.headers}
    if call.query:
        options["params"] = call.query
    if call.body is not None:
        options["json"] = call.body
    return options


class Attempts:
    """The attempts of one call: a failure either gives the seconds to wait, or is raised."""

    def __init__(self, call: Call[Any], retries: Retries, url: str) -> None:
        self._call = call
        self._retries = retries
        self._url = url
        self._failures = 0
        self._maybe_done = False
        self._began = time.monotonic()

    def is_done(self, response: httpx.Response) -> bool:
        """Whether the response says that the call is done.

        A 404 to a deletion counts as done if an earlier attempt may have deleted the subject.
        """
        gone = self._call.method == "DELETE" and response.status_code == 404
        return response.is_success or (gone and self._maybe_done)

    def failed(self, error: httpx.TransportError) -> float:
        """Seconds to wait after an attempt without a response.

        Raises
        ------
        Unreachable
            If the call is not retried.
        """
        import httpx

        # These three happen before any byte of the request is sent.
        unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
        self._maybe_done |= not unsent
        reason = str(error) or type(error).__name__
        last = Unreachable(
            f"The service at {self._url} did not respond ({reason}): "
            "check that it is running and that the address is right."
        )
        return self._next(last, self._call.repeatable or unsent, None)

    def answered(self, response: httpx.Response) -> float:
        """Seconds to wait after a response that is not a success.

        Raises
        ------
        ServiceError
            The error of the response, if the call is not retried.
        """
        retry_after = read_retry_after(response.headers.get("Retry-After"))
        error = error_of(response.status_code, decoded(response), retry_after)
        # A 429 is refused before any work; after a 503 it is unknown whether the call was done.
        self._maybe_done |= not isinstance(error, Overloaded)
        certain = self._call.repeatable or isinstance(error, Overloaded)
        return self._next(error, response.status_code in _TEMPORARY and certain, retry_after)

    def _next(self, error: ServiceError, again: bool, retry_after: float | None) -> float:
        self._failures += 1
        wait = self._retries.wait(self._failures, retry_after)
        elapsed = time.monotonic() - self._began
        if not again or not self._retries.may_go_on(self._failures, elapsed, wait):
            raise error from None
        return wait


def decoded(response: httpx.Response) -> Any:
    """The JSON of a response, or its text if it is not JSON."""
    kind = response.headers.get("Content-Type", "")
    if kind.split(";")[0].strip() in ("application/json", "application/problem+json"):
        try:
            return response.json()
        except ValueError:
            return response.text
    return response.text


def result_of(call: Call[Result], response: httpx.Response) -> Result:
    """Read a successful response.

    Raises
    ------
    ServiceError
        If it is not a response of the service.
    """
    try:
        body = decoded(response)
        return call.read(body if call.header is None else (body, response.headers[call.header]))
    except ServiceError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ServiceError(
            f"The response {response.text[:80]!r} cannot be read: "
            "check that the URL is that of a structuredbandits service of this version.",
            status=response.status_code,
        ) from None
