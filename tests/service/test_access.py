"""Keys and scopes, isolation, headers, limits, metrics: who may do what, and how much."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from structuredbandits.errors import InvalidInput
from structuredbandits.service.security.api_keys import create_key, revoke_key
from structuredbandits.service.settings import Limits
from tests.service.conftest import Api, locked_by_another, running, settings_for
from tests.service.test_experiments import code


@pytest.fixture
def locked(sqlite_url: str) -> Iterator[Api]:
    """A service that asks for keys; the client has one that opens everything."""
    for api in running(settings_for(sqlite_url, insecure=False, key_seconds=0.0)):
        with api.service.database.write() as connection:
            key, _ = create_key(connection, ["admin"])
        api.client.headers["Authorization"] = f"Bearer {key}"
        yield api


def key(api: Api, *scopes: str, experiment: str | None = None) -> dict[str, str]:
    body = {"scopes": list(scopes), "experiment": experiment}
    answer = api.client.post("/v1/keys", json=body)
    assert answer.status_code == 201, answer.text
    return {"Authorization": f"Bearer {answer.json()['key']}"}


def test_nothing_opens_without_a_key(locked: Api) -> None:
    locked.create()
    document = locked.client.get("/openapi.json").json()
    with httpx.Client(base_url=locked.client.base_url) as stranger:
        for path, methods in document["paths"].items():
            if not path.startswith("/v1/") and path != "/metrics":
                continue
            url = path.replace("{experiment}", "shop").replace("{version}", "1")
            url = url.replace("{key}", "0" * 12).replace("{", "").replace("}", "")
            for method in methods:
                answer = stranger.request(method, url, json={})
                assert code(answer) == (401, "no_key"), (method, path)
                assert answer.headers["www-authenticate"] == "Bearer"
        for wrong in ("Bearer sb_000000000000_" + "A" * 43, "Bearer x", "Bearer é"):
            answer = stranger.get("/v1/experiments", headers={"Authorization": wrong.encode()})
            assert code(answer) == (401, "unknown_key")
        basic = stranger.get("/v1/experiments", headers={"Authorization": "Basic YTpi"})
        assert code(basic) == (401, "no_key")
        for free in ("/livez", "/readyz", "/docs", "/lab", "/"):
            assert stranger.get(free).status_code == 200


def test_a_scope_opens_what_it_says_and_no_more(locked: Api) -> None:
    locked.create()
    decision = locked.decide()
    requests = {
        "decide": ("POST", "/v1/experiments/shop/decisions", {"subject": "ana"}),
        "reward": ("PUT", f"/v1/decisions/{decision['id']}/reward", {"reward": 1.0}),
        "read": ("GET", "/v1/experiments/shop", None),
        "admin": ("PATCH", "/v1/experiments/shop", {"state": "running"}),
    }
    for scope in requests:
        headers = key(locked, scope)
        for needed, (method, path, body) in requests.items():
            answer = locked.client.request(method, path, json=body, headers=headers)
            if scope in (needed, "admin"):
                assert answer.status_code < 300, (scope, needed)
            else:
                assert code(answer) == (403, "scope_missing"), (scope, needed)


def test_a_key_of_one_experiment_opens_no_other(locked: Api) -> None:
    locked.create("shop")
    locked.create("news")
    headers = key(locked, "admin", experiment="shop")
    other = locked.decide("ana", "news")
    cases = [
        ("GET", "/v1/experiments/news", None),
        ("POST", "/v1/experiments/news/decisions", {"subject": "ana"}),
        ("POST", "/v1/experiments/news/decisions/batch", {"decisions": [{"subject": "ana"}]}),
        ("GET", "/v1/experiments/news/subjects/ana", None),
        ("DELETE", "/v1/experiments/news/subjects/ana", None),
        ("GET", "/v1/experiments/news/events", None),
        ("GET", "/v1/experiments/news/summary", None),
        ("PATCH", "/v1/experiments/news", {"state": "paused"}),
        ("PUT", f"/v1/decisions/{other['id']}/reward", {"reward": 1.0}),
        ("POST", f"/v1/decisions/{other['id']}/corrections", {"reward": 1.0, "reason": "x"}),
    ]
    for method, path, body in cases:
        answer = locked.client.request(method, path, json=body, headers=headers)
        assert answer.status_code == 404, path
    rewards = {"rewards": [{"decision": other["id"], "reward": 1.0}]}
    told = locked.client.post("/v1/rewards", json=rewards, headers=headers).json()
    assert told["rewards"][0]["error"]["code"] == "unknown_decision"
    listed = locked.client.get("/v1/experiments", headers=headers).json()["experiments"]
    assert [one["id"] for one in listed] == ["shop"]
    for method, path, body in [
        ("POST", "/v1/keys", {"scopes": ["admin"]}),
        ("GET", "/v1/keys", None),
        ("POST", "/v1/experiments", {"structure": {"problem": "three-arms"}, "policy": "ts"}),
    ]:
        answer = locked.client.request(method, path, json=body, headers=headers)
        assert code(answer) == (403, "one_experiment_only")
    same_name = locked.client.post(
        "/v1/experiments/shop/decisions", json={"subject": "ana"}, headers=headers
    )
    assert same_name.json()["round"] == 1  # another experiment's ana is somebody else


def test_a_revoked_key_opens_nothing_and_only_hashes_are_kept(locked: Api, sqlite_url: str) -> None:
    headers = key(locked, "read")
    secret = headers["Authorization"].removeprefix("Bearer ")
    assert locked.client.get("/v1/experiments", headers=headers).status_code == 200
    number = secret.split("_")[1]
    revoked = locked.client.delete(f"/v1/keys/{number}").json()
    assert revoked["revoked"] is not None
    assert code(locked.client.get("/v1/experiments", headers=headers)) == (401, "unknown_key")
    listed = locked.client.get("/v1/keys").text
    assert secret not in listed
    for file in Path(sqlite_url).parent.iterdir():
        assert secret.split("_", 2)[2].encode() not in file.read_bytes()
    with (
        locked.service.database.write() as connection,
        pytest.raises(InvalidInput, match="no key"),
    ):
        revoke_key(connection, "f" * 12)


def test_every_answer_has_the_security_headers(lite: Api) -> None:
    for path in ("/livez", "/docs", "/v1/experiments", "/v1/nothing"):
        headers = lite.client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        # A page may be kept, but not used without asking.
        assert headers["cache-control"] == ("no-cache" if path == "/docs" else "no-store")
        assert "server" not in headers or "uvicorn" not in headers["server"]


def test_what_is_too_much_is_refused(sqlite_url: str) -> None:
    small = settings_for(sqlite_url, limits=Limits(body_bytes=2_000))
    for api in running(small):
        api.create()
        path = "/v1/experiments/shop/decisions"
        large = api.client.post(path, json={"subject": "a" * 5_000})
        assert code(large) == (413, "too_large")
        many = api.client.post(f"{path}/batch", json={"decisions": []})
        assert code(many) == (422, "invalid_request")
        for body in (
            {"subject": ""},
            {"subject": "a" * 201},
            {"subject": "a\x00b"},
            {"subject": 7},
            {"subject": ".."},
            {"subject": "ana", "arms": []},
            {"subject": "ana", "arms": "1"},
            {"subject": "ana", "more": 1},
            [],
            None,
        ):
            assert code(api.client.post(path, json=body)) == (422, "invalid_request"), body
        for content in (b"", b"{", b"\xff\xfe", b'{"subject": "\\ud800"}'):
            headers = {"Content-Type": "application/json"}
            answer = api.client.post(path, content=content, headers=headers)
            assert code(answer) == (422, "invalid_request"), content
        plain = api.client.post(path, content=b'{"subject": "ana"}')
        assert code(plain) == (422, "invalid_request")
        for wrong in ("", "a b", "x" * 201):
            headers = {"Idempotency-Key": wrong}
            answer = api.client.post(path, json={"subject": "ana"}, headers=headers)
            assert code(answer) == (422, "invalid_request"), wrong
        decision = api.decide()
        reward = f"/v1/decisions/{decision['id']}/reward"
        for value in (b"NaN", b"Infinity", b'"1"', b"true", b"null", b"1e400", b"[1]"):
            answer = api.client.put(
                reward,
                content=b'{"reward": ' + value + b"}",
                headers={"Content-Type": "application/json"},
            )
            assert code(answer) == (422, "invalid_request"), value
        assert api.count("decisions") == 1


def test_a_full_queue_is_told_with_a_time_to_come_back(sqlite_url: str) -> None:
    for api in running(settings_for(sqlite_url, queue_length=1)):
        api.create()
        object.__setattr__(api.service.settings, "request_seconds", 2.0)

        def ask(number: int, url: str = str(api.client.base_url)) -> httpx.Response:
            with httpx.Client(base_url=url, timeout=60.0) as client:
                path = "/v1/experiments/shop/decisions"
                return client.post(path, json={"subject": f"visitor {number}"})

        with locked_by_another(sqlite_url), ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(ask, range(8)))
        refused = [one for one in answers if one.status_code == 429]
        assert refused
        assert all(one.headers["retry-after"] == "1" for one in refused)
        assert {one.status_code for one in answers} <= {429, 503}


def test_metrics_name_routes_and_no_subjects(lite: Api) -> None:
    lite.create()
    lite.decide("somebody with a name")
    text = lite.client.get("/metrics").text
    assert 'route="/v1/experiments/{experiment}/decisions",status="201"' in text
    assert 'structuredbandits_decisions_total{experiment="shop",kind="stored"} 1.0' in text
    assert "somebody" not in text
