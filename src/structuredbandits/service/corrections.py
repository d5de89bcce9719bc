"""Replacing a reward that was wrong, in a transaction of its own.

This module finds the decision that is meant. It must not know the rules of rewards, nor HTTP.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from structuredbandits.service.decisions import Desk
from structuredbandits.service.experiments import now
from structuredbandits.service.keys import Grant
from structuredbandits.service.orders import id_tag, read_decision_id
from structuredbandits.service.refusals import unknown_decision
from structuredbandits.service.rewarding import correct
from structuredbandits.service.storage.ledger import Ledger


def correct_reward(
    desk: Desk, connection: Connection, decision: str, value: float, reason: str, grant: Grant
) -> dict[str, Any]:
    """Give a settled decision another reward, on behalf of a key."""
    told = read_decision_id(decision)
    if told is None:
        raise unknown_decision(decision[:80])
    number, round_number, tag = told
    ledger = Ledger(desk.database, connection, desk.numbers, now())
    ledger.lock({number}, set())
    ledger.read_decisions({(number, round_number)})
    member, row = ledger.members.get(number), ledger.decision(number, round_number)
    if member is None or row is None or grant.experiment not in (None, member.experiment):
        raise unknown_decision(decision[:80])
    experiment = desk.catalogue.experiment(connection, member.experiment)
    if experiment is None or tag != id_tag(experiment.seed, number, round_number):
        raise unknown_decision(decision[:80])
    version = desk.catalogue.version(connection, experiment, member.version)
    result = correct(connection, ledger, experiment, version, member, row, value, reason, grant.id)
    ledger.write()
    return result
