"""A damaged row stops its own experiment or subject, and nothing else."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import text

from tests.service.conftest import Api, running, settings_for
from tests.service.test_experiments import code

DAMAGES = {
    "retired": "UPDATE experiments SET retired = 'no list', revision = 9 WHERE id = 'bad'",
    "seed": "UPDATE experiments SET seed = 'zz', revision = 9 WHERE id = 'bad'",
    "structure": "UPDATE structures SET content = {bytes} WHERE experiment = 'bad'",
    "settings": "UPDATE experiments SET settings = 'x', revision = 9 WHERE id = 'bad'",
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_experiment_stops_only_itself(api: Api, database_url: str, kind: str) -> None:
    api.create("bad", reward_deadline_seconds=60.0, retention_days=30.0)
    api.create("good", reward_deadline_seconds=60.0, retention_days=30.0)
    decision = api.decide("ana", "bad")
    content = "X'0011'" if api.service.database.is_sqlite else "'\\x0011'::bytea"
    with api.service.database.write() as connection:
        connection.execute(text(DAMAGES[kind].format(bytes=content.replace(":", "\\:"))))
    for other in running(settings_for(database_url)):  # it starts
        assert other.decide("bea", "good")["stored"]
        listed = other.client.get("/v1/experiments").json()["experiments"]
        assert [one["state"] for one in listed] == ["unusable", "running"]
        body = {"subject": "ana"}
        answer = other.client.post("/v1/experiments/bad/decisions", json=body)
        assert code(answer) == (409, "experiment_unusable")
        assert code(other.reward(decision, 1.0)) == (409, "experiment_unusable")
        asyncio.run(other.service.scheduler.round())
        assert other.client.get("/v1/experiments/good/subjects/bea").status_code == 200


@pytest.mark.parametrize("state", ["no json", "[]", '{"counts": []}'])
def test_a_damaged_subject_stops_only_itself(api: Api, state: str) -> None:
    api.create()
    decision = api.decide("bad")
    api.decide("good")
    with api.service.database.write() as connection:
        statement = text("UPDATE subjects SET state = :state WHERE name = 'bad'")
        connection.execute(statement, {"state": state})
    batch = [{"subject": name} for name in ("good", "bad", "new")]
    answer = api.client.post("/v1/experiments/shop/decisions/batch", json={"decisions": batch})
    good, bad, new = answer.json()["decisions"]
    assert (good["round"], new["round"]) == (2, 1)
    assert (bad["error"]["status"], bad["error"]["code"]) == (409, "subject_damaged")
    assert code(api.reward(decision, 1.0)) == (409, "subject_damaged")
