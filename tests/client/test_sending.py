"""Which calls are retried, which are not, and what they return, for both clients."""

from __future__ import annotations

import base64
import inspect
import json
import logging
import subprocess
import sys

import httpx
import pytest

from structuredbandits import errors
from structuredbandits.client import AsyncClient, Client, Decision
from tests.client.conftest import KEY, URL

DECISION = {
    "id": "d1",
    "experiment": "e",
    "subject": "s",
    "round": 1,
    "arm": "1",
    "probability": 0.5,
    "probabilities": {"1": 0.5, "2": 0.5},
    "competitive_arms": ["1", "2"],
    "why": "drawn",
    "structure_version": 1,
    "created": "2026-01-01T00:00:00Z",
    "added_by_a_newer_service": 1,
}
EXPERIMENT = {
    "id": "e",
    "state": "running",
    "policy": "ts",
    "settings": {},
    "arms": ["1", "2"],
    "retired_arms": [],
    "structure_version": 1,
    "parameters": 601,
    "created": "2026-01-01T00:00:00Z",
}
MADE = httpx.Response(201, json=DECISION)
BUSY = httpx.Response(
    429,
    headers={"Retry-After": "0"},
    json={"error": {"code": "overloaded", "message": "Too much to do.", "remedy": "Wait."}},
)
NO_DATABASE = httpx.Response(
    503, json={"error": {"code": "unavailable", "message": "No database."}}
)


@pytest.mark.parametrize(
    "failure", [BUSY, NO_DATABASE, httpx.ConnectError, httpx.ReadTimeout, httpx.RemoteProtocolError]
)
def test_a_decision_is_retried_with_the_same_key(both, script, failure):
    service = script(failure, failure, MADE)
    decision = both.run(service, "decide", "e", "s")
    assert isinstance(decision, Decision)
    assert (decision.id, decision.arm, decision.probability) == ("d1", "1", 0.5)
    keys = [request.headers["Idempotency-Key"] for request in service.requests]
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert {request.content for request in service.requests} == {b'{"subject":"s"}'}


GONE = httpx.Response(404, json={"error": {"code": "unknown_subject", "message": "Nobody."}})


@pytest.mark.parametrize("failure", [NO_DATABASE, httpx.ReadTimeout])
def test_a_404_counts_as_deleted_if_an_earlier_attempt_may_have_deleted(both, script, failure):
    assert both.run(script(failure, GONE), "delete_subject", "e", "s") is None
    with pytest.raises(errors.NotFound):
        both.run(script(failure, GONE), "subject", "e", "s")


@pytest.mark.parametrize("failures", [(), (BUSY,), (httpx.ConnectError,)])
def test_a_404_is_raised_if_no_earlier_attempt_can_have_deleted(both, script, failures):
    with pytest.raises(errors.NotFound):
        both.run(script(*failures, GONE), "delete_subject", "e", "s")


def test_another_decision_has_another_key(both, script):
    service = script(MADE)
    both.run(service, "decide", "e", "s")
    both.run(service, "decide", "e", "s")
    both.run(service, "decide", "e", "s", key="mine")
    keys = [request.headers["Idempotency-Key"] for request in service.requests]
    assert keys[0] != keys[1]
    assert keys[2] == "mine"


def test_each_decision_of_a_batch_has_its_own_key_for_all_attempts(both, script):
    service = script(NO_DATABASE, httpx.Response(200, json={"decisions": [DECISION, DECISION]}))
    made = both.run(service, "decide_many", "e", ["s", "s"])
    assert [one.id for one in made] == ["d1", "d1"]
    first, second = (json.loads(request.content)["decisions"] for request in service.requests)
    assert first == second
    assert first[0]["key"] != first[1]["key"]


def test_a_batch_has_a_decision_or_an_error_for_each(both, script):
    refused = {"error": {"code": "unknown_arm", "message": "No arm 'x'."}}
    taken = {"error": {"code": "reused_key", "message": "Another request.", "status": 409}}
    service = script(httpx.Response(200, json={"decisions": [refused, DECISION, taken]}))
    first, second, third = both.run(service, "decide_many", "e", ["a", "b", "c"])
    assert type(first) is errors.Refused
    assert isinstance(second, Decision)
    assert type(third) is errors.Conflict


