"""Compare what a database holds with what was acknowledged, and with its own log."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from sqlalchemy import select

from structuredbandits.service.storage.database import open_database
from structuredbandits.service.storage.tables import PENDING, decisions, experiments, subjects
from structuredbandits.service.subjects.subject_state import LoggedDecision, SubjectState, replay
from tests.service_guarantees.load import Acknowledged

Row = dict[str, Any]


def rows_of(database: str, table: Any) -> list[Row]:
    """A table, read past the service."""
    opened = open_database(database)
    try:
        with opened.read() as connection:
            return [dict(row) for row in connection.execute(select(table)).mappings()]
    finally:
        opened.close()


def check_nothing_lost(database: str, done: Acknowledged, arms: list[str]) -> None:
    """Every acknowledged write is stored once, as it was answered; nothing else is stored.

    The workers finish what they begin, so there is no key in the database that was not answered.
    """
    named = {row["number"]: row["name"] for row in rows_of(database, subjects)}
    stored = rows_of(database, decisions)
    by_key = {row["key"]: row for row in stored}
    assert len(by_key) == len(stored), "a key has two decisions"
    assert set(by_key) == set(done.decisions)
    assert len({one.id for one in done.decisions.values()}) == len(done.decisions)
    for key, answered in done.decisions.items():
        row = by_key[key]
        assert named[row["subject"]] == answered.subject
        assert row["round"] == answered.round
        assert arms[row["arm"]] == answered.arm
        assert row["probability"] == answered.probability
        assert row["reward"] == done.rewards.get(answered.id)
        assert (row["reward_order"] is None) == (answered.id not in done.rewards)


def check_state_is_replay(database: str, n_arms: int) -> dict[str, SubjectState]:
    """Each subject's stored state is, byte for byte, that of its log. Returns them by name."""
    log: dict[int, list[LoggedDecision]] = defaultdict(list)
    for row in rows_of(database, decisions):
        log[row["subject"]].append(
            LoggedDecision(
                row["round"],
                row["arm"],
                row["state"] == PENDING,
                row["reward"],
                row["reward_order"],
            )
        )
    states = {}
    for subject in rows_of(database, subjects):
        entries = log[subject["number"]]
        assert sorted(one.round for one in entries) == list(range(1, len(entries) + 1))
        again = replay(n_arms, entries)
        assert subject["state"] == again.to_json()
        states[subject["name"]] = again
    return states


def copy_seed(source: str, target: str) -> None:
    """Give the experiments of one database the secret seeds of another's."""
    seeds = {row["id"]: row["seed"] for row in rows_of(source, experiments)}
    opened = open_database(target)
    try:
        with opened.write() as connection:
            for id, seed in seeds.items():
                change = experiments.update().where(experiments.c.id == id).values(seed=seed)
                connection.execute(change)
    finally:
        opened.close()
