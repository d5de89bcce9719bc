"""A key is in no log, no address, no answer and no table, whatever is done with it."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from structuredbandits.client import Client, Retries
from structuredbandits.errors import NotAllowed
from structuredbandits.service.security.api_keys import create_key
from structuredbandits.service.storage.database import open_database
from tests.service_guarantees.conftest import EXPERIMENT
from tests.service_guarantees.servers import Launcher, Server


def make_key(database: str, *scopes: str) -> str:
    opened = open_database(database)
    try:
        with opened.write() as connection:
            return create_key(connection, scopes)[0]
    finally:
        opened.close()


def use_everywhere(server: Server, key: str) -> list[httpx.Response]:
    """Send a key in all places in which somebody may put it."""
    path = f"/v1/experiments/{EXPERIMENT}/decisions"
    body = {"subject": "somebody"}
    bearer = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=server.url, timeout=30) as http:
        return [
            http.post(path, json=body, headers=bearer),
            http.post(path, json=body, headers={"Authorization": key}),
            http.post(path, json=body, headers={"Authorization": f"Basic {key}"}),
            http.post(path, json=body, headers={"X-API-Key": key}),
            http.post(path, json=body, params={"key": key}),
            http.post(path, json=body, params={"access_token": key}),
            http.post(path, json={"subject": 1, "key": {"a": key}}, headers=bearer),
            http.post(path, content=b'{"subject"', headers=bearer),
            http.get(f"/v1/experiments/{key}", headers=bearer),
            http.get("/metrics", headers=bearer),
            http.get("/openapi.json"),
            http.get("/readyz"),
        ]


def test_a_key_is_seen_nowhere(launch: Launcher, tmp_path: Path) -> None:
    database = str(tmp_path / "bandits.db")
    server = launch.start("--db", database, "--log-requests")
    good = make_key(database, "admin")
    wrong = good[:-1] + ("A" if good[-1] != "A" else "B")
    with Client(server.url, good, retries=Retries(attempts=1)) as client:
        client.create_experiment("three-arms", "ts", id=EXPERIMENT)
        made = client.decide(EXPERIMENT, "somebody")
        client.reward(made.id, 1.0)
    with Client(server.url, wrong, retries=Retries(attempts=1)) as client:
        for _ in range(2):  # also after the refusal is remembered
            with pytest.raises(NotAllowed):
                client.decide(EXPERIMENT, "somebody")
    answers = [*use_everywhere(server, good), *use_everywhere(server, wrong)]
    with httpx.Client(base_url=server.url) as http:
        assert http.get("/v1/experiments").status_code == 401
        assert http.get("/v1/experiments", params={"key": good}).status_code == 401
    server.stop()

    log = server.text()
    assert '"route": "/v1/experiments/{experiment}/decisions"' in log, "requests were to be logged"
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("bandits.db*"))
    for key in (good, wrong):
        secret = key.split("_", 2)[2]
        assert secret not in log
        assert secret.encode() not in stored
        # A path that was made of a key is named back to who sent it, and to nobody else.
        told = [one for one in answers if key not in str(one.request.url)]
        assert all(secret not in one.text for one in told)


def test_without_a_key_nothing_but_the_probes_opens(launch: Launcher, tmp_path: Path) -> None:
    database = str(tmp_path / "bandits.db")
    server = launch.start("--db", database)
    with httpx.Client(base_url=server.url, timeout=30) as http:
        described = http.get("/openapi.json").json()
        for path, methods in described["paths"].items():
            if not path.startswith("/v1/") or path.startswith("/v1/lab"):
                continue
            for method in methods:
                answer = http.request(method, path.format_map(_Anything()), json={})
                assert answer.status_code == 401, (method, path)
                assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        assert http.get("/livez").status_code == 200
        assert http.get("/readyz").status_code == 200
    server.stop()


class _Anything(dict[str, str]):
    """Fills every parameter of a path."""

    def __missing__(self, name: str) -> str:
        return "1"
