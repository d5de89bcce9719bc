"""Sums over a log of millions of decisions, cached in blocks of time.

A summary recounts what is new or has changed, for a bounded time, and takes the rest from the
cache; blocks that seem unchanged are recounted regularly. So whatever happened to the log (late
rewards, corrections, deletions, wrong clocks, other replicas), the sums become those of a full
recount.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from cachetools import LRUCache
from sqlalchemy import Column, ColumnElement, Connection, func, select

from structuredbandits.service.experiments.stored_experiment import StoredExperiment
from structuredbandits.service.storage import tables
from structuredbandits.service.storage.database import now

#: Columns of the sums: where a bin of time begins, whose they are, and what was added up.
BEGIN, VERSION, ARM, STATE, COUNT, LATE, REWARDS, SQUARES, WEIGHTED, WEIGHTS = range(10)
_DECISIONS_PER_BLOCK, _SUBJECTS_PER_BLOCK = 10_000, 100_000
_MOST_BINS = 1_024
# A block that seems unchanged is recounted after this time, within this share of the time limit.
_TRUSTED = 60 * 1_000_000
_JUST_IN_CASE = 0.2
# Up to this many settlements are followed one by one; with more, every block counts as changed.
_FOLLOWED = 10_000
# Clocks of replicas may differ by this much without a deadline's block being missed.
_SKEW = 60 * 1_000_000
_FIRST = 4.0
_EXPERIMENTS_KEPT = 64
_DELETIONS = ("delete subject", "retention")


class Totals(NamedTuple):
    """Sums at one point in time."""

    sums: np.ndarray
    subjects: int
    width: int  # of a bin of time; bins of older sums may be finer
    complete: bool  # whether the whole log is in it
    as_of: int  # every part was counted after this moment


@dataclass(eq=False)
class Block:
    """Sums over the rows from one moment to the next block's."""

    begin: int
    counted: int = 0  # when; 0 for never
    changed: bool = False
    sums: np.ndarray | None = None


class Blocks:
    """A table's rows of one experiment by age, in blocks of about equal size."""

    def __init__(
        self,
        created: Column[int],
        of: Any,
        size: int,
        count: Callable[[Connection, int, int | None], np.ndarray],
    ) -> None:
        self._created, self._of, self._size, self._count = created, of, size, count
        self.blocks = [Block(0)]
        self._reached_end = False

    def mark(self, begin: int, end: int) -> None:
        """Something has changed in what was made between two moments."""
        first, last = self._places([begin, end])
        for block in self.blocks[first : last + 1]:
            block.changed = True

    def touch(self, moments: list[int]) -> None:
        """Something has changed in what was made at these moments."""
        for place in set(self._places(moments)):
            self.blocks[place].changed = True

    def _places(self, moments: list[int]) -> list[int]:
        begins = np.array([block.begin for block in self.blocks])
        found = np.searchsorted(begins, np.array(moments, dtype=np.int64), side="right") - 1
        return [max(int(place), 0) for place in found]

    def refresh(self, connection: Connection, end: float) -> None:
        """Count what is new, then what has changed, then the blocks counted longest ago."""
        soon = time.monotonic() + _JUST_IN_CASE * (end - time.monotonic())
        self._reached_end = self._advance(connection, end)
        oldest = now() - _TRUSTED
        due = [one for one in self.blocks[:-1] if one.changed or one.counted < oldest]
        for block in sorted(due, key=lambda one: (one.counted > 0, not one.changed, one.counted)):
            if time.monotonic() > (end if block.changed or not block.counted else soon):
                return
            self._recount(connection, block)

    def _advance(self, connection: Connection, end: float) -> bool:
        """Count the last block, which has no end; close it where it has become too large."""
        while True:
            last = self.blocks[-1]
            until = self._next(connection, last.begin)
            if until is not None:
                self.blocks.append(Block(until))
            self._recount(connection, last)
            if until is None:
                return True
            if time.monotonic() > end:
                return False

    def _next(self, connection: Connection, begin: int) -> int | None:
        """Where the next block begins, if there are rows for one."""
        later = select(self._created).where(self._of, self._created >= begin)
        place = later.order_by(self._created).offset(self._size).limit(1)
        found = connection.execute(place).scalar()
        # The first block begins before its first row.
        if found is not None and found == self._first(connection, self._created >= begin):
            found = self._first(connection, self._created > found)  # more than a block at a moment
        return None if found is None else int(found)

    def _first(self, connection: Connection, where: ColumnElement[bool]) -> int | None:
        statement = select(func.min(self._created)).where(self._of, where)
        first: int | None = connection.execute(statement).scalar()
        return first

    def _recount(self, connection: Connection, block: Block) -> None:
        place = self.blocks.index(block)
        until = self.blocks[place + 1].begin if place + 1 < len(self.blocks) else None
        moment = now()
        block.sums = self._count(connection, block.begin, until)
        block.counted, block.changed = moment, False
        if until is not None and not block.sums.size:  # all of its subjects were deleted
            del self.blocks[place]
            self.blocks[place].begin = block.begin

    @property
    def sums(self) -> np.ndarray:
        """The sums of all blocks, below each other."""
        found = [block.sums for block in self.blocks if block.sums is not None]
        return np.concatenate(found) if found else np.zeros((0, 10))

    @property
    def complete(self) -> bool:
        """Whether every row is in a block that was counted."""
        return self._reached_end and all(block.counted for block in self.blocks)

    @property
    def as_of(self) -> int:
        """A moment after which every block was counted."""
        return min(block.counted for block in self.blocks)


