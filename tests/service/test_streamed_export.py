"""An export of any size needs little memory: it is read and sent in parts."""

from __future__ import annotations

import asyncio
import io
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sqlalchemy import insert

import structuredbandits as sb
from structuredbandits.evaluation._decision_log import find_columns, read_decisions
from structuredbandits.service.api import create_app
from structuredbandits.service.experiments import stored_experiment as use
from structuredbandits.service.experiments.stored_experiment import ExperimentSettings
from structuredbandits.service.runtime import Service
from structuredbandits.service.storage import tables
from structuredbandits.service.subjects.subject_state import SubjectState
from tests.service.conftest import Api, settings_for
from tests.service.test_log import lines, play

ARMS = [f"{number:03d} {'x' * 146}" for number in range(100)]
ROWS = 2_000
MEGABYTE = 2**20


@pytest.fixture
def large(sqlite_url: str) -> Iterator[Service]:
    """A service with a log whose rows are large: nearly all of many long arms were allowed."""
    service = Service(settings_for(sqlite_url))
    structure = sb.Structure.from_table(np.zeros((1, 100)), arms=ARMS, sigma=1.0)
    settings = ExperimentSettings()
    with service.database.write() as connection:
        version = use.prepare(1, structure, "ts-c", settings)
        use.create_experiment(connection, "shop", version, settings)
        for table, rows in rows_of_the_log().items():
            connection.execute(insert(tables.metadata.tables[table]), rows)
    yield service
    service.close()


def rows_of_the_log() -> dict[str, list[dict[str, Any]]]:
    subject = {"number": 1, "experiment": "shop", "name": "ana", "version": 1}
    subject |= {"state": SubjectState.fresh(100).to_json(), "created": 1, "updated": 1}
    allowed = json.dumps(list(range(1, 100)))
    decision = {"subject": 1, "experiment": "shop", "version": 1, "arm": 1, "probability": 0.01}
    decision |= {"probabilities": json.dumps([0.01] * 100), "competitive": "[]", "plausible": 1}
    decision |= {"allowed": allowed, "created": 1, "state": tables.REWARDED, "reward": 0.5}
    rounds = range(1, ROWS + 1)
    own = [{"round": n, "reward_order": n, "rewarded": 1, "settled": n} for n in rounds]
    counter = {"name": "settled", "value": ROWS}
    return {
        "subjects": [subject],
        "decisions": [decision | one for one in own],
        "counters": [counter],
    }


def ask(service: Service, kind: str) -> list[int]:
    """The sizes of the parts in which a page of all rows is sent."""
    app = create_app(service.settings, service)
    parts: list[int] = []
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/v1/experiments/shop/events",
        "query_string": f"limit=50000&format={kind}".encode(),
        "headers": [(b"host", b"127.0.0.1:80")],
        "server": ("127.0.0.1", 80),
    }

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(3600.0)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            assert message["status"] == 200
        else:
            parts.append(len(message.get("body", b"")))

    asyncio.run(app(scope, receive, send))
    return parts


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_an_export_is_sent_in_small_parts_with_little_memory(large: Service, kind: str) -> None:
    ask(large, kind)  # imports
    tracemalloc.start()
    parts = ask(large, kind)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert max(parts) < 4 * MEGABYTE
    assert peak < 24 * MEGABYTE  # the rows as Python objects alone take more than 30
    if kind == "jsonl":
        assert sum(parts) > 28 * MEGABYTE


def test_all_arms_are_named_once(api: Api) -> None:
    api.create(floor=0.5)
    decisions = play(api, subjects=3, rounds=4)
    restricted = api.decide("somebody", arms=["1", "2"])
    api.reward(restricted, 1.0)
    api.reward(api.decide("somebody"), 1.0)
    rows, cursor = lines(api)
    assert len(rows) == len(decisions) + 2
    assert rows[0]["allowed"] == ["1", "2", "3"]
    assert [row["allowed"] for row in rows[1:]] == [None] * 11 + [["1", "2"], None]
    answer = api.client.get("/v1/experiments/shop/events", params={"format": "parquet"})
    assert int(answer.headers["row-count"]) == len(rows)
    frame = pd.read_parquet(io.BytesIO(answer.content))
    written = [None if names is None else list(names) for names in frame["allowed"]]
    assert written == [row["allowed"] for row in rows]
    assert lines(api, after=cursor) == ([], cursor)


def test_evaluate_knows_all_arms_also_if_the_row_that_names_them_was_corrected(
    lite: Api, tmp_path: Path
) -> None:
    lite.create()
    decisions = play(lite, subjects=1, rounds=6)
    path = f"/v1/decisions/{decisions[0]['id']}/corrections"
    before = lite.client.get("/v1/experiments/shop/events")
    assert lite.client.post(path, json={"reward": 2.0, "reason": "wrong"}).status_code == 200
    after = {"after": before.headers["next-cursor"]}
    text = before.text + lite.client.get("/v1/experiments/shop/events", params=after).text
    rows = [json.loads(line) for line in text.splitlines()]
    rows[-1]["allowed"] = None  # as if the page had begun earlier
    rows = [row | {"arm": "1"} for row in rows]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    log = str(tmp_path / "log.jsonl")
    roles: dict[str, Any] = {"subject": None, "order": None, "allowed": None, "context": ()}
    columns = find_columns(log, arm="arm", reward="reward", probability="probability", **roles)
    read = read_decisions(log, columns, None)
    assert list(read.arms) == ["1", "2", "3"]
    assert read.allowed is not None
    assert read.allowed.all()