def test_a_long_batch_is_sent_in_parts(both, script):
    def answer(request: httpx.Request) -> httpx.Response:
        wanted = json.loads(request.content)["decisions"]
        service.requests.append(request)
        made = [{**DECISION, "subject": one["subject"]} for one in wanted]
        return httpx.Response(200, json={"decisions": made})

    service = script(MADE)
    names = [f"s{n}" for n in range(1201)]
    made = both.run(service, "decide_many", "e", names, answer=answer)
    assert [one.subject for one in made] == names
    assert len(service.requests) == 3
    keys = [one["key"] for r in service.requests for one in json.loads(r.content)["decisions"]]
    assert len(set(keys)) == 1201
    assert both.run(service, "decide_many", "e", [], answer=answer) == []
    assert len(service.requests) == 3


def test_a_part_that_fails_does_not_lose_the_others(both, script):
    refused = httpx.Response(422, json={"error": {"code": "invalid", "message": "No."}})
    good = httpx.Response(200, json={"decisions": [DECISION] * 500})
    made = both.run(script(good, refused), "decide_many", "e", [f"s{n}" for n in range(502)])
    assert [type(one) for one in made] == [Decision] * 500 + [errors.Refused] * 2
    with pytest.raises(errors.Refused):
        both.run(script(refused), "decide_many", "e", [f"s{n}" for n in range(502)])


def test_a_decision_that_is_not_stored_cannot_receive_a_reward(both, script):
    prior = {**DECISION, "id": None, "round": None, "stored": False}
    service = script(httpx.Response(201, json=prior))
    decision = both.run(service, "decide", "e", "s")
    assert decision.stored is False
    with pytest.raises(errors.InvalidInput, match=r"'s' was made from the prior.*cannot receive"):
        both.run(service, "reward", decision, 1.0)
    assert len(service.requests) == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", None, True])
def test_a_reward_that_is_no_number_is_not_sent(both, script, value):
    service = script(MADE)
    for name, args in (
        ("reward", ("d1", value)),
        ("reward_many", ([("d1", value)],)),
    ):
        with pytest.raises(errors.InvalidReward, match="give a finite number"):
            both.run(service, name, *args)
    with pytest.raises(errors.InvalidReward):
        both.run(service, "correct", "d1", value, reason="r")
    assert service.requests == []


def test_a_structure_is_a_name_or_a_file(both, script, tmp_path):
    service = script(httpx.Response(201, json=EXPERIMENT))
    path = tmp_path / "own.structure"
    path.write_bytes(b"\x00content")
    both.run(service, "create_experiment", "three-arms", "ts", id="e", settings={"floor": 0.1})
    both.run(service, "create_experiment", path)
    sent = [json.loads(request.content) for request in service.requests]
    assert sent[0] == {
        "id": "e",
        "structure": {"problem": "three-arms"},
        "policy": "ts",
        "settings": {"floor": 0.1},
    }
    assert sent[1]["structure"] == {"file": base64.b64encode(b"\x00content").decode()}
    with pytest.raises(errors.FileError, match="check the path"):
        both.run(service, "create_experiment", tmp_path / "missing")


@pytest.mark.parametrize("failure", [httpx.ReadTimeout, httpx.RemoteProtocolError, NO_DATABASE])
def test_a_call_that_must_not_be_doubled_is_not_retried_if_it_may_have_been_done(
    both, script, failure
):
    service = script(failure)
    with pytest.raises((errors.Unreachable, errors.Unavailable)):
        both.run(service, "create_experiment", "three-arms")
    assert len(service.requests) == 1


@pytest.mark.parametrize("failure", [httpx.ConnectError, httpx.ConnectTimeout, BUSY])
def test_a_call_that_was_certainly_not_done_is_retried(both, script, failure):
    made = httpx.Response(201, json=EXPERIMENT)
    service = script(failure, made)
    assert both.run(service, "create_experiment", "three-arms").id == "e"
    assert len(service.requests) == 2


def test_the_last_failure_is_raised_after_the_last_attempt(both, script):
    service = script(httpx.ConnectError)
    with pytest.raises(
        errors.Unreachable, match=r"http://service\.test .*check that it is running"
    ):
        both.run(service, "decide", "e", "s")
    assert len(service.requests) == 4

    service = script(BUSY)
    with pytest.raises(errors.Overloaded, match=r"Too much to do\. Wait\.") as caught:
        both.run(service, "decide", "e", "s")
    assert (caught.value.status, caught.value.code, caught.value.retry_after) == (
        429,
        "overloaded",
        0.0,
    )


