"""Both databases keep the contract of a storage, and each of its checks can fail."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from structuredbandits.service.settings import ServiceSettings
from structuredbandits.service.storage.database import Database, open_database
from structuredbandits.service.storage.database import database_url as read_url
from structuredbandits.testing import check_storage


def test_both_databases_keep_the_contract(database_url: str) -> None:
    check_storage(lambda: open_database(database_url))


class CommitsParts(Database):
    """It commits also after an exception."""

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        with self.writing.connect() as connection:
            try:
                yield connection
            finally:
                connection.commit()


class WritesWhileReading(Database):
    """Its readers can write."""

    @contextlib.contextmanager
    def read(self, seconds: float | None = None) -> Iterator[Connection]:
        with self.writing.begin() as connection:
            yield connection


class LosesCommits(Database):
    """It answers before anything is stored."""

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        with self.writing.connect() as connection:
            yield connection
            connection.rollback()


class NumbersTwice(Database):
    """It gives every transaction the same place in the log."""

    def next_settlement(self, connection: Connection) -> int:
        return 1


class NumbersBackwards(Database):
    """Later rewards come earlier in the log."""

    _numbers = itertools.count(10**6, -1)

    def next_settlement(self, connection: Connection) -> int:
        return next(self._numbers)


class ClaimsTooMuch(Database):
    """It says that settlements are complete that are not committed."""

    def settled_so_far(self, connection: Connection) -> int:
        return 10**12


class SeesNothingSettled(Database):
    """It never says that a settlement is complete."""

    def settled_so_far(self, connection: Connection) -> int:
        return 0


class ForgetsAtTheEnd(Database):
    """What it stored is gone when it is closed."""

    def close(self) -> None:
        with self.write() as connection:
            connection.execute(text("DELETE FROM decisions"))
        super().close()


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (CommitsParts, "stored in part"),
        (WritesWhileReading, "can write|locked"),
        (LosesCommits, "not there|experiment"),
        (NumbersTwice, "do not increase"),
        (NumbersBackwards, "do not increase"),
        (ClaimsTooMuch, "before its commit"),
        (SeesNothingSettled, "not complete"),
        (ForgetsAtTheEnd, "opened again"),
    ],
)
def test_a_broken_storage_is_found(broken: Any, message: str, tmp_path: Path) -> None:
    path = str(tmp_path / "broken.db")
    # A reader that can write waits for a lock until it gives up; the others never wait that long.
    seconds = 1.0 if broken is WritesWhileReading else 60.0
    settings = ServiceSettings(database=path, lock_seconds=seconds)
    with pytest.raises(Exception, match=message):
        check_storage(lambda: broken(read_url(path), settings))


def test_a_storage_that_is_not_empty_is_not_touched(tmp_path: Path) -> None:
    path = str(tmp_path / "used.db")
    check_storage(lambda: open_database(path))
    with pytest.raises(AssertionError, match="give an empty one"):
        check_storage(lambda: open_database(path))


def test_the_contracts_do_not_load_the_service() -> None:
    code = (
        "import sys, structuredbandits.testing as t; t.check_storage; "
        "assert not any(name.startswith('structuredbandits.service') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)
