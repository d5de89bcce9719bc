"""Every answer has an ID, which the lines of the log that belong to it have as well."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from structuredbandits.service.json_log import JsonFormatter, RequestFields
from structuredbandits.service.security.api_keys import create_key
from tests.service.conftest import Api, locked_by_another, running, settings_for

DECISIONS = "/v1/experiments/shop/decisions"


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Everything that is logged, as a service writes it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(RequestFields())
    logger = logging.getLogger("structuredbandits")
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    yield stream
    logger.removeHandler(handler)
    logger.setLevel(level)


def lines(log: io.StringIO, request: str) -> list[dict[str, Any]]:
    """The lines of a request."""
    written = [json.loads(line) for line in log.getvalue().splitlines()]
    return [one for one in written if one.get("request_id") == request]


def test_a_client_may_name_its_requests_and_cannot_forge_lines(lite: Api) -> None:
    given = lite.client.get("/livez", headers={"X-Request-ID": "checkout-17"})
    assert given.headers["X-Request-ID"] == "checkout-17"
    for odd in ("two words", "a" * 65, '{"level":"info"}', ""):
        answer = lite.client.get("/livez", headers={"X-Request-ID": odd})
        assert len(answer.headers["X-Request-ID"]) == 16
    found = {lite.client.get("/v1/nothing").headers["X-Request-ID"] for _ in range(3)}
    assert len(found) == 3


def test_lines_of_a_request_name_it_with_its_key_and_experiment(
    sqlite_url: str, log: io.StringIO
) -> None:
    for api in running(settings_for(sqlite_url, insecure=False, log_requests=True)):
        with api.service.database.write() as connection:
            key, grant = create_key(connection, ["admin"])
        api.client.headers["Authorization"] = f"Bearer {key}"
        api.create()
        for path in (DECISIONS, f"{DECISIONS}/batch"):  # one past the framework, one through it
            name = f"asked-{len(path)}"
            body = {"subject": "ana"} if path == DECISIONS else {"decisions": [{"subject": "ana"}]}
            api.client.post(path, json=body, headers={"X-Request-ID": name})
            (line,) = lines(log, name)
            assert (line["key_id"], line["experiment"]) == (grant.id, "shop")
        # What is not an experiment is not logged: a path may contain anything, such as a key.
        for odd in ("ana@private", "private", key):
            api.client.get(f"/v1/experiments/{odd}", headers={"X-Request-ID": "odd"})
        assert "private" not in log.getvalue()
        assert key not in log.getvalue()


def test_a_failed_transaction_and_a_failed_read_name_their_requests(
    sqlite_url: str, log: io.StringIO
) -> None:
    for api in running(settings_for(sqlite_url, lock_seconds=0.1)):
        api.create()
        with locked_by_another(sqlite_url):
            headers = {"X-Request-ID": "written"}
            answer = api.client.post(DECISIONS, json={"subject": "ana"}, headers=headers)
            assert answer.status_code == 503
        written = [json.loads(line) for line in log.getvalue().splitlines()]
        (failed,) = [one for one in written if "transaction failed" in one["message"]]
        assert failed["request_ids"] == ["written"]
        assert failed["experiments"] == ["shop"]
        with api.service.database.write() as connection:
            connection.exec_driver_sql("ALTER TABLE subjects RENAME TO elsewhere")
        headers = {"X-Request-ID": "read"}
        path = "/v1/experiments/shop/subjects/ana"
        assert api.client.get(path, headers=headers).status_code == 503
        found = [one["message"] for one in lines(log, "read")]
        assert any("a read failed" in message for message in found)
