"""A subject with more rows than a transaction deletes: gone at once, and in the end altogether."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from structuredbandits.service.api import subjects as routes
from structuredbandits.service.backup import back_up, restore
from structuredbandits.service.doctor import run_checks
from structuredbandits.service.jobs import deadlines, retention
from structuredbandits.service.storage import open_database
from structuredbandits.service.subjects import deletion
from tests.service.conftest import Api, new_postgresql_database, running, settings_for
from tests.service.test_experiments import code
from tests.service.test_guarantees import age, states_and_replays

ROUNDS = 9
PATH = "/v1/experiments/shop/subjects/ana"
DAY = 86_400.0


@pytest.fixture(autouse=True)
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion, "_ROWS_AT_ONCE", 2)


def decide(api: Api, subject: str, key: str) -> Any:
    return api.client.post(
        "/v1/experiments/shop/decisions",
        json={"subject": subject},
        headers={"Idempotency-Key": key},
    )


def live(api: Api, subject: str) -> list[dict[str, Any]]:
    """Decisions of a subject, of whom some are rewarded, corrected, or late."""
    made = [decide(api, subject, f"{subject}-{number}").json() for number in range(ROUNDS)]
    for decision in made[:6]:
        assert api.reward(decision, 4.0).status_code == 200
    for decision in made[:3]:
        body = {"reward": 3.0, "reason": "typed wrongly"}
        path = f"/v1/decisions/{decision['id']}/corrections"
        assert api.client.post(path, json=body).status_code == 200
    return made


def stumbling(honest: Callable[..., bool], portions: int) -> Callable[..., bool]:
    """Erase this many batches; then the database fails before the next commit."""
    left = portions

    def erase(*given: Any) -> bool:
        nonlocal left
        more = honest(*given)
        left -= 1
        if left < 0:
            raise OperationalError("COMMIT", {}, ConnectionError())
        return more

    return erase


@pytest.fixture(params=["by request", "by age"])
def interrupted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Delete ana, but only this many batches of her rows."""

    def begin(api: Api, portions: int) -> None:
        with monkeypatch.context() as patch:
            if request.param == "by request":
                patch.setattr(
                    routes, "delete_some_rows", stumbling(routes.delete_some_rows, portions)
                )
                assert code(api.client.delete(PATH)) == (503, "unavailable")
            else:
                age_of(api, "ana", 31 * DAY)
                patch.setattr(
                    retention, "delete_some_rows", stumbling(retention.delete_some_rows, portions)
                )
                asyncio.run(api.service.scheduler.round())
        assert api.count("departed") == 1
        left = "SELECT count(*) FROM decisions WHERE subject IN (SELECT number FROM departed)"
        with api.service.database.read() as connection:
            assert connection.execute(text(left)).scalar_one() == ROUNDS - 2 * portions

    return begin


def age_of(api: Api, subject: str, seconds: float) -> None:
    shift = {"by": round(seconds * 1e6), "name": subject}
    with api.service.database.write() as connection:
        connection.execute(
            text("UPDATE subjects SET created = created - :by WHERE name = :name"), shift
        )


def check_gone(api: Api, before: list[dict[str, Any]]) -> None:
    """Nobody who asks finds anything of ana; bea is as she was."""
    shop = "/v1/experiments/shop"
    assert code(api.client.get(PATH)) == (404, "unknown_subject")
    assert code(api.client.get(f"{PATH}/steps")) == (404, "unknown_subject")
    listed = api.client.get(f"{shop}/subjects").json()["subjects"]
    assert [one["subject"] for one in listed] == ["bea"]
    assert '"ana"' not in api.client.get(f"{shop}/events").text
    summary = api.client.get(f"{shop}/summary").json()
    assert (summary["subjects"], summary["decisions"]) == (1, ROUNDS)
    assert (summary["rewards"], summary["pending"]) == (6, ROUNDS - 6)
    for decision in (before[0], before[-1]):
        assert code(api.reward(decision, 4.0)) == (404, "unknown_decision")
        path = f"/v1/decisions/{decision['id']}/corrections"
        body = {"reward": 1.0, "reason": "too late"}
        assert code(api.client.post(path, json=body)) == (404, "unknown_decision")
    check_states(api)


def check_states(api: Api) -> None:
    pairs = states_and_replays(api.service)
    assert pairs
    for state, again in pairs:
        assert state == again
    findings = {one.what: one.good for one in run_checks(api.service.database)}
    assert findings["replay"]
    assert findings["deadlines"]


