"""A backup is restored row by row; a hostile one is refused before it fills the memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from structuredbandits.errors import DamagedFile
from structuredbandits.service import backup
from structuredbandits.service.backup import back_up, restore
from structuredbandits.service.storage import open_database
from tests.service.conftest import Api
from tests.service.test_backup import changed

MEGABYTE = 2**20


def test_one_endless_row_is_refused_with_little_memory(
    lite: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "_LINE_BYTES", MEGABYTE)
    lite.create()
    back_up(lite.service.database, tmp_path / "all.backup")

    def endless(name: str, content: bytes) -> bytes:
        return b" " * (64 * MEGABYTE) if name == "subjects.jsonl" else content

    hostile = changed(tmp_path / "all.backup", endless)
    database = open_database(str(tmp_path / "new.db"))
    tracemalloc.start()
    with pytest.raises(DamagedFile, match="more than"):
        restore(database, hostile)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    database.close()
    assert peak < 16 * MEGABYTE
