"""Logs with one JSON object per line: the same cells as from other files, and clear refusals."""

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import structuredbandits as sb
from structuredbandits.errors import FileError, InvalidInput

ROLES: dict[str, Any] = {"arm": "arm", "segment": "who", "reward": "paid"}
ROWS: list[dict[str, Any]] = [
    {"arm": "007", "who": "x\u2028y", "paid": 1},
    {"arm": "007", "who": "z", "paid": 2.5, "more": [1, {"a": 2}]},
    {"arm": "8", "who": "z", "paid": None},
    {"who": "x\u2028y", "paid": 4, "arm": "8"},
    {"arm": "8", "who": "z", "paid": "3"},
]


def write(path: Path, rows: list[Any]) -> Path:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


@pytest.mark.parametrize("engine", ["auto", "pandas", "ibis"])
@pytest.mark.parametrize("name", ["log.jsonl", "log.ndjson", "log.jsonl.gz", "log.json", "log"])
def test_lines_make_the_cells_that_a_table_makes(tmp_path: Path, name: str, engine: Any) -> None:
    path = write(tmp_path / name, ROWS)
    if engine == "ibis":  # a database has one type per column
        path = write(tmp_path / name, [row | {"paid": str(row["paid"])} for row in ROWS])
    cells = sb.read_cells(path, **ROLES, engine=engine)
    wanted = sb.read_cells(pd.DataFrame(ROWS), **ROLES, engine="pandas")
    assert cells.arms == wanted.arms == ("8", "007")
    assert cells.segments == wanted.segments
    assert cells.counts.tolist() == wanted.counts.tolist()
    assert cells.rows == wanted.rows


def test_several_files_and_empty_lines_are_one_log(tmp_path: Path) -> None:
    write(tmp_path / "1.jsonl", ROWS[:2])
    write(tmp_path / "2.jsonl.gz", ROWS[2:])
    (tmp_path / "3.ndjson").write_bytes(b"\n  \r\n\xef\xbb\xbf" + json.dumps(ROWS[0]).encode())
    assert sb.read_cells(tmp_path, **ROLES).rows.total == 6


def test_whole_numbers_stay_whole_beside_missing_ones(tmp_path: Path) -> None:
    rows = [{"arm": "a", "who": 25, "paid": 1}, {"arm": "a", "paid": 1}]
    rows += [{"arm": "b", "who": 25, "paid": 2}]
    cells = sb.read_cells(write(tmp_path / "log.jsonl", rows), **ROLES)
    assert cells.segments == (25,)
    assert cells.rows.missing_label == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b'{"arm": "a", "who": 1, "paid": 1}\n{"arm":\n', "line 2 of .* is not JSON"),
        (b'{"arm": "a", "who": 1, "paid": 1}\n[1]\n', "line 2 of .* is not a JSON object"),
        (b'{"arm": "\xff"}\n', "line 1 of .* is not JSON"),
        (b"[" * 100_000, "line 1 of .* is not JSON"),
        (b'{"arm": "a"}\n', "no column 'who'"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(
    tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "log.jsonl").write_bytes(content)
    with pytest.raises((FileError, InvalidInput), match=words):
        sb.read_cells(tmp_path / "log.jsonl", **ROLES)


def test_a_packed_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl.gz").write_bytes(b'{"arm": "a"}\n')
    with pytest.raises(FileError, match="cannot be read"):
        sb.read_cells(tmp_path / "log.jsonl.gz", **ROLES)


def test_files_of_two_formats_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "1.jsonl", ROWS)
    pd.DataFrame(ROWS).to_csv(tmp_path / "2.csv", index=False)
    with pytest.raises(FileError, match="CSV and JSON lines"):
        sb.read_cells(tmp_path, **ROLES)
