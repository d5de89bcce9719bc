"""The rows of one writing transaction: read together, locked in order, written together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

import orjson
from cachetools import LRUCache
from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.sql.base import Executable

from structuredbandits.service.storage import tables
from structuredbandits.service.storage.database import Database, Stale
from structuredbandits.service.storage.statements import POSTGRESQL, SETTLED, SQLITE, Row
from structuredbandits.service.subjects.subject_state import SubjectState

#: Selects which missing subjects are created: pairs of experiment and name.
Welcome = Callable[[Set[tuple[str, str]]], Set[tuple[str, str]]]
_NUMBERS_KEPT = 100_000


@dataclass(slots=True)
class LockedSubject:
    """A subject whose row is locked."""

    number: int
    experiment: str
    name: str
    version: int
    state: SubjectState
    created: int


class SubjectNumbers:
    """The numbers of recently used subjects, by name."""

    def __init__(self) -> None:
        self._kept: LRUCache[tuple[str, str], int] = LRUCache(_NUMBERS_KEPT)
        self._lock = threading.Lock()

    def known(self, wanted: Set[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """Return the numbers that are cached."""
        with self._lock:  # reading moves an entry to the end
            return {who: self._kept[who] for who in wanted if who in self._kept}

    def learn(self, found: Mapping[tuple[str, str], int]) -> None:
        """Cache numbers, and drop those not used for longest."""
        with self._lock:
            self._kept.update(found)

    def forget(self, numbers: Set[int]) -> None:
        """Forget subjects that were deleted."""
        with self._lock:
            for who in [who for who, number in self._kept.items() if number in numbers]:
                del self._kept[who]


class TransactionRows:
    """Reads, locks and writes for the commands of one transaction."""

    def __init__(
        self, database: Database, connection: Connection, numbers: SubjectNumbers, moment: int
    ) -> None:
        self.database = database
        self.connection = connection
        self.moment = moment
        self._ask = SQLITE if database.is_sqlite else POSTGRESQL
        self.members: dict[int, LockedSubject] = {}
        self.damaged: set[int] = set()  # subjects whose row cannot be read
        self._numbers = numbers
        self._rows: dict[tuple[int, int], Row] = {}
        self._keyed: dict[tuple[str, str], Row] = {}
        self._new: list[Row] = []
        self._changed: dict[tuple[int, int], Row] = {}
        self._touched: dict[int, LockedSubject] = {}
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
        """Return the numbers of subjects; missing ones are created if ``welcome`` selects them.

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
        # In sorted order, and before any lock: so two transactions cannot deadlock.
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
            try:
                state = SubjectState.from_json(row.state)
            except (TypeError, ValueError):
                self.damaged.add(row.number)
                continue
            self.members[row.number] = LockedSubject(
                row.number, row.experiment, row.name, row.version, state, row.created
            )
        gone = needed - self.members.keys() - self.damaged
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
            if self._keyed:  # repeated keys, or keys of deleted subjects
                for key in self.connection.execute(self._ask.free, given).scalars():
                    del self._keyed[experiment, key]

    def read_decisions(self, rows: Set[tuple[int, int]]) -> None:
        """Decisions by subject and round."""
        if not rows:
            return
        places = orjson.dumps(sorted(rows)).decode()
        for row in self.connection.execute(self._ask.by_round, {"rows": places}).mappings():
            self._rows[row["subject"], row["round"]] = dict(row)

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

    def touch(self, member: LockedSubject) -> None:
        """A subject's state has changed."""
        self._touched[member.number] = member

    def write(self) -> None:
        """Send all changes to the database; the caller commits."""
        if self._new:
            self._send(self._ask.add_decisions, self._new)
        if self._changed:
            changes = [
                {"of_subject": row["subject"], "of_round": row["round"]}
                | {f"new_{name}": row[name] for name in SETTLED}
                for row in self._changed.values()
            ]
            self._send(self._ask.settle, changes)
        if self._touched:
            states = [
                {
                    "of_number": member.number,
                    "new_state": member.state.to_json(),
                    "new_updated": self.moment,
                }
                for member in self._touched.values()
            ]
            self._send(self._ask.remember, states)
        self._new, self._changed, self._touched = [], {}, {}

    def _send(self, statement: Executable, rows: list[Row]) -> None:
        """Execute a statement for many rows."""
        whole = self._ask.whole
        self.connection.execute(statement, {"rows": orjson.dumps(rows).decode()} if whole else rows)

    def remember(self) -> None:
        """Cache the subjects' numbers; only after a commit, since a rollback frees them."""
        self._numbers.learn({(m.experiment, m.name): m.number for m in self.members.values()})
