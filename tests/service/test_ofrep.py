"""Evaluations over the OpenFeature Remote Evaluation Protocol: sticky decisions, payloads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from structuredbandits.service.api import ofrep_models as models
from tests.service.conftest import Api, locked_by_another, running, settings_for
from tests.service.test_openapi import exactly

FLAGS = "/ofrep/v1/evaluate/flags"


def ask(api: Api, flag: str = "shop", subject: str = "ana", **context: Any) -> httpx.Response:
    body = {"context": {"targetingKey": subject} | context}
    return api.client.post(f"{FLAGS}/{flag}", json=body)


def bulk(api: Api, subject: str = "ana", etag: str | None = None) -> httpx.Response:
    headers = {} if etag is None else {"If-None-Match": etag}
    body = {"context": {"targetingKey": subject}}
    return api.client.post(FLAGS, json=body, headers=headers)


def decision(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    return str(answer.json()["metadata"]["decision"])


def age(api: Api, seconds: float) -> None:
    """Make all decisions older."""
    with api.service.database.write() as connection:
        connection.execute(
            text("UPDATE decisions SET created = created - :by"), {"by": round(seconds * 1e6)}
        )


def test_a_flag_is_an_experiment_and_a_variant_is_an_arm(api: Api) -> None:
    api.create()
    answer = ask(api, country="DE", age=40)
    exactly(models.EvaluationSuccess, answer.json())
    flag = answer.json()
    assert flag["value"] == flag["variant"]
    assert flag["variant"] in ("1", "2", "3")
    assert api.reward({"id": decision(answer)}, 4.0).json()["counted"]


def test_an_evaluation_repeats_the_pending_decision(api: Api) -> None:
    api.create(sticky_seconds=60.0)
    first = ask(api)
    age(api, 50)
    assert ask(api).json() == first.json()
    age(api, 20)
    second = ask(api)
    assert decision(second) != decision(first)
    api.reward({"id": decision(second)}, 4.0)
    third = ask(api)
    assert decision(third) not in (decision(first), decision(second))
    assert decision(ask(api, subject="ben")) != decision(third)
    # A decision that was asked for without OpenFeature is a new one, and then the pending one.
    asked = api.decide("ana")
    assert decision(ask(api)) == asked["id"]
    assert api.count("decisions") == 5


def test_requests_at_the_same_time_share_one_decision(api: Api) -> None:
    api.create()
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        found = {decision(answer) for answer in pool.map(lambda _: ask(api), range(24))}
    assert len(found) == 1
    assert api.count("decisions") == 1


def test_without_sticky_seconds_each_evaluation_decides(lite: Api) -> None:
    lite.create(sticky_seconds=0.0)
    assert decision(ask(lite)) != decision(ask(lite))


def test_a_pending_decision_is_repeated_only_while_its_arm_may_be_shown(lite: Api) -> None:
    lite.create()
    first = ask(lite).json()
    arm = first["variant"]
    others = [name for name in ("1", "2", "3") if name != arm]
    narrowed = ask(lite, arms=others).json()
    assert narrowed["variant"] in others
    assert lite.client.post(f"/v1/experiments/shop/arms/{narrowed['variant']}/retire").is_success
    assert ask(lite).json()["variant"] != narrowed["variant"]


def test_an_expired_decision_is_not_repeated(lite: Api) -> None:
    lite.create(reward_deadline_seconds=3600.0)
    first = ask(lite)
    with lite.service.database.write() as connection:
        connection.execute(text("UPDATE decisions SET expires = 1"))
    assert decision(ask(lite)) != decision(first)


def test_the_value_is_what_the_experiment_defines_for_the_arm(lite: Api) -> None:
    payloads = {"1": {"banner": "spring.png"}, "2": {"banner": "sale.png"}}
    made = lite.create(payloads=payloads)
    assert made["settings"]["payloads"] == payloads
    flag = ask(lite).json()
    assert flag["value"] == payloads.get(flag["variant"], flag["variant"])
    again = lite.decide("ben", arms=["2"])
    assert again["payload"] == {"banner": "sale.png"}
    assert lite.decide("ben", arms=["3"])["payload"] == "3"
    changed = lite.client.patch("/v1/experiments/shop", json={"payloads": {"2": 7}})
    assert changed.json()["settings"]["payloads"] == {"2": 7}
    assert lite.decide("ben", arms=["2"])["payload"] == 7
    removed = lite.client.patch("/v1/experiments/shop", json={"payloads": None})
    assert removed.json()["settings"]["payloads"] is None
    assert "payload" not in lite.decide("ben", arms=["2"])


@pytest.mark.parametrize(
    ("payloads", "code"),
    [
        ({"4": 1}, "unknown_arm"),
        ({"1": "x" * 70_000}, "invalid_input"),
        ({"1": 2**70}, "invalid_input"),
    ],
)
def test_payloads_that_cannot_be_used_are_refused(lite: Api, payloads: Any, code: str) -> None:
    body = {"id": "shop", "structure": {"problem": "three-arms"}, "policy": "ts-c"}
    answer = lite.client.post("/v1/experiments", json=body | {"settings": {"payloads": payloads}})
    assert answer.json()["error"]["code"] == code
    lite.create()
    answer = lite.client.patch("/v1/experiments/shop", json={"payloads": payloads})
    assert answer.json()["error"]["code"] == code


def test_older_replicas_can_read_new_experiments(lite: Api) -> None:
    lite.create()
    with lite.service.database.read() as connection:
        stored = str(connection.execute(text("SELECT settings FROM experiments")).scalar_one())
    assert "sticky" not in stored
    assert "payloads" not in stored


def test_bulk_evaluation_has_an_etag(lite: Api) -> None:
    lite.create("shop")
    lite.create("news")
    lite.create("off")
    lite.client.patch("/v1/experiments/off", json={"state": "paused"})
    first = bulk(lite)
    exactly(models.BulkEvaluation, first.json())
    assert [flag["key"] for flag in first.json()["flags"]] == ["news", "shop"]
    etag = first.headers["ETag"]
    same = bulk(lite, etag=etag)
    assert (same.status_code, same.content, same.headers["ETag"]) == (304, b"", etag)
    assert bulk(lite, etag='"another"').json() == first.json()
    assert bulk(lite, subject="ben", etag=etag).status_code == 200
    lite.reward({"id": first.json()["flags"][0]["metadata"]["decision"]}, 1.0)
    after = bulk(lite, etag=etag)
    assert after.status_code == 200
    assert after.headers["ETag"] != etag
    assert after.json()["flags"][1] == first.json()["flags"][1]


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/nowhere", {"context": {"targetingKey": "ana"}}, 404, "FLAG_NOT_FOUND"),
        ("/not an id", {"context": {"targetingKey": "ana"}}, 404, "FLAG_NOT_FOUND"),
        ("/shop", {"context": {}}, 400, "TARGETING_KEY_MISSING"),
        ("/shop", {}, 400, "TARGETING_KEY_MISSING"),
        ("/shop", {"context": {"targetingKey": ".."}}, 400, "INVALID_CONTEXT"),
        ("/shop", {"context": {"targetingKey": "a", "arms": ["x"]}}, 400, "INVALID_CONTEXT"),
        ("/shop", [1], 400, "PARSE_ERROR"),
        ("/off", {"context": {"targetingKey": "ana"}}, 400, "GENERAL"),
        ("", {"context": {}}, 400, "TARGETING_KEY_MISSING"),
    ],
)
def test_errors_have_the_form_of_the_protocol(
    lite: Api, path: str, body: Any, status: int, code: str
) -> None:
    lite.create()
    lite.create("off")
    lite.client.patch("/v1/experiments/off", json={"state": "paused"})
    answer = lite.client.post(FLAGS + path, json=body)
    assert (answer.status_code, answer.json()["errorCode"]) == (status, code)
    assert answer.json().get("key") == (path[1:] or None)
    exactly(models.EvaluationFailure, answer.json())
    assert lite.count("decisions") == 0


@pytest.fixture
def impatient(sqlite_url: str) -> Iterator[Api]:
    yield from running(settings_for(sqlite_url, request_seconds=1.0, lock_seconds=0.2))


def test_without_a_database_the_prior_gives_the_same_arm_each_time(
    impatient: Api, sqlite_url: str
) -> None:
    impatient.create(on_database_failure="prior")
    with locked_by_another(sqlite_url):
        flags = [ask(impatient).json() for _ in range(3)]
    assert len({flag["variant"] for flag in flags}) == 1
    assert not flags[0]["metadata"]["stored"]
    assert "decision" not in flags[0]["metadata"]


def test_a_body_that_is_not_text_is_an_error_of_the_protocol(lite: Api) -> None:
    for path in ("/ofrep/v1/evaluate/flags", "/ofrep/v1/evaluate/flags/shop"):
        found = lite.client.post(
            path, content=b"\xfe\xd3", headers={"Content-Type": "application/json"}
        )
        assert found.status_code == 400
        assert found.json()["errorCode"] == "PARSE_ERROR"
