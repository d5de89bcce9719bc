"""Every SQL statement of the service finds its rows by an index, on both databases.

One journey executes every statement, and the database explains each. A statement that reads a
whole table works well in tests and slows down as the log grows.
"""

from __future__ import annotations

import ast
import asyncio
import base64
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import Connection, Engine, event, text

import structuredbandits as sb
import structuredbandits.service as package
from structuredbandits.service import server
from structuredbandits.service.api import events
from structuredbandits.service.doctor import run_checks
from structuredbandits.service.reporting import aggregates
from structuredbandits.service.security.api_keys import create_key
from structuredbandits.service.subjects import deletion
from tests.service.conftest import Api, new_postgresql_database, running, settings_for
from tests.service.test_guarantees import age

FOLDER = Path(package.__file__).parent
# These read or write whole tables on purpose, and not for a request.
WHOLE = re.compile(r"backup\.py|storage/migrate\.py|storage/migrations/.*")
GROWING = ("decisions", "subjects", "audit")
EXPLAINED = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
SHOP = "/v1/experiments/shop"


class Place(NamedTuple):
    """A line of the service."""

    file: str
    line: int


Executed = dict[tuple[Place, str], Any]


@pytest.fixture
def executed() -> Iterator[Executed]:
    """The statements that the service has executed, with their first arguments."""
    found: Executed = {}

    def note(
        _connection: Any, _cursor: Any, statement: str, given: Any, _context: Any, many: bool
    ) -> None:
        frame = sys._getframe()
        while frame.f_back is not None:
            frame = frame.f_back
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(FOLDER):
                place = Place(path.relative_to(FOLDER).as_posix(), frame.f_lineno)
                found[place, statement] = given[0] if many else given
                return

    event.listen(Engine, "before_cursor_execute", note)
    yield found
    event.remove(Engine, "before_cursor_execute", note)


def test_every_statement_uses_an_index(
    sqlite_url: str,
    postgresql: str,
    executed: Executed,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aggregates, "_DECISIONS_PER_BLOCK", 5)
    monkeypatch.setattr(events, "_COUNTING_SECONDS", 60.0)  # a busy machine must not matter
    monkeypatch.setattr(deletion, "_ROWS_AT_ONCE", 5)
    places: set[Place] = set()
    for url in (sqlite_url, new_postgresql_database(postgresql)):
        executed.clear()
        for api in running(settings_for(url, insecure=False, retention_share=0.5)):
            with api.service.database.write() as connection:
                key, _ = create_key(connection, ["admin"])
            api.client.headers["Authorization"] = f"Bearer {key}"
            journey(api, tmp_path)
            places |= {place for place, _ in executed}
            with api.service.database.writing.connect() as connection:
                assert [
                    (f"{place.file}:{place.line}", scan, statement)
                    for (place, statement), given in list(executed.items())
                    if not WHOLE.fullmatch(place.file) and statement.lstrip().startswith(EXPLAINED)
                    for scan in full_scans(connection, statement, given)
                ] == []
    assert [
        f"{file}:{first}"
        for file, first, last in call_sites()
        if not any(place.file == file and first <= place.line <= last for place in places)
    ] == []


def journey(api: Api, folder: Path) -> None:
    """Use the service in every way that executes a statement."""
    decisions = use_decisions(api)
    use_administration(api, decisions, folder)
    use_reports(api)
    asyncio.run(api.service.scheduler.round())
    age(api.service, 31 * 86_400.0)
    asyncio.run(api.service.scheduler.round())  # retention refuses to delete this many
    assert api.client.post(f"{SHOP}/retention/confirm").status_code == 204
    asyncio.run(api.service.scheduler.round())
    list(run_checks(api.service.database))
    server._warn_about_keys(api.service)
    assert api.client.get("/readyz").status_code == 200


def use_decisions(api: Api) -> list[dict[str, Any]]:
    api.create(reward_deadline_seconds=86_400.0, default_reward=0.5, retention_days=30.0)
    api.create("forever")
    api.decide("somebody", "forever")
    version = api.service.experiment_cache.known_version("forever", 1)
    assert version is not None
    version.chooser.seconds = 0.003  # so that it is a costly one
    api.decide("somebody", "forever")
    for _ in range(2):
        keyed = {"subject": "ana", "key": "order 1"}
        body = {"decisions": [keyed, *({"subject": f"visitor {n % 9}"} for n in range(30))]}
        answer = api.client.post(f"{SHOP}/decisions/batch", json=body)
        assert answer.status_code == 200, answer.text
    decisions: list[dict[str, Any]] = answer.json()["decisions"]
    rewards = [{"decision": one["id"], "reward": 0.5} for one in decisions[5:15]]
    assert api.client.post("/v1/rewards", json={"rewards": rewards}).status_code == 200
    for one in decisions[:2]:
        assert api.reward(one, 0.25).status_code == 200
    assert api.client.post(f"{SHOP}/subjects", json={"subject": "new"}).status_code == 201
    for path in ("/shop", ""):
        context = {"context": {"targetingKey": "a flag's visitor"}}
        flags = f"/ofrep/v1/evaluate/flags{path}"
        assert api.client.post(flags, json=context).status_code == 200
    return decisions


