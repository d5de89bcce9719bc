"""Experiments and subjects through the API, with every refusal."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

import structuredbandits as sb
from tests.service.conftest import Api, locked_by_another


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_an_experiment_is_created_listed_shown_paused_and_resumed(api: Api) -> None:
    made = api.create(floor=0.1, horizon=100)
    assert made["policy"] == "ts-c"
    assert made["arms"] == ["1", "2", "3"]
    assert made["settings"]["floor"] == 0.1
    assert api.client.get("/v1/experiments").json() == {"experiments": [made]}
    assert api.client.get("/v1/experiments/shop").json() == made
    decision = api.decide()
    keyed = api.client.post(
        "/v1/experiments/shop/decisions", json={"subject": "bea"}, headers={"Idempotency-Key": "k"}
    )
    paused = api.client.patch("/v1/experiments/shop", json={"state": "paused"})
    assert paused.json()["state"] == "paused"
    refused = api.client.post("/v1/experiments/shop/decisions", json={"subject": "ana"})
    assert code(refused) == (409, "paused")
    again = api.client.post(
        "/v1/experiments/shop/decisions", json={"subject": "bea"}, headers={"Idempotency-Key": "k"}
    )
    assert (again.status_code, again.json()) == (200, keyed.json())
    assert api.reward(decision, 1.0).json()["counted"]  # rewards are taken meanwhile
    api.client.patch("/v1/experiments/shop", json={"state": "running"})
    assert api.decide()["round"] == 2


def test_a_retired_arm_is_shown_to_nobody_until_it_is_restored(api: Api) -> None:
    api.create(floor=1.0)
    retired = api.client.post("/v1/experiments/shop/arms/2/retire")
    assert retired.json()["retired_arms"] == ["2"]
    decisions = [api.decide(f"visitor {number}") for number in range(20)]
    assert {one["arm"] for one in decisions} == {"1", "3"}
    assert all(one["probabilities"]["2"] == 0.0 for one in decisions)
    only = api.client.post("/v1/experiments/shop/decisions", json={"subject": "ana", "arms": ["2"]})
    assert code(only) == (409, "no_arm_left")
    assert code(api.client.post("/v1/experiments/shop/arms/9/retire")) == (422, "unknown_arm")
    api.client.post("/v1/experiments/shop/arms/1/retire")
    assert code(api.client.post("/v1/experiments/shop/arms/3/retire")) == (409, "last_arm")
    restored = api.client.post("/v1/experiments/shop/arms/2/restore")
    assert restored.json()["retired_arms"] == ["1"]


def test_old_subjects_go_on_with_their_version_of_the_structure(api: Api, tmp_path: Path) -> None:
    api.create()
    api.decide("old")
    path = tmp_path / "new.structure"
    sb.Structure.from_table([[1.0, 2.0], [2.0, 1.0]], arms=["x", "y"], sigma=1.0).save(path)
    file = base64.b64encode(path.read_bytes()).decode()
    answer = api.client.post("/v1/experiments/shop/structures", json={"structure": {"file": file}})
    assert answer.status_code == 201
    assert answer.json()["structure_version"] == 2
    old, new = api.decide("old"), api.decide("new")
    assert (old["structure_version"], new["structure_version"]) == (1, 2)
    assert new["arm"] in ("x", "y")
    unknown = api.client.post(
        "/v1/experiments/shop/decisions", json={"subject": "new", "arms": ["1"]}
    )
    assert code(unknown) == (422, "unknown_arm")
    for number, arms in ((1, ["1", "2", "3"]), (2, ["x", "y"])):
        shown = api.client.get(f"/v1/experiments/shop/structures/{number}").json()
        assert shown["arms"] == arms
        assert len(shown["lower"]) == len(shown["parameters"])
    missing = api.client.get("/v1/experiments/shop/structures/3")
    assert code(missing) == (404, "unknown_version")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"id": "a b"}, (422, "invalid_request")),
        ({"id": "shop"}, (409, "experiment_exists")),
        ({"structure": {"problem": "/etc/passwd"}}, (422, "unknown_problem")),
        ({"structure": {"file": "%%%"}}, (422, "invalid_structure")),
        ({"structure": {"file": "aGVsbG8="}}, (422, "invalid_structure")),
        ({"policy": "nonsense"}, (422, "invalid_policy")),
        ({"policy": "hierarchical"}, (422, "invalid_policy")),  # three-arms has no errors
        (
            {
                "policy": "ts-beta",
                "settings": {"default_reward": 5.0, "reward_deadline_seconds": 9.0},
            },
            (422, "invalid_input"),
        ),
        ({"settings": {"floor": 1.5}}, (422, "invalid_request")),
        ({"settings": {"default_reward": 1.0}}, (422, "invalid_input")),
        ({"settings": {"florr": 0.1}}, (422, "invalid_request")),
        ({"colour": "red"}, (422, "invalid_request")),
    ],
)
def test_what_cannot_be_an_experiment_is_refused_and_changes_nothing(
    lite: Api, change: dict[str, Any], expected: tuple[int, str]
) -> None:
    lite.create()
    body = {"id": "other", "structure": {"problem": "three-arms"}, "policy": "ts-c"}
    answer = lite.client.post("/v1/experiments", json=body | change)
    assert code(answer) == expected
    assert lite.count("experiments") == 1


def test_unknown_things_are_told_with_a_remedy(lite: Api) -> None:
    lite.create()
    cases = [
        ("GET", "/v1/experiments/none", "unknown_experiment"),
        ("PATCH", "/v1/experiments/none", "unknown_experiment"),
        ("POST", "/v1/experiments/none/decisions", "unknown_experiment"),
        ("POST", "/v1/experiments/none/subjects", "unknown_experiment"),
        ("GET", "/v1/experiments/none/summary", "unknown_experiment"),
        ("GET", "/v1/experiments/none/events", "unknown_experiment"),
        ("GET", "/v1/experiments/shop/subjects/nobody", "unknown_subject"),
        ("GET", "/v1/experiments/shop/subjects/nobody/steps", "unknown_subject"),
        ("DELETE", "/v1/experiments/shop/subjects/nobody", "unknown_subject"),
        ("PUT", "/v1/decisions/1-1-00000000/reward", "unknown_decision"),
        ("PUT", "/v1/decisions/nonsense/reward", "unknown_decision"),
        ("POST", "/v1/decisions/1-1-00000000/corrections", "unknown_decision"),
    ]
    bodies = {
        "decisions": {"subject": "ana"},
        "reward": {"reward": 1.0},
        "corrections": {"reward": 1.0, "reason": "x"},
        "subjects": {},
        "none": {"state": "paused"},
    }
    for method, path, expected in cases:
        body = bodies.get(path.rpartition("/")[2])
        answer = lite.client.request(method, path, json=None if method == "GET" else body)
        assert code(answer) == (404, expected), path
        assert answer.json()["error"]["remedy"]
    assert code(lite.client.get("/v1/nothing")) == (404, "not_found")
    assert code(lite.client.put("/v1/experiments")) == (405, "method_not_allowed")
    assert code(lite.client.put("/v1/experiments/shop/decisions")) == (405, "method_not_allowed")


def test_a_mistyped_decision_never_hits_another(lite: Api) -> None:
    lite.create()
    decision = lite.decide()
    first, middle, last = decision["id"].split("-")
    for wrong in (f"{first}-2-{last}", f"2-{middle}-{last}", f"{first}-{middle}-00000000"):
        answer = lite.client.put(f"/v1/decisions/{wrong}/reward", json={"reward": 1.0})
        assert code(answer) == (404, "unknown_decision")


def test_a_subject_is_given_shown_and_deleted_with_all_its_data(api: Api) -> None:
    api.create()
    given = api.client.post("/v1/experiments/shop/subjects").json()
    assert given["decided"] == 0
    chosen = api.client.post("/v1/experiments/shop/subjects", json={"subject": "Zoë 7"})
    assert chosen.status_code == 201
    decisions = [api.decide("Zoë 7") for _ in range(3)]
    api.reward(decisions[0], 2.0)
    api.client.post(
        f"/v1/decisions/{decisions[0]['id']}/corrections", json={"reward": 3.0, "reason": "x"}
    )
    listed = api.client.get("/v1/experiments/shop/subjects").json()
    assert {one["subject"] for one in listed["subjects"]} == {given["subject"], "Zoë 7"}
    assert api.client.get("/v1/experiments/shop/subjects/Zoë 7").json()["received"] == 1
    api.decide("ana")
    known = api.client.get("/v1/experiments/shop/subjects/ana").json()
    assert known["plausible"]["count"] == 601
    assert known["plausible"]["runs"] == [[0, 600]]
    assert known["diagnostics"]["verdict"].startswith("No reward has come yet")
    steps = api.client.get("/v1/experiments/shop/subjects/ana/steps").json()
    assert [step["round"] for step in steps["steps"]] == [1]
    assert api.client.delete("/v1/experiments/shop/subjects/Zoë 7").status_code == 204
    assert api.client.get("/v1/experiments/shop/subjects/Zoë 7").status_code == 404
    assert api.reward(decisions[1], 1.0).status_code == 404
    assert api.count("decisions") == 1
    assert api.client.delete("/v1/experiments/shop/subjects/ana").status_code == 204
    assert api.decide("ana")["round"] == 1


def test_subjects_and_steps_come_in_pages(lite: Api) -> None:
    lite.create()
    for number in range(5):
        lite.decide(f"visitor {number}")
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        page = lite.client.get("/v1/experiments/shop/subjects", params=query).json()
        seen += [one["subject"] for one in page["subjects"]]
        if page["next"] is None:
            break
        query["after"] = page["next"]
    assert seen == [f"visitor {number}" for number in range(5)]
    for _ in range(4):
        lite.decide("visitor 0")
    first = lite.client.get("/v1/experiments/shop/subjects/visitor 0/steps?limit=3").json()
    rest = lite.client.get(
        f"/v1/experiments/shop/subjects/visitor 0/steps?after={first['next']}"
    ).json()
    rounds = [step["round"] for step in first["steps"] + rest["steps"]]
    assert rounds == [1, 2, 3, 4, 5]
    assert rest["next"] is None


def test_a_batch_answers_each_by_itself(api: Api) -> None:
    api.create()
    batch = [
        {"subject": "ana", "key": "1"},
        {"subject": "ana", "key": "1"},
        {"subject": "bea", "arms": ["nothing"]},
        {"subject": "ana"},
    ]
    answer = api.client.post("/v1/experiments/shop/decisions/batch", json={"decisions": batch})
    first, same, wrong, next_one = answer.json()["decisions"]
    assert first == same
    assert wrong["error"]["code"] == "unknown_arm"
    assert wrong["error"]["status"] == 422
    assert (first["round"], next_one["round"]) == (1, 2)
    rewards = [{"decision": first["id"], "reward": 1}, {"decision": "x", "reward": 1}]
    told = api.client.post("/v1/rewards", json={"rewards": rewards}).json()["rewards"]
    assert told[0]["counted"] is True
    assert told[1]["error"]["status"] == 404


def test_the_prior_answers_when_the_database_does_not(lite: Api) -> None:
    lite.create(on_database_failure="prior")
    lite.create("strict")
    lite.decide()
    object.__setattr__(lite.service.settings, "request_seconds", 0.5)
    with locked_by_another(lite.service.settings.database):
        flagged = lite.client.post("/v1/experiments/shop/decisions", json={"subject": "ana"})
        refused = lite.client.post("/v1/experiments/strict/decisions", json={"subject": "ana"})
        assert lite.client.get("/livez").status_code == 200
        assert lite.client.get("/readyz").status_code == 503
    assert flagged.status_code == 201
    assert flagged.json()["stored"] is False
    assert flagged.json()["id"] is None
    assert "not stored" in flagged.json()["why"]
    assert code(refused) == (503, "unavailable")
    assert refused.headers["retry-after"] == "1"
    object.__setattr__(lite.service.settings, "request_seconds", 30.0)
    assert lite.client.get("/readyz").status_code == 200
    assert lite.decide()["round"] == 2
