"""The contract of a storage of the service, as one function that raises if it is broken."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.engine import URL

    from structuredbandits.service.decisions.commands import Command
    from structuredbandits.service.storage import Database

#: The parts of the contract, in the order in which they are checked.
CHECKS = (
    "migration",
    "atomic_writes",
    "reads",
    "decisions",
    "rewards",
    "ordered_log",
    "concurrent_writers",
    "deletion",
    "reopening",
)

_SUBJECTS = 6
_WRITERS = 4
_ROUNDS = 8


class Storage(Protocol):
    """What the service asks of a storage.

    `structuredbandits.service.storage.open_database` returns the two of the library, for SQLite
    and PostgreSQL; a subclass or a wrapper of `Database` is another one.
    """

    url: URL
    is_sqlite: bool  # which of the two dialects of SQL is spoken

    def write(self) -> AbstractContextManager[Connection]:
        """Open a transaction that commits everything durably, or nothing after an exception."""

    def read(self, seconds: float | None = None) -> AbstractContextManager[Connection]:
        """Open a transaction that sees only committed data and cannot write."""

    def next_settlement(self, connection: Connection) -> int:
        """Return the next number of the export's order, inside a writing transaction."""

    def settled_so_far(self, connection: Connection) -> int:
        """Return a number up to which all settlements are committed."""

    def close(self) -> None:
        """Close all connections."""


def check_storage(open_storage: Callable[[], Storage]) -> None:
    """Check that a storage keeps the contract of the service; raise AssertionError if not.

    A repeated migration changes nothing; a transaction is stored as a whole or not at all; a
    reader sees committed data and cannot write; a repeated decision or reward is counted once; the
    exported log has one order and misses nothing; concurrent writers lose nothing, also of one
    subject; a deleted subject leaves no row behind and its number is not reused; everything is
    there after the storage is opened again.

    Parameters
    ----------
    open_storage
        Opens the storage, which is empty at first. It is called several times and returns
        independent connections to the same data, like those of two replicas of a service.

    Examples
    --------
    >>> import tempfile
    >>> from structuredbandits.service.storage import open_database
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     check_storage(lambda: open_database(f"{folder}/bandits.db"))
    """
    contract = _Contract(open_storage)
    try:
        for name in CHECKS:
            getattr(contract, name)()
    finally:
        contract.close()


