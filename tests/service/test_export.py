"""The export as others use it: into `evaluate`, with cursors of any kind, while others write."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import structuredbandits as sb
from structuredbandits.cli.main import run as run_command
from tests.service.conftest import Api, new_postgresql_database, running, settings_for
from tests.service.test_log import lines, play
from tests.service_guarantees.servers import wait_until

EVENTS = "/v1/experiments/shop/events"


@pytest.mark.parametrize("name", ["log.jsonl", "log.ndjson", "log.jsonl.gz", "log.parquet"])
def test_evaluate_reads_what_the_service_exports(
    lite: Api, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lite.create(floor=0.5)
    play(lite, subjects=10, rounds=4)
    kind = "parquet" if "parquet" in name else "jsonl"
    content = lite.client.get(EVENTS, params={"format": kind}).content
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    estimate = sb.evaluate(path, "ts-c", structure="three-arms")
    rows, _ = lines(lite)
    assert (estimate.n, estimate.subjects) == (40, 10)
    assert estimate.logged_value == pytest.approx(sum(row["reward"] for row in rows) / 40)
    assert run_command(["evaluate", str(path), "--policy", "uniform", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["n"] == 40


def test_a_log_with_a_correction_and_two_versions_can_be_evaluated(
    api: Api, tmp_path: Path
) -> None:
    api.create(floor=0.5)
    decisions = [api.decide(f"a{number}") for number in range(6)]
    for decision in decisions:
        assert api.reward(decision, 1.0).status_code == 200
    content, cursor = api.client.get(EVENTS).content, lines(api)[1]
    path = f"/v1/decisions/{decisions[0]['id']}/corrections"
    corrected = api.client.post(path, json={"reward": 7.0, "reason": "typed wrongly"})
    assert corrected.status_code == 200
    own = sb.Structure.from_table([[1.0, 2.0], [2.0, 1.0]], arms=["1", "x"], sigma=1.0)
    own.save(tmp_path / "own.structure")
    file = base64.b64encode((tmp_path / "own.structure").read_bytes()).decode()
    body = {"structure": {"file": file}}
    assert api.client.post("/v1/experiments/shop/structures", json=body).status_code == 201
    for number in range(4):
        assert api.reward(api.decide(f"b{number}"), 3.0).status_code == 200
    content += api.client.get(EVENTS, params={"after": cursor}).content
    log = tmp_path / "log.jsonl"
    log.write_bytes(content)
    assert content.count(b"\n") == 11
    estimate = sb.evaluate(log, "logged")
    assert (estimate.n, estimate.value) == (10, pytest.approx((5 * 1 + 7 + 4 * 3) / 10))
    first = sb.evaluate(log, "uniform", structure="three-arms", structure_version=1)
    assert (first.n, first.logged_value) == (6, pytest.approx(2.0))
    assert sb.evaluate(log, "uniform", structure=own, structure_version=2).n == 4
    for version, count in ((1, 6), (2, 4), (3, 0)):
        rows, _ = lines(api, structure_version=version)
        assert len(rows) == count
        assert {row["structure_version"] for row in rows} <= {version}


@pytest.mark.parametrize(
    "cursor",
    [
        "1.1.9999999999",
        "0.0.2147483648",
        "9999999999999999999.0.0",
        "0.9999999999999999999.0",
        "1.1",
        "-1.0.0",
        "\u0661.\u0661.\u0661",  # digits, but not those of a cursor
        "1.1.1 ",
    ],
)
def test_a_cursor_that_no_export_gave_is_refused(api: Api, cursor: str) -> None:
    api.create()
    answer = api.client.get(EVENTS, params={"after": cursor})
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "invalid_cursor"
    largest = "999999999999999999.999999999999999999.2147483647"
    assert lines(api, after=largest) == ([], largest)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/experiments/shop/subjects/ana/steps?after=2147483648",
        "/v1/experiments/shop/subjects/ana/steps?limit=99999999999999999999",
        "/v1/experiments/shop/structures/2147483648",
        "/v1/experiments/shop/structures/99999999999999999999",
        "/v1/experiments/shop/events?structure_version=2147483648",
        "/v1/experiments/shop/events?limit=99999999999999999999",
        "/v1/experiments/shop/summary?buckets=99999999999999999999",
        "/v1/experiments/shop/subjects?limit=99999999999999999999",
    ],
)
def test_a_number_that_no_column_holds_is_refused(api: Api, path: str) -> None:
    api.create()
    api.decide()
    assert api.client.get(path).status_code == 422


@pytest.mark.parametrize(
    "decision",
    ["fffffffffffffff-2147483647-00000000", "1-2147483648-00000000", "1-9999999999-00000000"],
)
def test_a_decision_that_no_column_holds_is_unknown(api: Api, decision: str) -> None:
    api.create()
    one = api.client.put(f"/v1/decisions/{decision}/reward", json={"reward": 1.0})
    path = f"/v1/decisions/{decision}/corrections"
    corrected = api.client.post(path, json={"reward": 1.0, "reason": "x"})
    many = api.client.post("/v1/rewards", json={"rewards": [{"decision": decision, "reward": 1.0}]})
    assert (one.status_code, corrected.status_code, many.status_code) == (404, 404, 200)
    assert many.json()["rewards"][0]["error"]["code"] == "unknown_decision"


@pytest.fixture
def shared(postgresql: str) -> Iterator[Api]:
    """A service on PostgreSQL, where others may write at the same time."""
    yield from running(settings_for(new_postgresql_database(postgresql)))


def test_the_export_waits_for_a_place_that_is_taken_and_not_yet_committed(shared: Api) -> None:
    """Otherwise a reader's cursor would be past a row that appears later, and never show it."""
    shared.create()
    early, late = shared.decide("ana"), shared.decide("bea")
    database = shared.service.database
    with ThreadPoolExecutor(1) as pool:
        with database.write() as slow:
            place = database.next_settlement(slow)
            slow.execute(text(_SETTLE), {"place": place, "subject": int(early["id"][0], 16)})
            assert shared.reward(late, 2.0).status_code == 200  # a later place, committed first
            reading = pool.submit(lines, shared)
            wait_until(lambda: reading.done() or somebody_waits(shared), what="the reader")
        rows, cursor = reading.result()
    rows += lines(shared, after=cursor)[0]
    assert [row["id"] for row in rows] == [early["id"], late["id"]]
    assert rows[0]["settled"] < rows[1]["settled"]


