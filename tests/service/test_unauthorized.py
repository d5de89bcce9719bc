"""Without a key, with the wrong one, or from somebody else's page: nothing is read, nor done."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from structuredbandits.service.api.middleware import RequestMiddleware
from structuredbandits.service.metrics import Metrics
from structuredbandits.service.security.api_keys import create_key
from tests.service.conftest import Api, running, settings_for
from tests.service.test_experiments import code

JSON = {"Content-Type": "application/json"}
MANY_VALUES = b"[" + b"[]," * 150_000 + b"[]]"


@pytest.fixture
def locked(sqlite_url: str) -> Iterator[Api]:
    """A service that asks for keys; the client has one that opens everything."""
    for api in running(settings_for(sqlite_url, insecure=False)):
        api.client.headers.update(key(api, "admin"))
        yield api


def key(api: Api, *scopes: str, experiment: str | None = None) -> dict[str, str]:
    with api.service.database.write() as connection:
        text, _ = create_key(connection, scopes, experiment)
    return {"Authorization": f"Bearer {text}"}


def writing_routes(api: Api) -> list[tuple[str, str]]:
    """Every documented route that takes a body: method and path."""
    found = []
    for path, methods in api.client.get("/openapi.json").json()["paths"].items():
        filled = path.replace("{experiment}", "shop").replace("{arm}", "1")
        filled = filled.replace("{decision}", "1-1-00000000").replace("{subject}", "ana")
        found += [(m.upper(), filled) for m, what in methods.items() if "requestBody" in what]
    assert len(found) >= 10
    return found


def answer_to_a_head(api: Api, method: str, path: str, *headers: str) -> bytes:
    """The first line of the answer to a request whose body never comes."""
    url = api.client.base_url
    with socket.create_connection((url.host, url.port or 80), timeout=30) as line:
        head = [f"{method} {path} HTTP/1.1", f"Host: {url.host}:{url.port}"]
        head += ["Content-Type: application/json", "Content-Length: 1000", *headers]
        line.sendall("\r\n".join([*head, "", "{"]).encode())
        return line.recv(1000).split(b"\r\n")[0]


def test_no_body_is_waited_for_without_a_key_or_with_the_wrong_one(locked: Api) -> None:
    locked.create()
    wrong = "Authorization: Bearer sb_000000000000_" + "A" * 43
    for method, path in writing_routes(locked):
        assert b" 401 " in answer_to_a_head(locked, method, path), path
        assert b" 401 " in answer_to_a_head(locked, method, path, wrong), path


def test_no_body_is_waited_for_with_a_key_that_does_not_open_the_route(locked: Api) -> None:
    locked.create()
    reader = f"Authorization: {key(locked, 'read')['Authorization']}"
    elsewhere = key(locked, "admin", experiment="shop")["Authorization"]
    for method, path in writing_routes(locked):
        if path.startswith("/v1/lab"):
            continue
        assert b" 403 " in answer_to_a_head(locked, method, path, reader), path
        if "/shop/" in path:
            other = path.replace("/shop/", "/other/")
            told = answer_to_a_head(locked, method, other, f"Authorization: {elsewhere}")
            assert b" 404 " in told, path


def test_what_is_not_json_is_a_401_without_a_key_and_an_input_error_with_one(locked: Api) -> None:
    locked.create()
    with httpx.Client(base_url=locked.client.base_url) as stranger:
        for method, path in writing_routes(locked):
            for content in (b"{", MANY_VALUES):
                asked: dict[str, Any] = {"content": content, "headers": JSON}
                assert code(stranger.request(method, path, **asked)) == (401, "no_key"), path
            known = locked.client.request(method, path, content=b"{", headers=JSON)
            # The protocol of OpenFeature has its own status for a body that cannot be read.
            assert known.status_code == (400 if path.startswith("/ofrep/") else 422), path


def test_a_body_of_very_many_values_is_refused_before_it_is_parsed(locked: Api) -> None:
    locked.create()
    for method, path in writing_routes(locked):
        answer = locked.client.request(method, path, content=MANY_VALUES, headers=JSON)
        assert code(answer) == (413, "too_large"), path
        assert "more than 100,000 values" in answer.json()["error"]["message"]
    large = [{"decision": "1-1-00000000", "reward": 1.0}] * 1000
    assert locked.client.post("/v1/rewards", json={"rewards": large}).status_code == 200
    arms = [f"arm {number}" for number in range(60)]
    batch = [{"subject": f"s{number}", "arms": arms} for number in range(1000)]
    body = {"decisions": batch}
    assert len(json.dumps(body)) > 500_000
    path = "/v1/experiments/shop/decisions/batch"
    assert locked.client.post(path, json=body).status_code == 200


@pytest.mark.parametrize("path", ["/v1/lab/problems", "/v1/lab/looks", "/metrics"])
def test_the_lab_and_the_metrics_ask_for_a_key(locked: Api, path: str) -> None:
    locked.create()
    # The process of the lab may take a while to start.
    with httpx.Client(base_url=locked.client.base_url, timeout=600.0) as stranger:
        assert code(stranger.get(path)) == (401, "no_key")
        assert stranger.get(path, headers=key(locked, "read")).status_code == 200
        deciding = stranger.get(path, headers=key(locked, "decide"))
        single = stranger.get(path, headers=key(locked, "read", experiment="shop"))
        assert code(deciding) == (403, "scope_missing")
        if path == "/metrics":  # they name every experiment
            assert code(single) == (403, "one_experiment_only")
        else:
            assert single.status_code == 200


@pytest.mark.parametrize("length", [b"9" * 30, b"9" * 5_000, b"-1", b"1e3", "\u0661".encode()])
def test_a_length_that_is_none_or_too_large_is_refused(length: bytes) -> None:
    """Some servers hand on what they read in the head, whatever it is."""

    async def unreachable(*_: Any) -> None:
        raise AssertionError

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "headers": [(b"content-length", length)]}
    gate = RequestMiddleware(unreachable, Metrics(), 1_000, keyless=False, log_requests=False)
    asyncio.run(gate(scope, unreachable, send))
    assert sent[0]["status"] == 413


def test_the_metrics_can_be_opened_by_a_setting(sqlite_url: str) -> None:
    for api in running(settings_for(sqlite_url, insecure=False, public_metrics=True)):
        answer = api.client.get("/metrics")
        assert answer.status_code == 200
        assert "structuredbandits_requests_total" in answer.text
        assert code(api.client.get("/v1/experiments")) == (401, "no_key")


def own(api: Api) -> str:
    return f"127.0.0.1:{api.client.base_url.port}"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", "127.0.0.1.evil.example", ""]
)
def test_a_name_of_somebody_else_does_not_lead_to_a_service_without_keys(
    lite: Api, host: str
) -> None:
    """A page could otherwise let its own name lead here, and read all (DNS rebinding)."""
    lite.create()
    headers = {"Host": host.format(port=lite.client.base_url.port)}
    for path in ("/v1/experiments", "/", "/metrics", "/v1/experiments/shop/events", "/livez"):
        answer = lite.client.get(path, headers=headers)
        assert code(answer) == (403, "foreign_host"), path
        assert "shop" not in answer.text
    port = lite.client.base_url.port
    for name in (f"127.0.0.1:{port}", f"localhost:{port}", f"LocalHost:{port}", f"[::1]:{port}"):
        assert lite.client.get("/v1/experiments", headers={"Host": name}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
    ],
    ids=str,
)
def test_a_page_of_somebody_else_changes_nothing(lite: Api, headers: dict[str, str]) -> None:
    lite.create()
    decision = lite.decide()
    form = headers | {"Content-Type": "application/x-www-form-urlencoded"}
    asked = [
        lite.client.post("/v1/experiments/shop/arms/1/retire", headers=form),
        lite.client.post("/v1/experiments/shop/decisions", json={"subject": "x"}, headers=headers),
        lite.client.put(
            f"/v1/decisions/{decision['id']}/reward", json={"reward": 1.0}, headers=headers
        ),
        lite.client.delete("/v1/experiments/shop/subjects/ana", headers=headers),
        lite.client.patch("/v1/experiments/shop", json={"state": "paused"}, headers=headers),
    ]
    for answer in asked:
        assert code(answer) == (403, "foreign_page")
    assert lite.client.get("/v1/experiments/shop").json()["retired_arms"] == []
    assert (lite.count("subjects"), lite.count("decisions")) == (1, 1)


def test_the_own_pages_and_links_to_them_work_without_keys(lite: Api) -> None:
    lite.create()
    same = {"Origin": f"http://{own(lite)}", "Sec-Fetch-Site": "same-origin"}
    path = "/v1/experiments/shop/arms/1/retire"
    assert lite.client.post(path, headers=same).status_code == 200
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert lite.client.get("/", headers=followed).status_code == 200
    typed = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}
    assert lite.client.get("/v1/experiments", headers=typed).status_code == 200
    embedded = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert code(lite.client.get("/v1/experiments", headers=embedded)) == (403, "foreign_page")


def test_a_service_with_keys_may_have_any_name(locked: Api) -> None:
    """A proxy before it passes on the name by which it is known."""
    answer = locked.client.get("/v1/experiments", headers={"Host": "bandits.example"})
    assert answer.status_code == 200
