"""Publishable keys: what a page can do with one, from which origins, how often, for whom."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from structuredbandits.client import sign_subject
from structuredbandits.errors import InvalidInput
from structuredbandits.service.security.api_keys import create_key
from structuredbandits.service.security.publishable_keys import (
    PublicTerms,
    read_origins,
    signed_subject,
)
from structuredbandits.service.security.token_buckets import TokenBuckets
from tests.service.conftest import Api, running, settings_for
from tests.service.test_experiments import code

SHOP = "https://shop.example"
DECISIONS = "/v1/experiments/shop/decisions"
FLAG = "/ofrep/v1/evaluate/flags/shop"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One service for all tests of this file, with an admin key."""
    path = str(tmp_path_factory.mktemp("publishable") / "service.db")
    for api in running(settings_for(path, insecure=False)):
        with api.service.database.write() as connection:
            key, _ = create_key(connection, ["admin"])
        api.client.headers["Authorization"] = f"Bearer {key}"
        api.create()
        api.create("news")
        yield api


def make(api: Api, **terms: Any) -> dict[str, Any]:
    body = {
        "scopes": ["decide", "reward"],
        "experiment": "shop",
        "publishable": {"origins": [SHOP]} | terms,
    }
    answer = api.client.post("/v1/keys", json=body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


@contextlib.contextmanager
def page(api: Api, key: dict[str, Any], **headers: str) -> Iterator[httpx.Client]:
    """What a page of the shop sends."""
    sent = {"Authorization": f"Bearer {key['key']}", "Origin": SHOP} | headers
    with httpx.Client(base_url=api.client.base_url, headers=sent, timeout=600.0) as client:
        yield client


def test_a_page_decides_and_rewards(api: Api) -> None:
    key = make(api)
    assert key["key"].startswith("sbp_")
    assert "token_secret" not in key
    with page(api, key) as shop:
        made = shop.post(DECISIONS, json={"subject": "ana"})
        assert made.status_code == 201
        assert made.headers["access-control-allow-origin"] == SHOP
        assert made.headers["vary"] == "origin"
        reward = shop.put(f"/v1/decisions/{made.json()['id']}/reward", json={"reward": 3.0})
        assert reward.json()["counted"]
        flag = shop.post(FLAG, json={"context": {"targetingKey": "ana"}})
        given = {"decision": flag.json()["metadata"]["decision"], "reward": 1.0}
        many = shop.post("/v1/rewards", json={"rewards": [given]})
        assert many.json()["rewards"][0]["counted"]
        flags = shop.post("/ofrep/v1/evaluate/flags", json={"context": {"targetingKey": "ana"}})
        assert [one["key"] for one in flags.json()["flags"]] == ["shop"]


def test_a_page_can_do_nothing_else(api: Api) -> None:
    document = api.client.get("/openapi.json").json()
    may = {"decide", "reward", "rewardMany", "evaluateFlag", "evaluateFlags", "livez", "readyz"}
    with page(api, make(api)) as shop:
        refused = 0
        for path, methods in document["paths"].items():
            url = path.replace("{experiment}", "shop").replace("{version}", "1")
            url = url.replace("{key}", "0" * 12).replace("{", "").replace("}", "")
            for method, operation in methods.items():
                if operation["operationId"] in may:
                    continue
                answer = shop.request(method, url, json={})
                assert answer.status_code == 403, (method, path)
                assert answer.headers["access-control-allow-origin"] == SHOP
                refused += 1
        assert refused > 20
        other = shop.post("/v1/experiments/news/decisions", json={"subject": "ana"})
        assert code(other) == (404, "unknown_experiment")
        foreign = api.decide("ana", "news")
        reward = shop.put(f"/v1/decisions/{foreign['id']}/reward", json={"reward": 3.0})
        assert code(reward) == (404, "unknown_decision")


def test_only_pages_of_the_allowed_origins_may_use_a_key(api: Api) -> None:
    key = make(api)
    with page(api, key, Origin="https://other.example") as other:
        answer = other.post(DECISIONS, json={"subject": "ana"})
        assert code(answer) == (403, "foreign_origin")
        assert "access-control-allow-origin" not in answer.headers
    with page(api, make(api, origins=["*"]), Origin="https://other.example") as other:
        answer = other.post(DECISIONS, json={"subject": "ana"})
        assert answer.headers["access-control-allow-origin"] == "https://other.example"
    with page(api, {"key": "sbp_000000000000_" + "A" * 43}) as wrong:
        answer = wrong.post(DECISIONS, json={"subject": "ana"})
        assert code(answer) == (401, "unknown_key")
        assert answer.headers["access-control-allow-origin"] == SHOP


def test_answers_to_other_keys_cannot_be_read_by_foreign_pages(api: Api) -> None:
    answer = api.client.post(DECISIONS, json={"subject": "ana"}, headers={"Origin": SHOP})
    assert answer.status_code == 201
    assert "access-control-allow-origin" not in answer.headers


def test_browsers_may_send_preflight_requests(api: Api) -> None:
    asked = {"Origin": SHOP, "Access-Control-Request-Method": "POST"}
    with httpx.Client(base_url=api.client.base_url) as browser:
        for path in (DECISIONS, FLAG, "/v1/rewards", "/v1/decisions/1-1-00000000/reward"):
            answer = browser.options(path, headers=asked)
            assert answer.status_code == 204
            assert answer.headers["access-control-allow-origin"] == "*"
            assert "subject-token" in answer.headers["access-control-allow-headers"]
        other = browser.options("/v1/experiments", headers=asked)
        assert "access-control-allow-origin" not in other.headers


def test_each_subject_and_each_address_has_a_rate(api: Api) -> None:
    with page(api, make(api, per_subject=2)) as shop:
        statuses = [shop.post(DECISIONS, json={"subject": "ana"}).status_code for _ in range(3)]
        assert statuses == [201, 201, 429]
        refused = shop.post(FLAG, json={"context": {"targetingKey": "ana"}})
        assert code(refused) == (429, "rate_limit")
        assert 1 <= int(refused.headers["retry-after"]) <= 30
        assert shop.post(DECISIONS, json={"subject": "ben"}).status_code == 201
    with page(api, make(api, per_address=3)) as shop:
        made = [shop.post(DECISIONS, json={"subject": f"v{number}"}) for number in range(2)]
        rewards = [{"decision": one.json()["id"], "reward": 1.0} for one in made]
        assert code(shop.post("/v1/rewards", json={"rewards": rewards})) == (429, "rate_limit")
        assert code(shop.post(DECISIONS, json={"subject": "v3"})) == (429, "rate_limit")


def test_a_bucket_is_refilled() -> None:
    moment = 0.0
    buckets = TokenBuckets(lambda: moment)
    assert [buckets.take("a", 60) for _ in range(60)] == [0.0] * 60
    assert buckets.take("a", 60) == 1.0
    moment = 2.5
    assert [buckets.take("a", 60) for _ in range(3)] == [0.0, 0.0, 0.5]
    moment = 1000.0
    assert buckets.take("a", 60, 1000) == 0.0  # more than a bucket holds, from a full one
    moment = 1001.0
    assert buckets.take("a", 60) > 900.0


def test_with_signed_subjects_nobody_rewards_the_decisions_of_another(api: Api) -> None:
    key = make(api, signed=True)
    tokens = {who: sign_subject(key["token_secret"], who) for who in ("ana", "bén")}
    with page(api, key) as shop:

        def send(who: str | None, method: str, path: str, body: Any) -> httpx.Response:
            headers = {} if who is None else {"Subject-Token": tokens[who]}
            return shop.request(method, path, json=body, headers=headers)

        made = send("ana", "POST", DECISIONS, {"subject": "ana"})
        assert made.status_code == 201
        path, body = f"/v1/decisions/{made.json()['id']}/reward", {"reward": 2.0}
        assert code(send(None, "PUT", path, body)) == (401, "subject_token")
        assert code(send("bén", "PUT", path, body)) == (404, "unknown_decision")
        many = {"rewards": [{"decision": made.json()["id"], "reward": 2.0}]}
        answer = send("bén", "POST", "/v1/rewards", many).json()
        assert answer["rewards"][0]["error"]["code"] == "unknown_decision"
        assert send("ana", "PUT", path, body).json()["counted"]
        assert code(send("ana", "POST", DECISIONS, {"subject": "bén"})) == (403, "foreign_subject")
        assert send("bén", "POST", DECISIONS, {"subject": "bén"}).status_code == 201
        assert code(send(None, "POST", DECISIONS, {"subject": "ana"})) == (401, "subject_token")
        context = {"context": {"targetingKey": "ana"}}
        assert send("bén", "POST", FLAG, context).status_code == 403
        assert send("bén", "POST", "/ofrep/v1/evaluate/flags", context).status_code == 403
    with page(api, make(api, signed=True)) as another:  # each key has its own secret
        headers = {"Subject-Token": tokens["ana"]}
        answer = another.post(DECISIONS, json={"subject": "ana"}, headers=headers)
        assert code(answer) == (401, "subject_token")


def test_tokens_that_are_not_valid() -> None:
    token = sign_subject("secret", "ana", seconds=60)
    assert signed_subject("secret", token) == "ana"
    expires, subject, signature = token.split(".")
    for wrong in (
        "",
        "é",
        f"{int(expires) + 1}.{subject}.{signature}",
        f"{expires}.{subject}x.{signature}",
        token[:-1],
        sign_subject("another", "ana"),
    ):
        assert signed_subject("secret", wrong) is None
    assert signed_subject("secret", _signed("secret", "1.YW5h")) is None  # expired
    assert signed_subject("secret", _signed("secret", "99999999999.%")) is None
    with pytest.raises(InvalidInput, match="seconds is 0"):
        sign_subject("secret", "ana", seconds=0)
    with pytest.raises(InvalidInput, match="subject is empty"):
        sign_subject("secret", "")


def _signed(secret: str, content: str) -> str:
    import hashlib
    import hmac

    return f"{content}.{hmac.new(secret.encode(), content.encode(), hashlib.sha256).hexdigest()}"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"experiment": None}, "a publishable key is for one experiment"),
        ({"scopes": ["decide", "read"]}, "a publishable key is for one experiment"),
        ({"publishable": {"origins": ["shop.example"]}}, "is not an origin"),
        ({"publishable": {"origins": [f"{SHOP}/path"]}}, "is not an origin"),
    ],
)
def test_keys_that_would_open_too_much_are_refused(
    api: Api, body: dict[str, Any], message: str
) -> None:
    usual = {"scopes": ["decide"], "experiment": "shop", "publishable": {"origins": [SHOP]}}
    answer = api.client.post("/v1/keys", json=usual | body)
    assert code(answer) == (422, "invalid_input")
    assert message in answer.json()["error"]["message"]


def test_terms_are_listed_and_stored(api: Api) -> None:
    made = make(api, per_subject=7)
    listed = api.client.get("/v1/keys").json()["keys"]
    (found,) = [one for one in listed if one["id"] == made["id"]]
    assert found["publishable"] == {
        "origins": [SHOP],
        "per_address": 600,
        "per_subject": 7,
        "signed": False,
    }
    with api.service.database.read() as connection:
        stored = connection.execute(
            text("SELECT public_terms FROM keys WHERE id = :id"), {"id": made["id"]}
        ).scalar_one()
    assert PublicTerms.from_json(stored).per_subject == 7
    assert read_origins([" https://Shop.example/ ", ""]) == (SHOP,)
    with pytest.raises(InvalidInput, match="per_subject is 0"):
        PublicTerms((SHOP,), per_subject=0)
    with pytest.raises(InvalidInput, match="has 0 origins"):
        PublicTerms(())
