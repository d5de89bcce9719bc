"""Limits of connections: how many, how large a request's head is, how slow a client may be.

Uvicorn parses with httptools, which limits neither the size of headers nor the time to send them,
and Uvicorn's own limit of connections counts those that never send a request. The class here adds
these limits to Uvicorn's protocol. A connection that exceeds a number takes the place of the one
that has sent no complete request for longest, so strangers who only hold connections open replace
each other, and everybody else is served.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from structuredbandits.service.settings import ConnectionLimits

_MOST_HEADERS = 128
# A client that reads this much of an answer within the time is slow, but not stalled.
_PROGRESS_BYTES = 16_384
_SWEEP_SECONDS = 1.0
# Connections that the system accepts before the process does.
BACKLOG = 128
_FILES_WITHOUT_LIMIT = 1_048_576
_TOO_LARGE = b"the headers of the request are too large"


def allowed_files() -> int:
    """Raise the number of files that this process may open as far as it is allowed, and return it.

    Examples
    --------
    >>> allowed_files() >= 64
    True
    """
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limit
        return _FILES_WITHOUT_LIMIT
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES_WITHOUT_LIMIT if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


class Connections:
    """The connections of one server, by what they wait for.

    Parameters
    ----------
    limits
        What is allowed.
    body_bytes
        The largest body, of which a client may send a little more before it is dropped.
    """

    def __init__(self, limits: ConnectionLimits, body_bytes: int) -> None:
        self.limits = limits
        self.request_bytes = 2 * body_bytes + limits.header_bytes
        self.dropped: Counter[str] = Counter()
        # Values are times of the last change, so that the oldest comes first.
        self._unfinished: dict[LimitedProtocol, float] = {}  # the request is not complete
        self._idle: dict[LimitedProtocol, float] = {}  # between two requests
        self._all: set[LimitedProtocol] = set()
        self._by_address: Counter[str] = Counter()
        self._sweeping = False

    def __len__(self) -> int:
        return len(self._all)

    def admit(self, new: LimitedProtocol) -> bool:
        """Add a connection, in place of another one if there are too many."""
        self._all.add(new)
        self._by_address[new.address] += 1
        self._unfinished[new] = time.monotonic()
        if not self._sweeping:
            self._sweeping = True
            new.loop.call_later(_SWEEP_SECONDS, self._sweep, new.loop)
        if self._by_address[new.address] > self.limits.of_one_address:
            return self._replace(new, new.address)
        return len(self._all) <= self.limits.connections or self._replace(new, None)

    def _replace(self, new: LimitedProtocol, address: str | None) -> bool:
        """Drop the connection that has sent nothing for longest; False if all others are busy."""
        for group in (self._unfinished, self._idle):
            for one in group:
                if one is not new and address in (None, one.address):
                    self.drop(one, "too many")
                    return True
        return False

    def remove(self, one: LimitedProtocol) -> None:
        """Forget a connection that has ended."""
        if one in self._all:
            self._all.discard(one)
            self._unfinished.pop(one, None)
            self._idle.pop(one, None)
            self._by_address[one.address] -= 1
            if not self._by_address[one.address]:
                del self._by_address[one.address]

    def drop(self, one: LimitedProtocol, reason: str) -> None:
        """End a connection at once."""
        self.dropped[reason] += 1
        self.remove(one)
        one.transport.abort()

    def unfinished(self, one: LimitedProtocol) -> None:
        """A part of a request has come."""
        self._idle.pop(one, None)
        self._unfinished.pop(one, None)
        self._unfinished[one] = time.monotonic()

    def complete(self, one: LimitedProtocol) -> None:
        """A whole request has come."""
        self._unfinished.pop(one, None)

    def idle(self, one: LimitedProtocol) -> None:
        """A request was answered."""
        if one not in self._unfinished and one in self._all:
            self._idle[one] = time.monotonic()

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Drop the clients that have been too slow."""
        moment = time.monotonic()
        for one, since in list(self._unfinished.items()):
            limits = self.limits
            allowed = limits.body_seconds if one.in_body else limits.header_seconds
            if moment - since > allowed:
                self.drop(one, "slow body" if one.in_body else "slow headers")
        for one in list(self._all):
            if one.is_stalled(moment, self.limits.stalled_seconds):
                self.drop(one, "slow reader")
        self._sweeping = bool(self._all)
        if self._sweeping:
            loop.call_later(_SWEEP_SECONDS, self._sweep, loop)


class LimitedProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with the limits of `Connections`, one instance per connection."""

    held: Connections  # by the class that `limited_protocol` makes

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # theirs is wider
        """Admit a connection, or close it if all others are busy."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self.in_body = False
        self._received = 0  # bytes of the present request
        self._refusal: bytes | None = None
        self._unread: tuple[float, int] = (0.0, 0)  # since when this much waits to be read
        if not self.held.admit(self):
            self.held.drop(self, "too many")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self.held.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        self._received += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if not self.in_body and self._received > self.held.limits.header_bytes:
            self._refusal = _TOO_LARGE
            self.send_400_response("")
        elif self._received > self.held.request_bytes:
            self.held.drop(self, "endless body")

    def on_message_begin(self) -> None:
        """Begin a request."""
        self.held.unfinished(self)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Check the head of a request, and answer it."""
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > self.held.limits.header_bytes or len(self.headers) > _MOST_HEADERS:
            self._refusal = _TOO_LARGE
            raise ValueError  # which ends the parser, and calls send_400_response
        self.in_body = True
        self.held.unfinished(self)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End a request."""
        self.in_body = False
        self._received = 0
        self.held.complete(self)
        super().on_message_complete()
        if self.cycle.response_complete:
            self.held.idle(self)

    def on_response_complete(self) -> None:
        """Answered: the next request is waited for."""
        self.held.idle(self)
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that cannot be read, or whose head is too large."""
        if self._refusal is None:
            super().send_400_response(msg)
            return
        self.held.dropped["large headers"] += 1
        body = (
            b'{"error":{"code":"headers_too_large","message":"' + self._refusal + b'.",'
            b'"remedy":"Send at most %d headers, and %d bytes."}}'
            % (_MOST_HEADERS, self.held.limits.header_bytes)
        )
        self.transport.write(
            b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(body), body)
        )
        self.transport.close()

    def is_stalled(self, moment: float, seconds: float) -> bool:
        """Whether the client has not read its answer for some time."""
        size = self.transport.get_write_buffer_size()
        since, before = self._unread
        if size > before or size <= before - _PROGRESS_BYTES or not size:
            self._unread = (moment, size)
            return False
        return moment - since > seconds


def limited_protocol(
    limits: ConnectionLimits, body_bytes: int
) -> tuple[type[LimitedProtocol], Connections]:
    """The protocol of one server, and its connections."""
    held = Connections(limits, body_bytes)
    return type("LimitedProtocol", (LimitedProtocol,), {"held": held}), held
