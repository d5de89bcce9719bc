"""The rows of one writing transaction: read together, locked in order, written together.

This module knows SQL and the order of locks. It must not know what a reward or a policy is.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from structuredbandits.service.storage import tables
from structuredbandits.service.storage.database import Database, Stale
from structuredbandits.service.storage.statements import POSTGRESQL, SETTLED, SQLITE, Row
from structuredbandits.service.subject_state import SubjectState

#: Which of some subjects who are not there are to be made: pairs of experiment and name.
Welcome = Callable[[Set[tuple[str, str]]], Set[tuple[str, str]]]
_NUMBERS_KEPT = 100_000


@dataclass(slots=True)
class Member:
    """A subject, locked."""

    number: int
    experiment: str
    name: str
    version: int
    state: SubjectState
    created: int


class SubjectNumbers:
    """Numbers of subjects by name, as far as they were seen lately."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, wanted: Set[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """Those that are remembered."""
        kept = self._kept
        return {who: kept[who] for who in wanted if who in kept}

    def learn(self, found: Mapping[tuple[str, str], int]) -> None:
        """Remember numbers, and forget the oldest if they are many."""
        with self._lock:
            self._kept.update(found)
            while len(self._kept) > _NUMBERS_KEPT:
                self._kept.popitem(last=False)

    def forget(self, numbers: Set[int]) -> None:
        """These subjects are gone."""
        with self._lock:
            for who in [who for who, number in self._kept.items() if number in numbers]:
                del self._kept[who]


class Ledger:
    """Reads, locks and writes for the orders of one transaction."""

    def __init__(
        self, database: Database, connection: Connection, numbers: SubjectNumbers, moment: int
    ) -> None:
        self.database = database
        self.connection = connection
        self.moment = moment
        self._ask = SQLITE if database.is_sqlite else POSTGRESQL
        self.members: dict[int, Member] = {}
        self._numbers = numbers
        self._rows: dict[tuple[int, int], Row] = {}
        self._keyed: dict[tuple[str, str], Row] = {}
        self._new: list[Row] = []
        self._changed: dict[tuple[int, int], Row] = {}
        self._touched: dict[int, Member] = {}
        self._settlement: int | None = None

    # -- reading -----------------------------------------------------------------------------------

    def revisions(self, names: Set[str]) -> dict[str, int]:
        """The present revision of each experiment that exists."""
        if not names:
            return {}
        found = self.connection.execute(self._ask.revisions, {"names": sorted(names)})
        return {row.id: row.revision for row in found}

    def resolve(
        self,
        wanted: Set[tuple[str, str]],
        fresh: Mapping[str, tuple[int, int]],
        welcome: Welcome,
    ) -> dict[tuple[str, str], int]:
        """Numbers of subjects, who are made if they are not there and are welcome.

        ``fresh`` gives for each experiment the version of a new subject and its number of arms.
        """
        found = self._numbers.known(wanted)
        missing = wanted - found.keys()
        if missing:
            looked_up = self._look_up(missing)
            absent = missing - looked_up.keys()
            strangers = absent & welcome(absent)
            if strangers:
                self._make(strangers, fresh)
                looked_up |= self._look_up(strangers)
            found |= looked_up
        return found

    def _look_up(self, wanted: Set[tuple[str, str]]) -> dict[tuple[str, str], int]:
        found: dict[tuple[str, str], int] = {}
        for experiment in sorted({experiment for experiment, _ in wanted}):
            names = [name for of, name in wanted if of == experiment]
            given = {"experiment": experiment, "names": names}
            rows = self.connection.execute(self._ask.numbers, given)
            found |= {(experiment, name): number for name, number in rows}
        return found

    def _make(self, strangers: Set[tuple[str, str]], fresh: Mapping[str, tuple[int, int]]) -> None:
        # In sorted order, and before any lock: so two transactions never wait for each other.
        rows = [
            {
                "experiment": experiment,
                "name": name,
                "version": fresh[experiment][0],
                "state": SubjectState.fresh(fresh[experiment][1]).to_json(),
                "created": self.moment,
                "updated": self.moment,
            }
            for experiment, name in sorted(strangers)
        ]
        make = sqlite_insert if self.database.is_sqlite else postgresql_insert
        self.connection.execute(make(tables.subjects).on_conflict_do_nothing(), rows)

    def lock(self, numbers: Set[int], needed: Set[int]) -> None:
        """Lock subjects in the order of their numbers; ``needed`` ones must be there."""
        if not numbers:
            return
        for row in self.connection.execute(self._ask.lock, {"numbers": sorted(numbers)}):
            state = SubjectState.from_json(row.state)
            self.members[row.number] = Member(
                row.number, row.experiment, row.name, row.version, state, row.created
            )
        gone = needed - self.members.keys()
        if gone:
            self._numbers.forget(gone)
            raise Stale

    def read_keys(self, keys: Mapping[str, Set[str]]) -> None:
        """Decisions that were made with these keys."""
        for experiment, wanted in keys.items():
            given = {"of": experiment, "keys": sorted(wanted)}
            found = self.connection.execute(self._ask.by_key, given)
            for row in found.mappings():
                self._keyed[experiment, row["key"]] = dict(row)
            if self._keyed:  # somebody repeats, or uses a key of somebody who is gone
                for key in self.connection.execute(self._ask.free, given).scalars():
                    del self._keyed[experiment, key]

    def read_decisions(self, rows: Set[tuple[int, int]]) -> None:
        """Decisions by subject and round."""
        if rows:
            for row in self._ask.find(self.connection, sorted(rows)):
                self._rows[row["subject"], row["round"]] = row

    def log_of(self, number: int) -> list[Row]:
        """All decisions of a subject."""
        statement = select(tables.decisions).where(tables.decisions.c.subject == number)
        return [dict(row) for row in self.connection.execute(statement).mappings()]

    def by_key(self, experiment: str, key: str) -> Row | None:
        """The decision that was made with a key, here or before."""
        return self._keyed.get((experiment, key))

    def decision(self, subject: int, round_number: int) -> Row | None:
        """A decision that was read."""
        return self._rows.get((subject, round_number))

    # -- writing -----------------------------------------------------------------------------------

    def settlement(self) -> int:
        """The place of this transaction in the export's order."""
        if self._settlement is None:
            self._settlement = self.database.next_settlement(self.connection)
        return self._settlement

    def add_decision(self, row: Row) -> None:
        """A new decision, to be written."""
        self._new.append(row)
        if row["key"] is not None:
            self._keyed[row["experiment"], row["key"]] = row

    def change(self, row: Row) -> None:
        """A decision's reward has changed."""
        self._changed[row["subject"], row["round"]] = row

    def touch(self, member: Member) -> None:
        """A subject's state has changed."""
        self._touched[member.number] = member

    def write(self) -> None:
        """Send all changes to the database; the caller commits."""
        if self._new:
            self._ask.send(self.connection, self._ask.add_decisions, self._new)
        if self._changed:
            changes = [
                {"of_subject": row["subject"], "of_round": row["round"]}
                | {f"new_{name}": row[name] for name in SETTLED}
                for row in self._changed.values()
            ]
            self._ask.send(self.connection, self._ask.settle, changes)
        if self._touched:
            states = [
                {
                    "of_number": member.number,
                    "new_state": member.state.to_json(),
                    "new_updated": self.moment,
                }
                for member in self._touched.values()
            ]
            self._ask.send(self.connection, self._ask.remember, states)
        self._new, self._changed, self._touched = [], {}, {}

    def remember(self) -> None:
        """Keep the subjects' numbers; only after a commit, since SQLite gives numbers again."""
        self._numbers.learn({(m.experiment, m.name): m.number for m in self.members.values()})
