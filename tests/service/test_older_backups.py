"""A backup that an older version wrote is restored: its tables are migrated on the way."""

from __future__ import annotations

import base64
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import MetaData, func, select

from structuredbandits.errors import DamagedFile, InvalidInput, WrongVersion
from structuredbandits.service.backup import back_up, restore
from structuredbandits.service.doctor import run_checks
from structuredbandits.service.storage import open_database, schema_version
from structuredbandits.service.storage.database import Database
from structuredbandits.service.storage.migrate import newest_version
from tests.service.conftest import Api
from tests.service.test_backup import Restored, changed, restored, saying
from tests.service.test_log import lines
from tests.service.test_oldest_tables import KEYED, OLDEST, as_the_oldest, new_like, told, use

assert restored  # the fixture


def write_as_the_oldest(database: Database, target: Path) -> None:
    """What `structuredbandits backup` wrote when the tables were made for the first time.

    It said the last settlement and no other number.
    """
    with database.read() as connection, zipfile.ZipFile(target, "w") as archive:
        assert schema_version(connection) == OLDEST
        there = MetaData()
        there.reflect(connection)
        last = connection.execute(select(func.max(there.tables["decisions"].c.settled))).scalar()
        about = {"format": "structuredbandits.backup", "tables": OLDEST, "settled": str(last)}
        archive.writestr("backup.json", json.dumps(about))
        for name, table in there.tables.items():
            if name != "alembic_version":
                rows = [dict(row) for row in connection.execute(select(table)).mappings()]
                text = "".join(json.dumps(row, default=in_base64) + "\n" for row in rows)
                archive.writestr(f"{name}.jsonl", text)


def in_base64(value: Any) -> str:
    return base64.b64encode(bytes(value)).decode()


@pytest.fixture
def oldest(api: Api, database_url: str, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A backup of the oldest tables, of a service in use; and what was answered there."""
    answered = use(api)
    older = open_database(new_like(database_url))
    as_the_oldest(api.service.database, older)
    write_as_the_oldest(older, tmp_path / "oldest.backup")
    older.close()
    return tmp_path / "oldest.backup", answered


def test_a_backup_of_the_oldest_tables_goes_on_where_it_was(
    api: Api, oldest: tuple[Path, dict[str, Any]], restored: Restored
) -> None:
    source, left = oldest
    before, (_, cursor) = told(api), lines(api)
    with restored(source) as after:
        with after.service.database.read() as connection:
            assert schema_version(connection) == newest_version()
        assert told(after) == before
        findings = {one.what: one for one in run_checks(after.service.database)}
        assert all(one.good for one in findings.values()), findings
        again = after.client.post(
            "/v1/experiments/shop/decisions", json={"subject": "ana"}, headers=KEYED
        )
        assert (again.status_code, again.json()) == (200, left["keyed"])
        assert after.reward(left["open"], 2.0).json()["counted"]
        rows, _ = lines(after, after=cursor)
        assert [row["id"] for row in rows] == [left["open"]["id"]]
        fresh = after.decide("somebody new")
        assert int(fresh["id"].split("-")[0], 16) > 1_000_000_000  # far behind all that was given


def test_a_backup_from_before_deletions_in_portions_is_restored(
    lite: Api, tmp_path: Path, restored: Restored
) -> None:
    use(lite)
    before = told(lite)
    back_up(lite.service.database, tmp_path / "all.backup")
    numbers = {"subjects": 700, "audit": 800, "settlements": 900}

    def older(name: str, content: bytes) -> bytes | None:
        if name == "departed.jsonl":
            return None
        if name == "keys.jsonl":
            rows = [json.loads(line) for line in content.splitlines()]
            for row in rows:
                for later in ("public_terms", "expires", "per_minute", "used"):
                    del row[later]
            return "".join(json.dumps(row) + "\n" for row in rows).encode()
        return saying(tables="0002", numbers=numbers)(name, content)

    with restored(changed(tmp_path / "all.backup", older)) as after:
        assert told(after) == before
        back_up(after.service.database, tmp_path / "again.backup")
    with zipfile.ZipFile(tmp_path / "again.backup") as archive:
        about = json.loads(archive.read("backup.json"))
    assert about["tables"] == newest_version()
    # They are those that the backup says, and not only those that are in its rows.
    assert about["numbers"] == {kind: 1_000_000_000 + last for kind, last in numbers.items()}


def without(name: str, content: bytes) -> bytes | None:
    return None if name == "experiments.jsonl" else content


def cut(name: str, content: bytes) -> bytes:
    return content[:-40] if name == "decisions.jsonl" else content


def test_an_older_backup_that_is_damaged_or_not_wanted_restores_nothing(
    lite: Api, tmp_path: Path
) -> None:
    use(lite)
    older = open_database(str(tmp_path / "older.db"))
    as_the_oldest(lite.service.database, older)
    source = tmp_path / "oldest.backup"
    write_as_the_oldest(older, source)
    older.close()
    database = open_database(str(tmp_path / "new.db"))
    for damage in (without, cut):
        with pytest.raises(DamagedFile, match=r"changed\.backup is not a complete backup"):
            restore(database, changed(source, damage))
    for version in ("9999", None, [], 1):
        with pytest.raises(WrongVersion, match="with the version that wrote it"):
            restore(database, changed(source, saying(tables=version)))
    assert not (tmp_path / "new.db").exists()
    with pytest.raises(InvalidInput, match="is not empty"):
        restore(lite.service.database, source)
    database.close()
