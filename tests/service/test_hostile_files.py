"""Small structure files and backups that would unpack into huge ones; who may read a database."""

from __future__ import annotations

import base64
import stat
import tracemalloc
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

import structuredbandits as sb
from structuredbandits.errors import DamagedFile, InvalidInput
from structuredbandits.service import backup
from structuredbandits.service.backup import back_up, restore
from structuredbandits.service.storage import migrate, open_database
from tests.overlapping_archives import overlapping_archive
from tests.service.conftest import Api
from tests.service.test_backup import changed
from tests.service.test_experiments import code

MEGABYTE = 2**20


def upload(api: Api, content: bytes) -> tuple[int, str, str]:
    """Status, code and message of the answer to a structure file."""
    file = base64.b64encode(content).decode()
    body = {"id": "shop", "structure": {"file": file}, "policy": "ts-c"}
    answer = api.client.post("/v1/experiments", json=body)
    return *code(answer), answer.json()["error"]["message"]


def test_overlapping_entries_of_a_structure_are_refused_before_they_are_unpacked(lite: Api) -> None:
    content = overlapping_archive([f"{n}.npy" for n in range(200)], bytes(MEGABYTE))
    with zipfile.ZipFile(BytesIO(content)) as archive:  # each of the entries can be read
        assert sum(len(archive.read(name)) for name in archive.namelist()) > 200 * MEGABYTE
    tracemalloc.start()
    status, kind, message = upload(lite, content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (status, kind) == (422, "invalid_structure")
    assert "overlap" in message
    assert peak < 3 * lite.service.settings.limits.body_bytes


def test_two_entries_of_one_name_are_refused(lite: Api) -> None:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("structure.json", b"{}")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("structure.json", b"{}")
    assert "same name" in upload(lite, buffer.getvalue())[2]


def test_a_refused_structure_names_no_path_of_the_server(lite: Api, tmp_path: Path) -> None:
    structure = sb.Structure.from_table(np.zeros((1, 2)), arms=["a", "b"], sigma=1.0)
    structure.save(tmp_path / "whole.structure")
    whole = (tmp_path / "whole.structure").read_bytes()
    for content in (b"not a zip", whole[:-40], whole.replace(b"structure.json", b"structure.jsno")):
        message = upload(lite, content)[2]
        assert message.startswith("the file is not a complete structure file")
        assert "/" not in message


def backup_of(api: Api, tmp_path: Path) -> Path:
    api.create()
    back_up(api.service.database, tmp_path / "all.backup")
    return tmp_path / "all.backup"


def test_overlapping_entries_of_a_backup_are_refused(lite: Api, tmp_path: Path) -> None:
    with zipfile.ZipFile(backup_of(lite, tmp_path)) as archive:
        names = archive.namelist()
    hostile = tmp_path / "hostile.backup"
    hostile.write_bytes(overlapping_archive(names, bytes(MEGABYTE)))
    database = open_database(str(tmp_path / "new.db"))
    with pytest.raises(DamagedFile, match="overlap"):
        restore(database, hostile)
    database.close()
    assert not (tmp_path / "new.db").exists()


def test_a_row_of_many_values_is_refused_with_little_memory(lite: Api, tmp_path: Path) -> None:
    """Twenty times its size is what a list of empty lists needs in memory."""
    whole = backup_of(lite, tmp_path)
    database = open_database(str(tmp_path / "new.db"))
    for table, size in (("structures", 40 * MEGABYTE), ("subjects", 40 * MEGABYTE)):
        bomb = b"[" + b"[]," * (size // 3) + b"[]]\n"

        def one_row(name: str, content: bytes, wanted: str = table, row: bytes = bomb) -> bytes:
            return row if name == f"{wanted}.jsonl" else content

        hostile = changed(whole, one_row)
        tracemalloc.start()
        with pytest.raises(DamagedFile, match="more than"):
            restore(database, hostile)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 3 * size
    database.close()


def test_a_backup_that_does_not_fit_the_disk_is_refused(
    lite: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = backup_of(lite, tmp_path)
    free = type("Usage", (), {"free": 100})
    monkeypatch.setattr(backup.shutil, "disk_usage", lambda _folder: free)
    database = open_database(str(tmp_path / "new.db"))
    with pytest.raises(InvalidInput, match=r"the disk of .* has 100 left"):
        restore(database, whole)
    database.close()


def test_only_its_owner_reads_a_database_and_its_backups(lite: Api, tmp_path: Path) -> None:
    files = [backup_of(lite, tmp_path), *tmp_path.glob("service.db*")]
    assert len(files) >= 3  # with SQLite's log
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_an_existing_database_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "shared.db"
    file.touch(0o640)
    file.chmod(0o640)
    migrate(open_database(str(file)).url)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
