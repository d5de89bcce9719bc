"""Running sums over a log of millions: added up in blocks of time that are remembered.

A look counts anew what is new or has changed, for a bounded time, and takes the rest from memory;
blocks that seem unchanged are counted again now and then. So whatever happened to the log (late
rewards, corrections, deletions, a clock that is wrong, another replica), the sums become those of a
plain recount. This module must not know what is told of the sums.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Column, Connection, func, select

from structuredbandits.service.experiments import Experiment, now
from structuredbandits.service.storage import tables

#: Columns of the sums: where a cell of time begins, whose they are, and what was added up.
BEGIN, VERSION, ARM, STATE, COUNT, LATE, REWARDS, SQUARES, WEIGHTED, WEIGHTS = range(10)
_DECISIONS_A_BLOCK, _SUBJECTS_A_BLOCK = 10_000, 100_000
_MOST_CELLS = 1_024
# A block that seems unchanged is counted again after so long, in this part of the time of a look.
_TRUSTED = 60 * 1_000_000
_JUST_IN_CASE = 0.2
# So many settlements are followed one by one; after more, every block counts as changed.
_FOLLOWED = 10_000
# Clocks of replicas may differ by so much without a deadline's block being missed.
_SKEW = 60 * 1_000_000
_FIRST = 4.0
_TALLIES_KEPT = 64
_DELETIONS = ("delete subject", "retention")


class Seen(NamedTuple):
    """Sums as they were at one look."""

    sums: np.ndarray
    subjects: int
    width: int  # of a cell of time; cells of older sums may be finer
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
        """Count what is new, then what has changed, then what was counted longest ago."""
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
        if found == begin:  # more than a block at one moment
            found = connection.execute(
                select(func.min(self._created)).where(self._of, self._created > begin)
            ).scalar()
        return None if found is None else int(found)

    def _recount(self, connection: Connection, block: Block) -> None:
        place = self.blocks.index(block)
        until = self.blocks[place + 1].begin if place + 1 < len(self.blocks) else None
        moment = now()
        block.sums = self._count(connection, block.begin, until)
        block.counted, block.changed = moment, False
        if until is not None and not block.sums.size:  # everybody in it was deleted
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


class Tally:
    """What was shown and earned in one experiment, and how many subjects it has."""

    def __init__(self, experiment: Experiment) -> None:
        decisions, subjects = tables.decisions.c, tables.subjects.c
        self._experiment = experiment
        self._of = decisions.experiment == experiment.id
        self._decisions = Blocks(decisions.created, self._of, _DECISIONS_A_BLOCK, self._add_up)
        whose = subjects.experiment == experiment.id
        self._subjects = Blocks(subjects.created, whose, _SUBJECTS_A_BLOCK, self._count_subjects)
        self._width = 1  # of a cell of time
        self._settled: int | None = None
        self._deleted = 0
        self._looked = 0
        self._lock = threading.Lock()
        self._seen = Seen(np.zeros((0, 10)), 0, 1, False, 0)

    def look(self, connection: Connection, seconds: float) -> Seen:
        """The sums, brought up to date as far as that is possible in so many seconds.

        Until all was counted once, it may take longer. One thread counts at a time; another takes
        what was seen before, or waits if that was not everything.
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
        self._seen = Seen(
            self._decisions.sums,
            int(self._subjects.sums[:, COUNT].sum()),
            self._width,
            self._decisions.complete and self._subjects.complete,
            min(self._decisions.as_of, self._subjects.as_of),
        )

    def _widen(self, connection: Connection) -> None:
        """Make cells so wide that there are not too many; old ones are widened when recounted."""
        created = tables.decisions.c.created
        # In one statement SQLite would read everything.
        first, last = (
            connection.execute(select(one(created)).where(self._of)).scalar()
            for one in (func.min, func.max)
        )
        before = self._width
        while first is not None and last is not None and last - first > _MOST_CELLS * self._width:
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
        """Whether the audit tells of deleted subjects since it was last asked."""
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
        cell = (table.created // self._width).label("cell")
        statement = (
            select(
                cell,
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
            .where(self._of, table.created >= begin, ~tables.HAS_DEPARTED)
            .group_by(cell, table.version, table.arm, table.state)
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
    told = [[0.0 if value is None else float(value) for value in row] for row in rows]
    return np.array(told) if told else np.zeros((0, 10))


class Tallies:
    """The tallies of the experiments that were looked at lately."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Tally] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, experiment: Experiment) -> Tally:
        """The tally of an experiment, which may have counted nothing yet."""
        with self._lock:
            if experiment.id not in self._kept:
                self._kept[experiment.id] = Tally(experiment)
            self._kept.move_to_end(experiment.id)
            while len(self._kept) > _TALLIES_KEPT:
                self._kept.popitem(last=False)
            return self._kept[experiment.id]
