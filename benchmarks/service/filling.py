"""Store subjects before a measurement begins, each with its own evidence.

Decisions for subjects without evidence are equal and could be cached, so the subjects here have
rewards, all different.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import orjson
from sqlalchemy import Connection, insert, text

from structuredbandits.service.storage import tables
from structuredbandits.service.storage.database import open_database
from structuredbandits.service.subjects.subject_state import SubjectState

REWARDS = 1
CHUNK = 10_000


def stored_subjects(
    experiment: str, count: int, arms: int, probabilities: str
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The rows of a subject and of its decisions."""
    chance = random.Random(7)
    moment = time.time_ns() // 1000
    for number in range(1, count + 1):
        state = SubjectState.fresh(arms)
        decisions = []
        for turn in range(1, REWARDS + 1):
            arm, reward = chance.randrange(arms), round(chance.uniform(1, 5), 3)
            state.decide(arm)
            state.reward(arm, reward)
            decisions.append(
                _decision(experiment, number, turn, arm, reward, probabilities, moment)
            )
        subject = {
            "number": number,
            "experiment": experiment,
            "name": f"s{number - 1:07d}",
            "version": 1,
            "state": state.to_json(),
            "created": moment,
            "updated": moment,
        }
        yield subject, decisions


def _decision(
    experiment: str,
    subject: int,
    turn: int,
    arm: int,
    reward: float,
    probabilities: str,
    moment: int,
) -> dict[str, Any]:
    return {
        "subject": subject,
        "round": turn,
        "experiment": experiment,
        "version": 1,
        "arm": arm,
        "probability": 0.05,
        "probabilities": probabilities,
        "competitive": "[]",
        "plausible": 1,
        "created": moment,
        "state": tables.REWARDED,
        "reward": reward,
        "reward_order": turn,
        "rewarded": moment,
        "settled": (subject - 1) * REWARDS + turn,
    }


def fill(database: str, experiment: str, arms: int, count: int) -> None:
    """Store `count` subjects with their decisions directly in the database."""
    opened = open_database(database)
    probabilities = orjson.dumps([round(1 / arms, 6)] * arms).decode()
    rows = stored_subjects(experiment, count, arms, probabilities)
    try:
        while part := list(islice(rows, CHUNK)):
            decisions = [one for _, several in part for one in several]
            _store(opened, [subject for subject, _ in part], decisions)
        with opened.writing.begin() as connection:
            opened.be_patient(connection)
            _go_on_from(connection, opened.is_sqlite, count)
            connection.execute(text("ANALYZE"))
    finally:
        opened.close()


def _go_on_from(connection: Connection, is_sqlite: bool, count: int) -> None:
    """Advance the sequence numbers of the service past the stored rows."""
    if is_sqlite:
        counter = "INSERT INTO counters (name, value) VALUES ('settled', :last)"
    else:
        counter = "SELECT setval('settlements', :last)"
        subjects = "SELECT setval(pg_get_serial_sequence('subjects', 'number'), :last)"
        connection.execute(text(subjects), {"last": count})
    connection.execute(text(counter), {"last": count * REWARDS})


def _store(
    opened: Any, subjects: Sequence[dict[str, Any]], decisions: Sequence[dict[str, Any]]
) -> None:
    """Insert rows: with COPY into PostgreSQL, one by one into SQLite, where that is as fast."""
    with opened.writing.begin() as connection:
        for table, rows in ((tables.subjects, subjects), (tables.decisions, decisions)):
            if opened.is_sqlite:
                connection.execute(insert(table), list(rows))
                continue
            names = list(rows[0])
            cursor = connection.connection.driver_connection.cursor()
            with cursor.copy(f"COPY {table.name} ({', '.join(names)}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row([row[name] for name in names])
