"""After a restore no number is given twice, whatever was deleted, or lost after the backup."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from structuredbandits.errors import DamagedFile
from structuredbandits.service.backup import back_up, restore
from structuredbandits.service.storage import open_database
from structuredbandits.service.subjects.deletion import delete_some_rows, mark_deleted
from tests.service.conftest import Api, new_postgresql_database, running, settings_for
from tests.service.test_log import lines

Restored = Callable[[Path], Any]


@pytest.fixture(params=["into sqlite", "into postgresql"])
def restored(request: pytest.FixtureRequest, tmp_path: Path) -> Restored:
    """A service on a new database of either kind that is filled from a backup."""

    @contextmanager
    def serve(source: Path) -> Iterator[Api]:
        if request.param == "into sqlite":
            url = str(tmp_path / "restored.db")
        else:
            url = new_postgresql_database(request.getfixturevalue("postgresql"))
        database = open_database(url)
        restore(database, source)
        database.close()
        yield from running(settings_for(url))

    return serve


def reward(api: Api, decision: dict[str, Any], value: float = 1.0) -> None:
    answer = api.reward(decision, value)
    assert answer.status_code == 200, answer.text


def delete(api: Api, subject: str) -> None:
    assert api.client.delete(f"/v1/experiments/shop/subjects/{subject}").status_code == 204


def last_line_of_the_audit(api: Api) -> int:
    with api.service.database.read() as connection:
        return int(connection.execute(text("SELECT max(number) FROM audit")).scalar_one())


def changed(source: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """A copy of a backup of which some members are others, or none."""
    target = source.with_name("changed.backup")
    with zipfile.ZipFile(source) as whole, zipfile.ZipFile(target, "w") as copy:
        for name in whole.namelist():
            content = change(name, whole.read(name))
            if content is not None:
                copy.writestr(name, content)
    return target


def saying(**changes: Any) -> Callable[[str, bytes], bytes | None]:
    """Let a backup say something else of itself."""

    def change(name: str, content: bytes) -> bytes:
        if name != "backup.json":
            return content
        return json.dumps(json.loads(content) | changes).encode()

    return change


def test_what_was_deleted_before_the_backup_keeps_its_numbers(
    api: Api, tmp_path: Path, restored: Restored
) -> None:
    api.create()
    reward(api, api.decide("ana"))
    bea = api.decide("bea")  # the last subject, with the last reward and line of the audit
    reward(api, bea)
    path = f"/v1/decisions/{bea['id']}/corrections"
    api.client.post(path, json={"reward": 2.0, "reason": "typed wrongly"})
    seen, cursor = lines(api)
    audited = last_line_of_the_audit(api)
    with api.service.database.write() as connection:  # without a new line that hides the number
        mark_deleted(connection, [int(bea["id"].split("-")[0], 16)])
        assert not delete_some_rows(connection)
    back_up(api.service.database, tmp_path / "all.backup")
    with restored(tmp_path / "all.backup") as after:
        carl = after.decide("carl")
        assert carl["id"] not in {row["id"] for row in seen} | {bea["id"]}
        answer = after.reward(bea, 9.0)
        assert answer.status_code == 404
        assert json.loads(after.state("carl"))["received"] == 0
        reward(after, carl)
        rows, _ = lines(after, after=cursor)
        assert [row["id"] for row in rows] == [carl["id"]]
        correct = f"/v1/decisions/{carl['id']}/corrections"
        after.client.post(correct, json={"reward": 2.0, "reason": "typed wrongly"})
        assert last_line_of_the_audit(after) > audited


def test_what_was_lost_after_the_backup_is_not_taken_for_something_new(
    api: Api, tmp_path: Path, restored: Restored
) -> None:
    api.create()
    reward(api, api.decide("ana"))
    back_up(api.service.database, tmp_path / "all.backup")
    lost = [api.decide(f"lost {number}") for number in range(3)]
    for decision in lost:
        reward(api, decision)
    _, cursor = lines(api)  # of a consumer who has seen what is lost now
    with restored(tmp_path / "all.backup") as after:
        new = [after.decide(f"new {number}") for number in range(4)]
        for decision in lost:
            assert after.reward(decision, 9.0).status_code == 404
        for decision in new:
            reward(after, decision)
        rows, _ = lines(after, after=cursor)
        assert sorted(row["id"] for row in rows) == sorted(one["id"] for one in new)


def test_a_restored_service_can_be_backed_up_and_restored_again(
    api: Api, tmp_path: Path, restored: Restored
) -> None:
    api.create()
    for subject in ("ana", "bea"):
        reward(api, api.decide(subject))
    for subject in ("ana", "bea"):
        delete(api, subject)
    back_up(api.service.database, tmp_path / "1.backup")
    seen: set[str] = set()
    with restored(tmp_path / "1.backup") as after:
        decision = after.decide("carl")
        reward(after, decision)
        seen.add(decision["id"])
        delete(after, "carl")
        back_up(after.service.database, tmp_path / "2.backup")
    numbers = [
        json.loads(zipfile.ZipFile(tmp_path / name).read("backup.json"))["numbers"]
        for name in ("1.backup", "2.backup")
    ]
    assert numbers[0]["subjects"] == 2
    for kind, number in numbers[1].items():
        assert number > numbers[0][kind] > 0


@pytest.mark.parametrize(
    "change",
    [
        {"numbers": {}},
        {"numbers": None},
        {"numbers": {"subjects": "x", "audit": 1, "settlements": 1}},
        {"format": "other"},
        {"format": None},
    ],
    ids=str,
)
def test_a_backup_that_does_not_say_its_numbers_restores_nothing(
    lite: Api, tmp_path: Path, change: dict[str, Any]
) -> None:
    lite.create()
    back_up(lite.service.database, tmp_path / "all.backup")
    wrong = changed(tmp_path / "all.backup", saying(**change))
    database = open_database(str(tmp_path / "new.db"))
    with pytest.raises(DamagedFile, match="not a complete backup"):
        restore(database, wrong)
    database.close()
    assert not (tmp_path / "new.db").exists()


def test_rows_that_no_table_takes_restore_nothing(api: Api, tmp_path: Path) -> None:
    api.create()
    reward(api, api.decide())
    back_up(api.service.database, tmp_path / "all.backup")
    twice = changed(
        tmp_path / "all.backup",
        lambda name, content: content * 2 if name == "subjects.jsonl" else content,
    )
    database = open_database(str(tmp_path / "new.db"))
    with pytest.raises(DamagedFile, match="IntegrityError"):
        restore(database, twice)
    with database.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM experiments")).scalar_one() == 0
    database.close()
