"""Requests of any size or shape get a 4xx, and the server goes on."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.service_guarantees.conftest import EXPERIMENT, create
from tests.service_guarantees.servers import Launcher, Server

JSON = {"Content-Type": "application/json"}

PLACES = [
    ("POST", "/v1/experiments"),
    ("PATCH", f"/v1/experiments/{EXPERIMENT}"),
    ("POST", f"/v1/experiments/{EXPERIMENT}/structures"),
    ("POST", f"/v1/experiments/{EXPERIMENT}/decisions"),
    ("POST", f"/v1/experiments/{EXPERIMENT}/decisions/batch"),
    ("PUT", "/v1/decisions/1-1-00000000/reward"),
    ("POST", "/v1/decisions/1-1-00000000/corrections"),
    ("POST", "/v1/rewards"),
]

BODIES = {
    "nothing": b"",
    "half of an object": b'{"subject": "a"',
    "a number": b"7",
    "null": b"null",
    "a list": b"[]",
    "not UTF-8": b'{"subject": "\xff\xfe"}',
    "a lone surrogate": b'{"subject": "\\ud800", "reward": "\\ud800"}',
    "a zero character": b'{"subject": "a\\u0000b", "structure": {"problem": "\\u0000"}}',
    "not a number": b'{"reward": NaN, "subject": NaN}',
    "infinity": b'{"reward": Infinity, "reason": "r"}',
    "a huge number": b'{"reward": 1e999, "reason": "r"}',
    "a huge whole number": b'{"reward": ' + b"9" * 5_000 + b', "reason": "r"}',
    "a deep list": b"[" * 100_000 + b"]" * 100_000,
    "a deep object": b'{"subject":' * 20_000 + b"1" + b"}" * 20_000,
    "wrong types": b'{"subject": {"a": 1}, "reward": [], "structure": 3, "state": 0, "id": []}',
    "an empty subject": b'{"subject": ""}',
    "a long subject": b'{"subject": "' + b"s" * 100_000 + b'"}',
    "many arms": b'{"subject": "s", "arms": [' + b'"x",' * 50_000 + b'"x"]}',
    "no arms": b'{"subject": "s", "arms": []}',
    "an empty batch of wrong kind": b'{"decisions": {}, "rewards": {}}',
    "a batch of rubbish": b'{"decisions": [1, null, "a"], "rewards": [1, null, "a"]}',
    "a large batch": json.dumps(
        {
            "decisions": [{"subject": "s"}] * 20_000,
            "rewards": [{"decision": "1-1-00000000", "reward": 1}] * 20_000,
        }
    ).encode(),
    "a file that is none": b'{"structure": {"file": "AAAA"}, "policy": "ts"}',
    "a path as a problem": b'{"structure": {"problem": "/etc/passwd"}, "policy": "ts"}',
}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def server(
    launch: Launcher, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Server]:
    """On either database: what SQLite would store PostgreSQL may choke on."""
    if request.param == "sqlite":
        database = str(tmp_path_factory.mktemp("rubbish") / "bandits.db")
    else:
        database = request.getfixturevalue("postgres").new_database()
    made = launch.start("--db", database, "--insecure")
    create(made)
    yield made
    assert made.status("/readyz") == 200
    assert "Traceback" not in made.text()
    made.stop()


def check_refused(answer: httpx.Response) -> None:
    assert 400 <= answer.status_code < 500, answer.text[:500]
    fault = answer.json()["error"]
    assert fault["code"]
    assert fault["message"]
    assert len(answer.content) < 5_000, "an answer must not carry the rubbish back"


@pytest.mark.parametrize("rubbish", BODIES, ids=lambda name: name.replace(" ", "-"))
def test_rubbish_is_refused_everywhere(server: Server, rubbish: str) -> None:
    with httpx.Client(base_url=server.url, timeout=30) as http:
        for method, path in PLACES:
            check_refused(http.request(method, path, content=BODIES[rubbish], headers=JSON))


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    place=st.sampled_from(PLACES),
    body=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    ["subject", "arms", "reward", "decisions", "structure", "id", "key"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=8,
    ),
)
def test_any_json_is_answered_without_a_500(
    server: Server, place: tuple[str, str], body: object
) -> None:
    method, path = place
    content = json.dumps(body).encode()
    answer = httpx.request(method, server.url + path, content=content, headers=JSON, timeout=30)
    assert answer.status_code < 500


@pytest.mark.parametrize("size", [20_000_000, 200_000_000])
def test_a_body_that_is_too_large_is_refused_before_it_is_read(server: Server, size: int) -> None:
    """Only its head is sent: the length that it announces is enough."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
        head = (
            f"POST /v1/experiments/{EXPERIMENT}/decisions HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{server.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
        )
        line.sendall(head.encode() + b"{")
        assert line.recv(100).split()[1] == b"413"