class _Contract:
    """Two replicas on one storage, and what is asked of them."""

    def __init__(self, open_storage: Callable[[], Storage]) -> None:
        from structuredbandits.service.decisions.group_commit import Executor
        from structuredbandits.service.experiments.experiment_cache import ExperimentCache

        self._open = open_storage
        self._executor, self._cache = Executor, ExperimentCache
        self.storages = [open_storage(), open_storage()]
        self.replicas = [self._replica(one) for one in self.storages]

    def _replica(self, storage: Storage) -> Any:
        return self._executor(cast("Database", storage), self._cache())

    def close(self) -> None:
        for storage in self.storages:
            storage.close()

    def commit(self, commands: Sequence[Command], replica: int = 0) -> list[Any]:
        """Do commands in one transaction, and raise what went wrong with any of them."""
        results = self.replicas[replica].commit(commands)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return list(results)

    def count(self, table: str, storage: Storage | None = None) -> int:
        from sqlalchemy import text

        with (storage or self.storages[1]).read() as connection:
            return int(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())

    # -- the parts ---------------------------------------------------------------------------------

    def migration(self) -> None:
        from structuredbandits.service.experiments.experiment_settings import ExperimentSettings
        from structuredbandits.service.experiments.stored_experiment import (
            create_experiment,
            prepare,
        )
        from structuredbandits.service.storage import migrate, schema_version
        from structuredbandits.service.storage.migrate import newest_version
        from structuredbandits.structure import Structure

        url = self.storages[0].url
        with ThreadPoolExecutor(2) as pool:
            versions = list(pool.map(migrate, [url, url]))
        assert versions == [newest_version()] * 2, "the tables are not migrated to the newest"
        with self.storages[0].read() as connection:
            assert schema_version(connection) == newest_version(), "the tables have another version"
        assert self.count("decisions") == 0, "the storage is not empty at first; give an empty one"
        structure = Structure.from_table([[1.0, 0.5], [0.2, 0.9]], arms=["a", "b"], sigma=0.5)
        settings = ExperimentSettings()
        version = prepare(1, structure, "ts-c", settings)
        with self.storages[0].write() as connection:
            create_experiment(connection, "contract", version, settings)

    def atomic_writes(self) -> None:
        from sqlalchemy import insert

        from structuredbandits.service.storage import tables

        def row(name: str) -> dict[str, Any]:
            return {"name": name, "value": 1}

        class Aborted(Exception):
            pass

        before = self.count("counters")
        try:
            with self.storages[0].write() as connection:
                connection.execute(insert(tables.counters), row("contract-1"))
                connection.execute(insert(tables.counters), row("contract-2"))
                raise Aborted
        except Aborted:
            pass
        assert self.count("counters") == before, "an interrupted transaction was stored in part"
        with self.storages[0].write() as connection:
            connection.execute(insert(tables.counters), [row("contract-1"), row("contract-2")])
        assert self.count("counters") == before + 2, "a committed transaction is not there"

    def reads(self) -> None:
        from sqlalchemy import insert
        from sqlalchemy.exc import DBAPIError

        from structuredbandits.service.storage import tables

        before = self.count("counters")
        with self.storages[0].write() as connection:
            connection.execute(insert(tables.counters), {"name": "contract-3", "value": 1})
            seen = self.count("counters")
        assert seen == before, "a reader sees what is not committed"
        try:
            with self.storages[1].read() as connection:
                connection.execute(insert(tables.counters), {"name": "contract-4", "value": 1})
        except DBAPIError:
            pass
        assert self.count("counters") == before + 1, "a reading transaction can write"

    def decisions(self) -> None:
        from structuredbandits.service.decisions.commands import Decide

        command = Decide("contract", "ana", key="first")
        ((new, answer),) = self.commit([command])
        assert new, "a first decision is answered as a repeated one"
        for replica in (0, 1):
            ((new, again),) = self.commit([command], replica)
            assert not new, "a repeated decision is stored twice"
            assert again == answer, "a repeated decision has another answer"
        together = Decide("contract", "bea", key="second")
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda one: self.commit([together], one)[0], (0, 1)))
        assert found[0][1] == found[1][1], "one key gives two decisions in two replicas"
        assert self.count("decisions") == 2, "repeated decisions are stored more than once"

    def rewards(self) -> None:
        from structuredbandits.service.decisions.commands import AddReward, Decide

        ((_, answer),) = self.commit([Decide("contract", "cleo")])
        reward = AddReward(answer["id"], 0.5)
        results = [self.commit([reward], replica)[0] for replica in (0, 1, 0)]
        assert [one["repeated"] for one in results] == [False, True, True], (
            "a repeated reward is not recognised"
        )
        assert self._state("cleo").received == 1, "a repeated reward is counted more than once"
        (other,) = self.replicas[1].commit([AddReward(answer["id"], 0.7)])
        assert getattr(other, "code", "") == "reward_differs", "a second value replaces a reward"

    def ordered_log(self) -> None:
        from structuredbandits.service.decisions.commands import AddReward, Decide

        first = self.storages[0]
        with first.write() as connection:
            number = first.next_settlement(connection)
        with first.write() as connection:
            assert first.next_settlement(connection) > number, "settlements do not increase"
        begun, go_on = threading.Event(), threading.Event()

        def hold() -> int:
            with first.write() as connection:
                taken = first.next_settlement(connection)
                begun.set()
                go_on.wait(10.0)
                return taken

        with ThreadPoolExecutor(2) as pool:
            holding = pool.submit(hold)
            begun.wait(10.0)
            looking = pool.submit(self._settled)
            threading.Event().wait(0.1)  # a storage may wait here for the writer
            early = looking.result() if looking.done() else None
            go_on.set()
            taken = holding.result()
            assert early is None or early < taken, "a settlement is complete before its commit"
        assert self._settled() >= taken, "a committed settlement is not complete"
        answers = self.commit([Decide("contract", f"log-{number}") for number in range(5)])
        for _, answer in reversed(answers):
            self.commit([AddReward(answer["id"], 0.25)])
        exported = [row["id"] for row in self._export()]
        rewarded = [answer["id"] for _, answer in reversed(answers)]
        assert exported[-5:] == rewarded, "the log is not in the order in which rewards came"

    def concurrent_writers(self) -> None:
        from structuredbandits.service.decisions.commands import AddReward, Decide

        def work(writer: int) -> None:
            for number in range(_ROUNDS):
                names = [f"shared-{(number + k) % _SUBJECTS}" for k in range(3)]
                answers = self.commit([Decide("contract", name) for name in names], writer % 2)
                rewards = [AddReward(answer["id"], 0.5) for _, answer in answers]
                self.commit(rewards, (writer + 1) % 2)

        with ThreadPoolExecutor(_WRITERS) as pool:
            for done in [pool.submit(work, writer) for writer in range(_WRITERS)]:
                done.result()
        decided = 0
        for number in range(_SUBJECTS):
            state, rounds, replayed = self._replay(f"shared-{number}")
            assert rounds == list(range(1, len(rounds) + 1)), "rounds of a subject have gaps"
            assert state == replayed, "a subject's state is not the replay of its log"
            decided += len(rounds)
        assert decided == _WRITERS * _ROUNDS * 3, "concurrent writers lose decisions"
        exported = [row["id"] for row in self._export()]
        assert len(set(exported)) == len(exported), "the log holds a decision twice"

    def deletion(self) -> None:
        from sqlalchemy import select

        from structuredbandits.service.decisions.commands import Decide
        from structuredbandits.service.storage import tables
        from structuredbandits.service.subjects.deletion import delete_some_rows, delete_subject

        before = self.count("decisions")
        self.commit([Decide("contract", "leaving") for _ in range(3)])
        with self.storages[0].write() as connection:
            number = delete_subject(connection, "contract", "leaving", None)
        assert number is not None
        self.replicas[0].numbers.forget({number})
        more = True
        while more:
            with self.storages[0].write() as connection:
                more = delete_some_rows(connection)
        assert self.count("decisions") == before, "a deleted subject's decisions are left"
        assert self.count("departed") == 0, "a deletion does not end"
        ((_, answer),) = self.commit([Decide("contract", "leaving")], 1)
        assert answer["round"] == 1, "a deleted subject's history comes back"
        with self.storages[1].read() as connection:
            again = select(tables.subjects.c.number).where(tables.subjects.c.name == "leaving")
            assert connection.execute(again).scalar() != number, "a subject's number is reused"

    def reopening(self) -> None:
        before = {name: self.count(name) for name in ("subjects", "decisions", "audit")}
        self.storages[0].close()
        self.storages[0] = self._open()
        after = {name: self.count(name, self.storages[0]) for name in before}
        assert after == before, "rows are missing after the storage was opened again"

    # -- what is stored ----------------------------------------------------------------------------

    def _settled(self) -> int:
        with self.storages[1].read() as connection:
            return self.storages[1].settled_so_far(connection)

    def _export(self) -> list[dict[str, Any]]:
        """All settled decisions, page by page."""
        import json

        from structuredbandits.service.reporting.event_log import JsonLines, PageReader, find_page

        rows: list[dict[str, Any]] = []
        cursor: str | None = None
        database, cache = cast("Database", self.storages[1]), self.replicas[1].experiment_cache
        while True:
            with database.read() as connection:
                page = find_page(database, connection, "contract", cursor, 7)
                if not page.rows:
                    return rows
                reader = PageReader(page, cache, JsonLines())
                while (part := reader.part(connection)) is not None:
                    rows += [json.loads(line) for line in part.decode().split("\n") if line]
            cursor = page.cursor

    def _state(self, name: str) -> Any:
        from sqlalchemy import select

        from structuredbandits.service.storage import tables
        from structuredbandits.service.subjects.subject_state import SubjectState

        table = tables.subjects
        with self.storages[1].read() as connection:
            found = connection.execute(select(table.c.state).where(table.c.name == name))
            return SubjectState.from_json(found.scalar_one())

    def _replay(self, name: str) -> tuple[str, list[int], str]:
        """A subject's stored state, its rounds, and the state that its log gives."""
        from sqlalchemy import select

        from structuredbandits.service.storage import tables
        from structuredbandits.service.storage.tables import PENDING
        from structuredbandits.service.subjects.subject_state import LoggedDecision, replay

        who, table = tables.subjects.c, tables.decisions
        with self.storages[1].read() as connection:
            subject = connection.execute(select(tables.subjects).where(who.name == name)).one()
            of_subject = select(table).where(table.c.subject == subject.number)
            rows = connection.execute(of_subject.order_by(table.c.round)).all()
        log = [
            LoggedDecision(r.round, r.arm, r.state == PENDING, r.reward, r.reward_order)
            for r in rows
        ]
        return subject.state, [r.round for r in rows], replay(2, log).to_json()
