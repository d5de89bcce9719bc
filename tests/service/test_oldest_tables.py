"""A database of the oldest tables, in use, goes through all migrations and goes on being served."""

from __future__ import annotations

from typing import Any

from alembic import command
from sqlalchemy import Connection, MetaData, Table, insert, inspect, select, text
from sqlalchemy.engine import make_url

from structuredbandits.service.doctor import run_checks
from structuredbandits.service.storage import open_database, schema_version
from structuredbandits.service.storage.database import Database
from structuredbandits.service.storage.migrate import _alone, _config, newest_version
from structuredbandits.service.storage.tables import metadata
from tests.service.conftest import Api, new_postgresql_database, running, settings_for

OLDEST = "0001"
KEYED = {"Idempotency-Key": "order-1"}


def use(api: Api) -> dict[str, Any]:
    """Leave something in every table; what was answered."""
    api.create(floor=0.2)
    decisions = []
    for number in range(9):
        decisions.append(api.decide(f"visitor {number % 3}"))
        if number < 6:
            assert api.reward(decisions[-1], 3.0 + number % 2).status_code == 200
    path = f"/v1/decisions/{decisions[0]['id']}/corrections"
    body = {"reward": 1.0, "reason": "typed wrongly"}
    assert api.client.post(path, json=body).status_code == 200
    keyed = api.client.post(
        "/v1/experiments/shop/decisions", json={"subject": "ana"}, headers=KEYED
    )
    assert api.client.post("/v1/keys", json={"scopes": ["read"]}).status_code == 201
    assert api.client.delete("/v1/experiments/shop/subjects/visitor%202").status_code == 204
    return {"open": decisions[6], "keyed": keyed.json()}


def as_the_oldest(source: Database, target: Database) -> None:
    """Make the oldest tables, with as much of what a newer database holds as they can take."""
    with _alone(target.url) as connection:
        command.upgrade(_config(connection), OLDEST)
    with source.read() as old, target.write() as new:
        present = set(inspect(new).get_table_names())
        for table in metadata.sorted_tables:
            if table.name not in present:
                continue
            there = Table(table.name, MetaData(), autoload_with=new)
            rows = [dict(row) for row in old.execute(select(table)).mappings()]
            assert rows or table.name == "counters", table.name
            names = set(there.columns.keys())
            if rows:
                kept = [{name: row[name] for name in row.keys() & names} for row in rows]
                new.execute(insert(there), kept)
        if not target.is_sqlite:
            _go_on_numbering(new)


def _go_on_numbering(connection: Connection) -> None:
    for table in ("subjects", "audit"):
        last = f"(SELECT max(number) FROM {table})"
        connection.execute(
            text(f"SELECT setval(pg_get_serial_sequence('{table}', 'number'), {last})")
        )
    last = "(SELECT max(settled) FROM decisions)"
    connection.execute(text(f"SELECT setval('settlements', {last})"))


def told(api: Api) -> dict[str, Any]:
    """The experiment and its subjects as the API reports them."""
    summary = api.client.get("/v1/experiments/shop/summary").json()
    subjects = api.client.get("/v1/experiments/shop/subjects").json()["subjects"]
    names = [one["subject"] for one in subjects]
    events = api.client.get("/v1/experiments/shop/events").text
    kept = ("decisions", "rewards", "pending", "subjects", "mean_reward", "uniform", "arms")
    path = "/v1/experiments/shop/subjects"
    return {
        "summary": {name: summary[name] for name in kept},
        "subjects": [api.client.get(f"{path}/{name}").json() for name in names],
        "steps": [api.client.get(f"{path}/{name}/steps").json() for name in names],
        "states": [api.state(name) for name in names],
        "events": sorted(events.splitlines()),
    }


def test_a_used_database_of_the_oldest_tables_goes_on(api: Api, database_url: str) -> None:
    left = use(api)
    before = told(api)
    other = new_like(database_url)
    target = open_database(other)
    as_the_oldest(api.service.database, target)
    with target.read() as connection:
        assert schema_version(connection) == OLDEST
    target.close()
    for moved in running(settings_for(other)):  # a service migrates when it starts
        with moved.service.database.read() as connection:
            assert schema_version(connection) == newest_version()
        assert told(moved) == before
        findings = {one.what: one for one in run_checks(moved.service.database)}
        assert all(one.good for one in findings.values()), findings
        again = moved.client.post(
            "/v1/experiments/shop/decisions", json={"subject": "ana"}, headers=KEYED
        )
        assert (again.status_code, again.json()) == (200, left["keyed"])
        assert moved.reward(left["open"], 2.0).json()["counted"]
        assert moved.decide("visitor 1")["round"] == 4
        fresh = moved.decide("somebody new")
        assert fresh["round"] == 1
        steps = moved.client.get("/v1/experiments/shop/subjects/visitor%201/steps").json()["steps"]
        assert [step["round"] for step in steps] == [1, 2, 3, 4]


def new_like(url: str) -> str:
    """Another empty database of the same kind."""
    if "://" not in url:
        return f"{url}.older"
    server = make_url(url).set(database="postgres").render_as_string(hide_password=False)
    return new_postgresql_database(server)