_SETTLE = """\
UPDATE decisions SET state = 1, reward = 1, reward_order = 1, rewarded = created, settled = :place
WHERE subject = :subject
"""


def somebody_waits(api: Api) -> bool:
    """Whether a connection waits for the lock that writers hold."""
    with api.service.database.read() as connection:
        found = connection.execute(
            text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        )
        return bool(found.scalar_one())


def test_the_export_is_complete_while_two_services_write(shared: Api) -> None:
    shared.create()
    batch = [{"subject": f"visitor {number}"} for number in range(120)]
    path = "/v1/experiments/shop/decisions/batch"
    made = shared.client.post(path, json={"decisions": batch}).json()["decisions"]
    seen: list[dict[str, Any]] = []
    url = shared.service.database.url.render_as_string(hide_password=False)
    for other in running(settings_for(url, writers=2)):
        seen = read_while_written((shared, other), made)
    assert sorted(row["id"] for row in seen) == sorted(one["id"] for one in made)


def read_while_written(services: tuple[Api, Api], made: list[Any]) -> list[dict[str, Any]]:
    """All pages, of which most are read while four threads give rewards."""

    def give(part: int) -> None:
        for decision in made[part::4]:
            assert services[part % 2].reward(decision, 1.0).status_code == 200

    with ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(give, part) for part in range(4)]
        seen, cursor = lines(services[0], limit=7)
        while not all(one.done() for one in writing):
            rows, cursor = lines(services[1], limit=7, after=cursor)
            seen += rows
        for one in writing:
            one.result()
    while len(rows := lines(services[0], after=cursor)[0]):
        seen += rows
        cursor = lines(services[0], after=cursor)[1]
    return seen
