"""Files and folders appear complete or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from structuredbandits._atomic_write import atomic_file, atomic_folder, write_atomically


def full(_descriptor: int) -> None:
    raise OSError(28, os.strerror(28))


def test_a_file_replaces_an_older_one_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"old")
    with atomic_file(target) as file:
        file.write(b"new")
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [OSError(5, "I/O"), ValueError(), KeyboardInterrupt()])
def test_a_failed_block_leaves_the_older_file(tmp_path: Path, error: BaseException) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"old")

    def fail() -> None:
        with atomic_file(target) as file:
            file.write(b"half")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_full_disk_leaves_the_older_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]
    write_atomically(target, b"not waited for", durable=False)
    assert target.read_bytes() == b"not waited for"


def test_the_unfinished_file_is_in_the_given_folder(tmp_path: Path) -> None:
    (tmp_path / "unfinished").mkdir()
    with atomic_file(tmp_path / "a", folder=tmp_path / "unfinished"):
        assert [path.name for path in tmp_path.iterdir()] == ["unfinished"]
        assert len(list((tmp_path / "unfinished").iterdir())) == 1
    assert list((tmp_path / "unfinished").iterdir()) == []


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    target = tmp_path / ("n" * 255)
    write_atomically(target, b"x")
    assert target.read_bytes() == b"x"


def test_a_folder_gets_all_files_or_none(tmp_path: Path) -> None:
    target = tmp_path / "new" / "out"
    with atomic_folder(target) as folder:
        (folder / "a").write_text("1")
        assert not (target / "a").exists()
    assert [path.name for path in target.iterdir()] == ["a"]

    def fail(place: Path) -> None:
        with atomic_folder(place) as folder:
            (folder / "a").write_text("2")
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        fail(target)
    assert (target / "a").read_text() == "1"
    assert [path.name for path in target.iterdir()] == ["a"]
    with pytest.raises(ValueError, match=r"^$"):
        fail(tmp_path / "other" / "inner")
    assert not (tmp_path / "other").exists()
