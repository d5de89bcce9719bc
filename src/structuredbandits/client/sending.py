"""What both clients do alike around a call: settings, one attempt's outcome, what comes next.

It decides and never waits or sends: those are the two lines in which the clients differ.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from structuredbandits.client.answers import error_of
from structuredbandits.client.calls import Call
from structuredbandits.client.retries import Retries, read_retry_after
from structuredbandits.errors import InvalidInput, Overloaded, ServiceError, Unreachable

if TYPE_CHECKING:
    import httpx

Result = TypeVar("Result")

#: Another attempt may succeed: too much to do, a proxy without its service, no database just now.
_PASSING = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Target:
    """Where calls go and with which key; printed without the key."""

    url: str
    key: str | None
    timeout_seconds: float
    connections: int

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput(
                f"{self.url!r} is no address of a service: give one like 'http://127.0.0.1:8000'."
            )
        if parts.username or parts.password or parts.query:
            raise InvalidInput(
                "Give the key as key=..., not in the address, where it would be seen."
            )
        if self.key is not None and not (self.key.isascii() and self.key.isprintable()):
            raise InvalidInput("The key has characters that no key has: copy it again.")
        if self.key is not None and (not self.key or " " in self.key):
            raise InvalidInput("The key is empty or has a space in it: copy it again.")
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
        """What an HTTP client is made with."""
        headers = {"Accept": "application/json", "User-Agent": "structuredbandits"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        import httpx

        # Redirects are not followed: the key goes to the address that was given and nowhere else.
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
    """The attempts at one call: each failure either gives the seconds to wait, or is raised."""

    def __init__(self, call: Call[Any], retries: Retries, url: str) -> None:
        self._call = call
        self._retries = retries
        self._url = url
        self._failures = 0
        self._perhaps_done = False
        self._began = time.monotonic()

    def is_done(self, response: httpx.Response) -> bool:
        """Whether an answer says that what was asked is done.

        What is to be deleted may be gone because an earlier attempt, whose end nobody heard of, did
        it.
        """
        gone = self._call.method == "DELETE" and response.status_code == 404
        return response.is_success or (gone and self._perhaps_done)

    def failed(self, error: httpx.TransportError) -> float:
        """Seconds to wait after an attempt without an answer.

        Raises
        ------
        Unreachable
            If there is no further attempt.
        """
        import httpx

        # These three happen before a byte of the request has left.
        unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
        self._perhaps_done |= not unsent
        reason = str(error) or type(error).__name__
        last = Unreachable(
            f"The service at {self._url} gave no answer ({reason}): "
            "check that it runs and that the address is right."
        )
        return self._next(last, self._call.repeatable or unsent, None)

    def answered(self, response: httpx.Response) -> float:
        """Seconds to wait after an answer that is no success.

        Raises
        ------
        ServiceError
            The error that the answer stands for, if there is no further attempt.
        """
        retry_after = read_retry_after(response.headers.get("Retry-After"))
        error = error_of(response.status_code, decoded(response), retry_after)
        # A 429 was refused at the door; after a 503 nobody knows whether it was done.
        self._perhaps_done |= not isinstance(error, Overloaded)
        certain = self._call.repeatable or isinstance(error, Overloaded)
        return self._next(error, response.status_code in _PASSING and certain, retry_after)

    def _next(self, error: ServiceError, again: bool, retry_after: float | None) -> float:
        self._failures += 1
        wait = self._retries.wait(self._failures, retry_after)
        elapsed = time.monotonic() - self._began
        if not again or not self._retries.may_go_on(self._failures, elapsed, wait):
            raise error from None
        return wait


def decoded(response: httpx.Response) -> Any:
    """The answer's JSON, or its text where it is none."""
    kind = response.headers.get("Content-Type", "")
    if kind.split(";")[0].strip() in ("application/json", "application/problem+json"):
        try:
            return response.json()
        except ValueError:
            return response.text
    return response.text


def result_of(call: Call[Result], response: httpx.Response) -> Result:
    """Read a successful answer.

    Raises
    ------
    ServiceError
        If it is not what the service would have said.
    """
    try:
        body = decoded(response)
        return call.read(body if call.header is None else (body, response.headers[call.header]))
    except ServiceError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ServiceError(
            f"The answer {response.text[:80]!r} cannot be read: "
            "check that the URL is that of a structuredbandits service of this version.",
            status=response.status_code,
        ) from None
