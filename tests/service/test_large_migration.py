"""A migration of a large log is linear, tells its progress, and continues after an interruption."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.engine import URL

from structuredbandits.service.storage import migrate, open_database, schema_version
from structuredbandits.service.storage.migrate import newest_version
from structuredbandits.service.storage.migrations import reward_counts

_STEPS = 1_000


def log_of_the_first_version(url: str, sizes: dict[int, int]) -> URL:
    """Tables of the first version with subjects of these numbers of decisions."""
    database = open_database(url)
    migrate(database.url, "0001")
    row = text(
        "INSERT INTO decisions (subject, round, experiment, version, arm, probability, "
        "probabilities, competitive, plausible, created, state, reward, reward_order, rewarded) "
        "VALUES (:subject, :round, 'shop', 1, 0, 1, '[1]', '[0]', 1, :created, :state, :reward, "
        ":reward_order, :rewarded)"
    )
    with database.write() as connection:
        for subject, size in sizes.items():
            connection.execute(row, [decision(subject, number) for number in range(1, size + 1)])
    database.close()
    return database.url


def decision(subject: int, number: int) -> dict[str, Any]:
    """Two in three get rewards: at once, or with the seventh decision after it."""
    rewarded = number % 3 > 0
    late = 7 * (number % 2)
    return {
        "subject": subject,
        "round": number,
        "created": 1000 * number,
        "state": int(rewarded),
        "reward": 0.5 if rewarded else None,
        "reward_order": number if rewarded else None,
        "rewarded": 1000 * (number + late) if rewarded else None,
    }


def check(url: URL, sizes: dict[int, int]) -> None:
    database = open_database(url.render_as_string(hide_password=False))
    with database.read() as connection:
        assert schema_version(connection) == newest_version()
        statement = text("SELECT subject, round, received FROM decisions ORDER BY subject, round")
        found = [tuple(row) for row in connection.execute(statement)]
        left = connection.execute(text("SELECT name FROM counters")).scalars().all()
    database.close()
    wanted = []
    for subject, size in sizes.items():
        rows = [decision(subject, number) for number in range(1, size + 1)]
        times = [row["rewarded"] for row in rows if row["rewarded"] is not None]
        wanted += [
            (subject, row["round"], sum(time <= row["created"] for time in times)) for row in rows
        ]
    assert found == wanted
    assert left == []


def test_an_interrupted_migration_continues_and_tells_its_progress(
    database_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sizes = {1: 5, 2: 40, 4: 1, 5: 30, 9: 12}
    url = log_of_the_first_version(database_url, sizes)
    monkeypatch.setattr(reward_counts, "ROWS_AT_ONCE", 10)
    caplog.set_level(logging.INFO, "structuredbandits")
    honest, calls = reward_counts.work, []

    def interrupted(connection: Connection) -> str | None:
        calls.append(connection)
        if len(calls) == 3:
            raise KeyboardInterrupt
        done: str | None = honest(connection)
        return done

    monkeypatch.setattr(reward_counts, "work", interrupted)
    with pytest.raises(KeyboardInterrupt):
        migrate(url)
    migrate(url)
    done = [record.__dict__["done"] for record in caplog.records if "done" in record.__dict__]
    assert done == [
        "45 of 88 decisions",
        "76 of 88 decisions",
        "88 of 88 decisions",
        "all",
        *["all"] * (int(newest_version()) - 2),
    ]
    check(url, sizes)


@pytest.fixture
def steps() -> Iterator[list[int]]:
    """How much SQLite has worked, in thousands of its own steps."""
    counted = [0]

    def look() -> int:
        counted[0] += 1
        return 0

    def watch(connection: Any, _record: Any) -> None:
        connection.set_progress_handler(look, _STEPS)

    event.listen(Engine, "connect", watch)
    yield counted
    event.remove(Engine, "connect", watch)


def test_twice_the_decisions_of_one_subject_are_twice_the_work(
    tmp_path: Path, steps: list[int]
) -> None:
    work = []
    for size in (2_000, 4_000):
        url = log_of_the_first_version(str(tmp_path / f"{size}.db"), {1: size})
        steps[0] = 0
        migrate(url)
        work.append(steps[0])
    assert work[1] < 3 * work[0]