class Aggregates:
    """What was shown and earned in one experiment, and how many subjects it has."""

    def __init__(self, experiment: StoredExperiment) -> None:
        decisions, subjects = tables.decisions.c, tables.subjects.c
        self._experiment = experiment
        self._of = decisions.experiment == experiment.id
        self._decisions = Blocks(decisions.created, self._of, _DECISIONS_PER_BLOCK, self._add_up)
        whose = subjects.experiment == experiment.id
        self._subjects = Blocks(subjects.created, whose, _SUBJECTS_PER_BLOCK, self._count_subjects)
        self._width = 1  # of a bin of time
        self._settled: int | None = None
        self._deleted = 0
        self._looked = 0
        self._lock = threading.Lock()
        self._seen = Totals(np.zeros((0, 10)), 0, 1, False, 0)

    def look(self, connection: Connection, seconds: float) -> Totals:
        """Return the sums, brought up to date as far as possible within ``seconds``.

        Until everything was counted once, it may take longer. One thread counts at a time; another
        thread gets the previous sums, or waits if those were not complete.
        """
        if not self._seen.complete:
            seconds = min(_FIRST * seconds, threading.TIMEOUT_MAX)
        if self._lock.acquire(timeout=0.0 if self._seen.complete else seconds):
            try:
                self._refresh(connection, time.monotonic() + seconds)
            finally:
                self._lock.release()
        return self._seen

    def _refresh(self, connection: Connection, end: float) -> None:
        self._widen(connection)
        self._notice(connection)
        self._subjects.refresh(connection, end)
        self._decisions.refresh(connection, end)
        self._seen = Totals(
            self._decisions.sums,
            int(self._subjects.sums[:, COUNT].sum()),
            self._width,
            self._decisions.complete and self._subjects.complete,
            min(self._decisions.as_of, self._subjects.as_of),
        )

    def _widen(self, connection: Connection) -> None:
        """Make bins so wide that there are not too many; old ones are widened when recounted."""
        created = tables.decisions.c.created
        # In one statement SQLite would read everything.
        first, last = (
            connection.execute(select(one(created)).where(self._of)).scalar()
            for one in (func.min, func.max)
        )
        before = self._width
        while first is not None and last is not None and last - first > _MOST_BINS * self._width:
            self._width *= 2
        if self._width != before:
            self._decisions.mark(0, now())

    def _notice(self, connection: Connection) -> None:
        """Find out in which blocks something has changed since the last look."""
        before, self._looked = self._looked, now()
        seconds = self._experiment.settings.reward_deadline_seconds
        if seconds is not None:
            waited = round(seconds * 1e6)
            self._decisions.mark(before - waited - _SKEW, self._looked - waited + _SKEW)
        if self._any_deleted(connection):
            self._decisions.mark(0, self._looked)
            self._subjects.mark(0, self._looked)
        settled = self._settled_lately(connection)
        if settled is None:
            self._decisions.mark(0, self._looked)
        else:
            self._decisions.touch(settled)

    def _any_deleted(self, connection: Connection) -> bool:
        """Whether subjects were deleted since the last look, according to the audit log."""
        lines = tables.audit.c
        newer = (lines.experiment == self._experiment.id, lines.number > self._deleted)
        newest = connection.execute(select(func.max(lines.number)).where(*newer)).scalar()
        if newest is None:
            return False
        statement = select(lines.number).where(*newer, lines.action.in_(_DELETIONS)).limit(1)
        self._deleted = int(newest)
        return connection.execute(statement).scalar() is not None

    def _settled_lately(self, connection: Connection) -> list[int] | None:
        """When decisions were made that were settled since the last look; None if too many."""
        table = tables.decisions.c
        if self._settled is not None:
            statement = (
                select(table.settled, table.created)
                .where(self._of, table.settled > self._settled)
                .order_by(table.settled)
                .limit(_FOLLOWED)
            )
            found = connection.execute(statement).all()
            if len(found) < _FOLLOWED:
                self._settled = int(found[-1].settled) if found else self._settled
                return [int(row.created) for row in found]
        highest = select(func.max(table.settled)).where(self._of, table.settled.is_not(None))
        self._settled = int(connection.execute(highest).scalar() or 0)
        return None

    def _add_up(self, connection: Connection, begin: int, end: int | None) -> np.ndarray:
        table = tables.decisions.c
        time_bin = (table.created // self._width).label("bin")
        statement = (
            select(
                time_bin,
                table.version,
                table.arm,
                table.state,
                func.count(),
                func.count(table.late_reward),
                func.sum(table.reward),
                func.sum(table.reward * table.reward),
                func.sum(table.reward / table.probability),
                func.sum(1.0 / table.probability),
            )
            .where(self._of, table.created >= begin, ~tables.IS_DELETED)
            .group_by(time_bin, table.version, table.arm, table.state)
        )
        if end is not None:
            statement = statement.where(table.created < end)
        found = _matrix(connection.execute(statement))
        found[:, BEGIN] *= self._width
        return found

    def _count_subjects(self, connection: Connection, begin: int, end: int | None) -> np.ndarray:
        table = tables.subjects.c
        statement = select(func.count()).where(
            table.experiment == self._experiment.id, table.created >= begin
        )
        if end is not None:
            statement = statement.where(table.created < end)
        count = int(connection.execute(statement).scalar_one())
        found = np.zeros((min(count, 1), 10))
        found[:, COUNT] = count
        return found


def _matrix(rows: Iterable[Any]) -> np.ndarray:
    """Rows of numbers, with 0 for what is not there."""
    filled = [[0.0 if value is None else float(value) for value in row] for row in rows]
    return np.array(filled) if filled else np.zeros((0, 10))


class AggregateCache:
    """The aggregates of the experiments that were summarised lately."""

    def __init__(self) -> None:
        self._kept: LRUCache[str, Aggregates] = LRUCache(_EXPERIMENTS_KEPT)
        self._lock = threading.Lock()

    def of(self, experiment: StoredExperiment) -> Aggregates:
        """Return an experiment's aggregates, which may have counted nothing yet."""
        with self._lock:
            found = self._kept.get(experiment.id)
            if found is None:
                found = self._kept[experiment.id] = Aggregates(experiment)
            return found