def test_a_body_without_a_length_is_bounded_too(server: Server) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(400):
            yield b" " * 65_536

    try:
        answer = httpx.post(
            f"{server.url}/v1/experiments/{EXPERIMENT}/decisions",
            content=endless(),
            headers=JSON,
            timeout=30,
        )
    except httpx.TransportError:
        return  # it hung up in the middle of the flood, as it may
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "path",
    [
        "/v1/experiments/%00",
        "/v1/experiments/" + "x" * 5_000,
        "/v1/experiments/..%2f..%2fetc%2fpasswd",
        f"/v1/experiments/{EXPERIMENT}/subjects/%00",
        f"/v1/experiments/{EXPERIMENT}/subjects/%ff%fe",
        f"/v1/experiments/{EXPERIMENT}/subjects/" + "x" * 5_000,
        f"/v1/experiments/{EXPERIMENT}/subjects?limit=-1",
        f"/v1/experiments/{EXPERIMENT}/subjects?limit=1e9",
        f"/v1/experiments/{EXPERIMENT}/subjects?after=%00&limit=x",
        f"/v1/experiments/{EXPERIMENT}/structures/0",
        f"/v1/experiments/{EXPERIMENT}/structures/99999999999999999999",
        f"/v1/experiments/{EXPERIMENT}/structures/x",
        f"/v1/experiments/{EXPERIMENT}/events?after=rubbish",
        f"/v1/experiments/{EXPERIMENT}/events?after=-5",
        f"/v1/experiments/{EXPERIMENT}/events?after=1.1.9999999999",
        f"/v1/experiments/{EXPERIMENT}/events?after=9999999999999999999.1.1",
        f"/v1/experiments/{EXPERIMENT}/events?structure_version=2147483648",
        f"/v1/experiments/{EXPERIMENT}/subjects/x/steps?after=2147483648",
        f"/v1/experiments/{EXPERIMENT}/structures/2147483648",
        f"/v1/experiments/{EXPERIMENT}/events?format=exe",
        f"/v1/experiments/{EXPERIMENT}/events?limit=99999999999999999999999",
        "/v1/nothing",
    ],
)
def test_addresses_of_nothing_are_refused(server: Server, path: str) -> None:
    check_refused(httpx.get(server.url + path, timeout=30))


@pytest.mark.parametrize(
    "key", ["", "k" * 5_000, "k\u00e9".encode("latin-1").decode("latin-1"), "a\tb"]
)
def test_odd_keys_are_used_or_refused(server: Server, key: str) -> None:
    answer = httpx.post(
        f"{server.url}/v1/experiments/{EXPERIMENT}/decisions",
        json={"subject": "odd"},
        headers=[(b"Idempotency-Key", key.encode("latin-1"))],
        timeout=30,
    )
    assert answer.status_code < 500


@pytest.mark.parametrize(
    "text",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
        b"POST /v1/rewards HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/rewards HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=["bytes", "version", "long path", "many headers", "length", "chunks"],
)
def test_what_is_no_http_ends_its_own_connection_only(server: Server, text: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
        try:
            line.sendall(text)
            line.shutdown(socket.SHUT_WR)
            told = line.recv(1000)
        except OSError:
            told = b""
    if told:
        assert not told.split()[1].startswith(b"5")
    assert server.status("/livez") == 200