def test_a_wait_longer_than_the_deadline_is_not_begun(both, script):
    """The default deadline is 30 s; this test would take an hour if the header were slept for."""
    service = script(httpx.Response(503, headers={"Retry-After": "3600"}))
    with pytest.raises(errors.Unavailable) as caught:
        both.run(service, "decide", "e", "s")
    assert len(service.requests) == 1
    assert caught.value.retry_after == 3600.0


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.Refused),
        (401, errors.NotAllowed),
        (403, errors.NotAllowed),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (413, errors.Refused),
        (422, errors.Refused),
        (500, errors.ServiceError),
    ],
)
def test_other_responses_are_raised_at_once(both, script, status, kind):
    service = script(
        httpx.Response(status, json={"error": {"code": "some_code", "message": "A sentence."}})
    )
    with pytest.raises(kind, match=r"^A sentence\.$") as caught:
        both.run(service, "reward", "d1", 1.0)
    assert type(caught.value) is kind
    assert isinstance(caught.value, errors.StructuredBanditsError)
    assert (caught.value.status, caught.value.code) == (status, "some_code")
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>hello</html>"),
        httpx.Response(200, json=[]),
        httpx.Response(200, json={"id": "only"}),
        httpx.Response(200, content=b"{", headers={"Content-Type": "application/json"}),
        httpx.Response(204),
    ],
)
def test_a_response_that_is_not_from_the_service_is_named(both, script, answer):
    with pytest.raises(errors.ServiceError, match="check that the URL"):
        both.run(script(answer), "decide", "e", "s")


def test_a_redirect_is_not_followed_with_the_key(both, script):
    service = script(httpx.Response(307, headers={"Location": "http://elsewhere.test/v1/x"}))
    with pytest.raises(errors.ServiceError, match="307"):
        both.run(service, "decide", "e", "s")
    assert [request.url.host for request in service.requests] == ["service.test"]


def test_the_key_is_in_one_header_and_nowhere_else(both, script, caplog):
    caplog.set_level(logging.DEBUG)
    service = script(httpx.ConnectError)
    with pytest.raises(errors.Unreachable) as caught:
        both.run(service, "decide", "e", "s")
    request = service.requests[0]
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert KEY not in str(request.url)
    assert KEY not in caplog.text
    assert KEY not in f"{caught.value!r} {caught.value.__context__!r}"
    assert KEY not in repr(Client(URL, KEY))
    assert KEY not in repr(AsyncClient(URL, KEY))


def test_an_id_stays_one_part_of_the_path(both, script):
    service = script(MADE)
    both.run(service, "decide", "a/../b?c#d", "s")
    assert service.requests[0].url.raw_path == b"/v1/experiments/a%2F..%2Fb%3Fc%23d/decisions"
    for wrong in ("", None, 7):
        with pytest.raises(errors.InvalidInput, match="is not an ID"):
            both.run(service, "experiment", wrong)
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("url", "options", "message"),
    [
        ("127.0.0.1:8000", {}, "is not the address"),
        ("ftp://x", {}, "is not the address"),
        ("http://", {}, "is not the address"),
        ("http://user:secret@x", {}, "not in the address"),
        ("http://x?key=secret", {}, "not in the address"),
        ("http://x", {"key": ""}, "copy it again"),
        ("http://x", {"key": "a b"}, "copy it again"),
        ("http://x", {"key": "a\nb"}, "copy it again"),
        ("http://x", {"timeout_seconds": 0}, "above 0"),
        ("http://x", {"timeout_seconds": float("nan")}, "above 0"),
        ("http://x", {"connections": 0}, "1 or more"),
        ("http://x", {"connections": 2.5}, "1 or more"),
    ],
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_invalid_settings_are_named_without_the_secret(kind, url, options, message):
    with pytest.raises(errors.InvalidInput, match=message) as caught:
        kind(url, **options)
    assert "secret" not in str(caught.value)


def test_the_two_clients_have_the_same_methods():
    def methods(kind: type) -> dict[str, list[tuple[str, object, object]]]:
        return {
            name: [
                (p.name, p.default, p.kind) for p in inspect.signature(method).parameters.values()
            ]
            for name, method in vars(kind).items()
            if inspect.isfunction(method) and not name.startswith("_")
        }

    def documents(kind: type) -> dict[str, str | None]:
        return {name: inspect.getdoc(getattr(kind, name)) for name in methods(kind)}

    assert methods(Client) == methods(AsyncClient)
    assert documents(Client) == documents(AsyncClient)


def test_importing_the_client_loads_neither_numpy_nor_httpx():
    code = (
        "import sys, structuredbandits.client; "
        "print([name for name in ('numpy', 'numba', 'pandas', 'httpx') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