@pytest.mark.parametrize("portions", [0, 4])
def test_a_deletion_that_is_interrupted_is_seen_by_nobody_and_goes_on(
    api: Api, interrupted: Any, portions: int
) -> None:
    api.create(retention_days=30.0)
    before, _ = live(api, "ana"), live(api, "bea")
    interrupted(api, portions)
    check_gone(api, before)
    assert api.client.delete(PATH).status_code == 204  # goes on where it was
    assert (api.count("departed"), api.count("decisions")) == (0, ROUNDS)
    assert code(api.client.delete(PATH)) == (404, "unknown_subject")
    check_gone(api, before)


def test_whoever_comes_meanwhile_is_somebody_new_with_any_key(api: Api, interrupted: Any) -> None:
    api.create(retention_days=30.0)
    before, _ = live(api, "ana"), live(api, "bea")
    interrupted(api, 1)
    # Her last key is still in a row of hers; to the service it is as free as the first.
    for number, (subject, key) in enumerate((("ana", 8), ("ana", 0), ("bea", 7))):
        asked = decide(api, subject, f"ana-{key}")
        assert asked.status_code == 201, asked.text
        assert asked.json()["id"] not in {one["id"] for one in before}
        assert asked.json()["round"] == (number + 1 if subject == "ana" else ROUNDS + 1)
        assert decide(api, subject, f"ana-{key}").json() == asked.json()
    assert decide(api, "bea", "bea-3").status_code == 200
    check_states(api)
    asyncio.run(api.service.scheduler.round())  # of this or another replica
    assert (api.count("departed"), api.count("decisions")) == (0, ROUNDS + 3)
    assert api.client.get(PATH).json()["decided"] == 2
    check_states(api)


def test_a_deadline_of_somebody_who_is_gone_is_looked_after_by_nobody(
    api: Api, interrupted: Any
) -> None:
    api.create(retention_days=30.0, reward_deadline_seconds=5.0 * DAY, default_reward=1.0)
    before, _ = live(api, "ana"), live(api, "bea")
    interrupted(api, 1)
    age(api.service, 6 * DAY)
    with api.service.database.read() as connection:
        due = deadlines.due_decisions(connection, (0, 0, 0))
    assert len(due) == ROUNDS - 6
    assert before[0]["id"].split("-")[0] not in {f"{subject:x}" for _, subject, _ in due}
    asyncio.run(api.service.scheduler.round())
    assert (api.count("departed"), api.count("decisions")) == (0, ROUNDS)
    check_states(api)


def test_a_service_that_starts_finishes_what_another_began(
    api: Api, interrupted: Any, tmp_path: Path
) -> None:
    api.create(retention_days=30.0)
    live(api, "ana")
    live(api, "bea")
    interrupted(api, 2)
    back_up(api.service.database, tmp_path / "half.backup")
    asyncio.run(api.service.scheduler.round())
    assert (api.count("departed"), api.count("decisions")) == (0, ROUNDS)
    # A backup of that moment does not bring her back either.
    database = open_database(str(tmp_path / "other.db"))
    restore(database, tmp_path / "half.backup")
    database.close()
    for other in running(settings_for(str(tmp_path / "other.db"))):
        assert other.count("departed") == 1
        assert code(other.client.get(PATH)) == (404, "unknown_subject")
        asyncio.run(other.service.scheduler.round())
        assert (other.count("departed"), other.count("decisions")) == (0, ROUNDS)
        check_states(other)


def test_two_replicas_that_erase_do_not_wait_for_each_other(postgresql: str) -> None:
    for api in running(settings_for(new_postgresql_database(postgresql))):
        api.create()
        live(api, "ana")
        number = int(decide(api, "ana", "ana-0").json()["id"].split("-")[0], 16)
        with api.service.database.write() as connection:
            deletion.mark_deleted(connection, [number])
        with api.service.database.write() as first, api.service.database.write() as second:
            assert deletion.delete_some_rows(first)
            assert not deletion.delete_some_rows(second)  # finds nothing that is free
        assert erased(api) > 1
        assert api.count("decisions") == 0


def erased(api: Api) -> int:
    """How many portions it took to erase everything."""

    def work(connection: Connection) -> bool:
        return deletion.delete_some_rows(connection)

    taken = 1
    while asyncio.run(api.service.change(work)):
        taken += 1
    return taken
