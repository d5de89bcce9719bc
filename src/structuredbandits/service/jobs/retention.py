"""The jobs that delete subjects past their retention time and finish interrupted deletions."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import orjson
from sqlalchemy import Connection, func, select

from structuredbandits.service.audit import write_audit
from structuredbandits.service.experiments.stored_experiment import (
    StoredExperiment,
    readable,
    require_experiment,
)
from structuredbandits.service.jobs.deadlines import JOB_SECONDS
from structuredbandits.service.storage import Database, tables
from structuredbandits.service.subjects.deletion import (
    delete_some_rows,
    has_rows_left,
    mark_deleted,
)

if TYPE_CHECKING:
    from structuredbandits.service.runtime import Service

_Value = TypeVar("_Value")
# Subjects per transaction, so that requests do not wait long for this job.
_AT_ONCE = 200
_DAY = 86_400 * 1_000_000
_CONFIRMED = "confirm retention"
_CONFIRMED_FOR = 3_600 * 1_000_000
_MANY = 2**31 - 1
_log = logging.getLogger(__name__)


async def apply_retention(service: Service, end: threading.Event) -> int:
    """Delete subjects older than their experiment keeps them, and return how many.

    A round that would delete more than a stated share of an experiment's subjects deletes nothing
    until it is confirmed: more likely a clock or a setting is wrong.
    """
    done = 0
    for experiment in await service.read(_with_retention):
        if experiment.id in service.refused_retention:
            continue
        due = await service.read(
            partial(find_due, service.database, experiment, service.settings.retention_share),
            JOB_SECONDS,
        )
        if due.refused:
            service.refused_retention[experiment.id] = due
            _log.error("retention needs a confirmation", extra=due.detail(experiment.id))
            continue
        deleted = 0
        while due.subjects and not end.is_set():
            numbers = await _change(
                service, partial(delete_old, experiment=experiment.id, before=due.before)
            )
            if not numbers:
                break
            service.executor.numbers.forget(set(numbers))
            deleted += len(numbers)
            await _delete_rows(service, end)
        if deleted:
            detail = {"experiment": experiment.id, "subjects": deleted}
            _log.info("deleted subjects past their retention time", extra=detail)
            service.metrics.deletions.labels("retention").inc(deleted)
        done += deleted
    return done


class Due(NamedTuple):
    """How many subjects are past their retention time, and whether that is too many at once."""

    before: int  # subjects created before this moment of the database's clock
    subjects: int
    refused: bool
    share: float  # that may be deleted in one round

    def detail(self, experiment: str) -> dict[str, Any]:
        """What the log says of it."""
        confirm = f"POST /v1/experiments/{experiment}/retention/confirm"
        return {
            "experiment": experiment,
            "subjects": self.subjects,
            "largest_share": self.share,
            "remedy": f"Check the clocks and retention_days, then confirm with {confirm}.",
        }


def find_due(
    database: Database, experiment: StoredExperiment, share: float, connection: Connection
) -> Due:
    """Count the subjects past their retention time, by the clock of the database."""
    days = experiment.settings.retention_days
    assert days is not None
    moment = database.clock(connection)
    before = moment - round(days * _DAY)
    table = tables.subjects.c
    mine = table.experiment == experiment.id
    statement = select(func.count()).where(mine, table.created < before)
    subjects = int(connection.execute(statement).scalar_one())
    # One subject may go: otherwise the last one of an experiment would stay.
    if subjects <= 1 or share >= 1.0 or _is_confirmed(connection, experiment.id, moment):
        return Due(before, subjects, False, share)
    # The others are counted only as far as needed.
    others = math.ceil(subjects * (1.0 - share) / share - 1e-9) if share > 0.0 else _MANY
    kept = (
        select(table.number).where(mine, table.created >= before).order_by(table.created)
    ).offset(others - 1)
    enough = connection.execute(kept.limit(1)).scalar() is not None
    return Due(before, subjects, not enough, share)


def confirm_retention(
    connection: Connection, database: Database, name: str, key: str | None
) -> None:
    """Allow retention to delete any share of an experiment's subjects, for an hour."""
    require_experiment(connection, name)
    detail = {"moment": database.clock(connection)}
    write_audit(connection, _CONFIRMED, detail, experiment=name, key=key)


def _is_confirmed(connection: Connection, name: str, moment: int) -> bool:
    lines = tables.audit.c
    statement = (
        select(lines.detail)
        .where(lines.experiment == name, lines.action == _CONFIRMED)
        .order_by(lines.number.desc())
        .limit(1)
    )
    detail = connection.execute(statement).scalar()
    return detail is not None and 0 <= moment - orjson.loads(detail)["moment"] < _CONFIRMED_FOR


async def finish_deletions(service: Service, end: threading.Event) -> int:
    """Continue interrupted deletions, and return the number of transactions."""
    done = await _delete_rows(service, end)
    if done:
        detail = {"transactions": done}
        _log.info("continued an interrupted deletion", extra=detail)
        await _change(service, lambda c: write_audit(c, "continue deletion", detail))
    return done


async def _delete_rows(service: Service, end: threading.Event) -> int:
    """Delete the remaining rows of deleted subjects, and return the number of transactions."""
    done = 0
    more = await service.read(has_rows_left)
    while more and not end.is_set():
        more = await _change(service, delete_some_rows)
        done += 1
    return done


async def _change(service: Service, work: Callable[[Connection], _Value]) -> _Value:
    def patiently(connection: Connection) -> _Value:
        service.database.be_patient(connection)
        return work(connection)

    return await service.change(patiently, JOB_SECONDS)


def _with_retention(connection: Connection) -> list[StoredExperiment]:
    found = readable(connection.execute(select(tables.experiments)).mappings())
    return [one for one in found if one.settings.retention_days is not None]


def delete_old(connection: Connection, experiment: str, before: int) -> list[int]:
    """Mark some subjects of an experiment as deleted that were created before a moment.

    Subjects locked by a running decision are left for the next round.
    """
    table = tables.subjects
    statement = (
        select(table.c.number)
        .where(table.c.experiment == experiment, table.c.created < before)
        .order_by(table.c.created)
        .limit(_AT_ONCE)
        .with_for_update(skip_locked=True)
    )
    numbers = list(connection.execute(statement).scalars())
    if numbers:
        mark_deleted(connection, numbers)
        write_audit(connection, "retention", {"subjects": len(numbers)}, experiment=experiment)
    return numbers