def use_administration(api: Api, decisions: list[dict[str, Any]], folder: Path) -> None:
    body: dict[str, Any] = {"reward": 0.75, "reason": "typed wrongly"}
    path = f"/v1/decisions/{decisions[1]['id']}/corrections"
    assert api.client.post(path, json=body).status_code == 200
    assert api.reward(decisions[1], 0.25).status_code == 200  # the value before the correction
    for action in ("retire", "restore"):
        assert api.client.post(f"{SHOP}/arms/1/{action}").status_code == 200
    for state in ("paused", "running"):
        assert api.client.patch(SHOP, json={"state": state}).status_code == 200
    sb.load_structure("three-arms").save(folder / "own.structure")
    file = base64.b64encode((folder / "own.structure").read_bytes()).decode()
    body = {"structure": {"file": file}}
    assert api.client.post(f"{SHOP}/structures", json=body).status_code == 201
    made = api.client.post("/v1/keys", json={"scopes": ["read"]}).json()
    assert api.client.get("/v1/keys").status_code == 200
    assert api.client.post(f"/v1/keys/{made['id']}/rotate").status_code == 201
    for query in ("", "?experiment=shop&after=1"):
        assert api.client.get(f"/v1/audit{query}").status_code == 200
    assert api.client.delete(f"/v1/keys/{made['id']}").status_code == 200


def use_reports(api: Api) -> None:
    subjects = f"{SHOP}/subjects"
    for _ in range(2):
        for path in ("/v1/experiments", SHOP, f"{SHOP}/summary", f"{SHOP}/structures/1"):
            assert api.client.get(path).status_code == 200
        for subject in ("ana", "of the new version"):
            assert api.reward(api.decide(subject), 0.5).status_code == 200
        api.service.comparisons.clear()
    cursor = api.client.get(f"{SHOP}/events?limit=3").headers["next-cursor"]
    query = f"after={cursor}&structure_version=1&format=parquet"
    for path in (
        f"{SHOP}/events?{query}",
        f"{subjects}?limit=2",
        f"{subjects}?after=ana",
        f"{subjects}/ana",
        f"{subjects}/ana/steps",
    ):
        assert api.client.get(path).status_code == 200
    assert api.client.delete(f"{subjects}/visitor%201").status_code == 204
    assert api.client.get(f"{SHOP}/summary").status_code == 200


# -- plans -----------------------------------------------------------------------------------------


def full_scans(connection: Connection, statement: str, given: Any) -> list[str]:
    """The steps of a statement's plan that read a growing table without a bound."""
    if connection.dialect.name == "sqlite":
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", given)
        steps = [str(row.detail) for row in plan]
        scans = [one for one in steps if re.match(rf"SCAN ({'|'.join(GROWING)})\b", one)]
        # The first rows in the order of an index, and no more.
        bounded = "LIMIT" in statement and not any("TEMP B-TREE FOR ORDER" in one for one in steps)
        return [] if bounded else scans
    # PostgreSQL reads small tables completely by choice; here only if nothing else is possible.
    for choice in ("seqscan", "hashjoin", "mergejoin"):
        connection.execute(text(f"SET LOCAL enable_{choice} = off"))
    found = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", given).scalar_one()
    return list(_scans(found[0]["Plan"], limited=False))


def _scans(node: dict[str, Any], limited: bool) -> Iterator[str]:
    kind = node["Node Type"]
    limited = kind == "Limit" or (limited and kind not in ("Sort", "Aggregate", "Hash"))
    reads = "Scan" in kind and "Bitmap Heap" not in kind and _is_growing(node)
    if reads and ("Seq" in kind or ("Index Cond" not in node and not limited)):
        yield f"{kind} of {node.get('Relation Name') or node.get('Index Name')}"
    for inner in node.get("Plans", ()):
        yield from _scans(inner, limited)


def _is_growing(node: dict[str, Any]) -> bool:
    return str(node.get("Relation Name") or node.get("Index Name")).startswith(GROWING)


# -- completeness ----------------------------------------------------------------------------------


def call_sites() -> Iterator[tuple[str, int, int]]:
    """Where the service executes statements: file, first and last line."""
    for path in sorted(FOLDER.rglob("*.py")):
        file = path.relative_to(FOLDER).as_posix()
        if WHOLE.fullmatch(file):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "execute"
                # The settings of a new connection are sent to the driver itself.
                and not ast.unparse(node).startswith(
                    (
                        "connection.execute('PRAGMA",
                        'connection.execute(f"PRAGMA',
                        "connection.execute(f'PRAGMA",
                    )
                )
            ):
                yield file, node.lineno, node.end_lineno or node.lineno


def test_a_scan_is_noticed(database_url: str) -> None:
    for api in running(settings_for(database_url)):
        with api.service.database.writing.connect() as connection:
            for statement in (
                "SELECT * FROM decisions WHERE arm = 1",
                "SELECT count(*) FROM subjects",
                "UPDATE decisions SET late = 1 WHERE reward = 2",
                "SELECT number FROM audit WHERE action = 'x' ORDER BY created LIMIT 3",
            ):
                assert full_scans(connection, statement, ())
            for statement in (
                "SELECT * FROM decisions WHERE subject = 1",
                "SELECT number FROM audit ORDER BY number LIMIT 3",
            ):
                assert full_scans(connection, statement, ()) == []
