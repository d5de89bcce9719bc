"""Clients that send endless headers, hold connections open, or are slow: all others are served."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import httpx
import pytest

from structuredbandits.service.settings import ConnectionLimits
from tests.service.conftest import Api, running, settings_for
from tests.service_guarantees.servers import wait_until


@pytest.fixture
def impatient(sqlite_url: str) -> Iterator[Api]:
    """A service that waits a moment for slow clients, and lets one address have 6 connections."""
    limits = ConnectionLimits(
        connections=12,
        per_address=6,
        header_seconds=0.2,
        body_seconds=0.2,
        stalled_seconds=0.2,
    )
    yield from running(settings_for(sqlite_url, connections=limits))


@contextlib.contextmanager
def connected(api: Api, source: str = "127.0.0.1", buffer: int = 0) -> Iterator[socket.socket]:
    with socket.socket() as made:
        if buffer:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        made.settimeout(120.0)
        made.bind((source, 0))
        made.connect(("127.0.0.1", api.client.base_url.port))
        yield made


def ending(connection: socket.socket) -> bytes:
    """What the service sends until it ends the connection."""
    got = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            got += part
    return got


def test_an_endless_header_ends_soon(lite: Api) -> None:
    with connected(lite) as stranger:
        stranger.sendall(b"GET /livez HTTP/1.1\r\nX-Long: ")
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 64_000_000:
                stranger.sendall(b"a" * 65_536)
                sent += 65_536
        assert sent < 64_000_000  # the rest was refused
    wait_until(lambda: lite.connections.dropped["large headers"] == 1)
    assert lite.client.get("/livez").status_code == 200


@pytest.mark.parametrize(
    "head",
    [b"X: " + b"a" * 70_000 + b"\r\n", b"X: a\r\n" * 200, b"X-" + b"a" * 70_000 + b": a\r\n"],
)
def test_large_headers_get_an_answer(lite: Api, head: bytes) -> None:
    with connected(lite) as stranger:
        stranger.sendall(b"GET /livez HTTP/1.1\r\n" + head + b"\r\n")
        assert ending(stranger).startswith(b"HTTP/1.1 431 ")
    long = lite.client.get("/livez", headers={"X-Long": "a" * 20_000})
    assert long.status_code == 200


@pytest.mark.parametrize(
    ("begun", "reason"),
    [
        (b"", "slow headers"),
        (b"GET /livez HTT", "slow headers"),
        (b"GET /livez HTTP/1.1\r\nHost: here\r\n", "slow headers"),
        (
            b"POST /v1/experiments HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
            b"Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{",
            "slow body",
        ),
        (
            b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 50\r\n\r\n{",
            "slow body",
        ),
    ],
)
def test_a_request_that_does_not_end_is_dropped(impatient: Api, begun: bytes, reason: str) -> None:
    port = impatient.client.base_url.port
    assert port is not None
    with connected(impatient) as stranger:
        stranger.sendall(begun % port if b"%d" in begun else begun)
        ending(stranger)
    assert impatient.connections.dropped[reason] == 1
    assert impatient.client.get("/livez").status_code == 200


def test_a_client_that_does_not_read_is_dropped(impatient: Api) -> None:
    port = impatient.client.base_url.port
    with connected(impatient, buffer=4_096) as stranger:
        stranger.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port * 200)
        wait_until(lambda: impatient.connections.dropped["slow reader"] == 1)
        assert impatient.client.get("/livez").status_code == 200


def test_connections_of_one_address_replace_each_other(impatient: Api) -> None:
    """The oldest that has sent nothing goes first; a connection in use stays."""
    assert impatient.client.get("/livez").status_code == 200
    with contextlib.ExitStack() as stack:
        for _ in range(30):
            stack.enter_context(connected(impatient, "127.0.0.2"))
        wait_until(lambda: impatient.connections.dropped["too many"] >= 24)
        for _ in range(30):
            stack.enter_context(connected(impatient, "127.0.0.3"))
        wait_until(lambda: impatient.connections.dropped["too many"] >= 48)
        assert impatient.client.get("/livez").status_code == 200
        with httpx.Client(base_url=impatient.client.base_url) as another:
            assert another.get("/livez").status_code == 200


def test_a_body_without_end_is_dropped(lite: Api) -> None:
    """Parts of a body that no route reads, such as the ends of chunks, count as well."""
    with connected(lite) as stranger:
        stranger.sendall(b"GET /livez HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 200_000_000:
                stranger.sendall((b"1;" + b"a" * 8_000 + b"\r\nb\r\n") * 100)
                sent += 800_000
        assert sent < 200_000_000
    wait_until(lambda: lite.connections.dropped["endless body"] == 1)
