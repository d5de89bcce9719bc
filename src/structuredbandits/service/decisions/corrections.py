"""Replaces a wrong reward, in a transaction of its own."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from structuredbandits.service.decisions.explanation import id_tag, read_decision_id
from structuredbandits.service.decisions.group_commit import Executor
from structuredbandits.service.decisions.rewards import correct
from structuredbandits.service.errors import unknown_decision
from structuredbandits.service.security.api_keys import Grant
from structuredbandits.service.storage.database import now
from structuredbandits.service.storage.transaction_rows import TransactionRows


def correct_reward(
    executor: Executor,
    connection: Connection,
    decision: str,
    value: float,
    reason: str,
    grant: Grant,
) -> dict[str, Any]:
    """Give a settled decision another reward, on behalf of a key."""
    parsed = read_decision_id(decision)
    if parsed is None:
        raise unknown_decision(decision[:80])
    number, round_number, tag = parsed
    rows = TransactionRows(executor.database, connection, executor.numbers, now())
    rows.lock({number}, set())
    rows.read_decisions({(number, round_number)})
    member, row = rows.members.get(number), rows.decision(number, round_number)
    if member is None or row is None or grant.experiment not in (None, member.experiment):
        raise unknown_decision(decision[:80])
    experiment = executor.experiment_cache.experiment(connection, member.experiment)
    if experiment is None or tag != id_tag(experiment.seed, number, round_number):
        raise unknown_decision(decision[:80])
    version = executor.experiment_cache.version(connection, experiment, member.version)
    result = correct(connection, rows, experiment, version, member, row, value, reason, grant.id)
    rows.write()
    return result
