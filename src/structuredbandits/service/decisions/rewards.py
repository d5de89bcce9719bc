"""The rules of rewards, deadlines and corrections: each decision is settled once."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from structuredbandits.errors import InvalidReward
from structuredbandits.service.audit import replaced_reward, write_audit
from structuredbandits.service.decisions.commands import AddReward
from structuredbandits.service.decisions.explanation import id_tag
from structuredbandits.service.errors import RequestError, unknown_decision
from structuredbandits.service.experiments.stored_experiment import StoredExperiment, Version
from structuredbandits.service.storage.tables import DEFAULTED, EXPIRED, PENDING, REWARDED
from structuredbandits.service.storage.transaction_rows import LockedSubject, TransactionRows
from structuredbandits.service.subjects.subject_state import LoggedDecision, replay

Row = dict[str, Any]


def check_reward(version: Version, arm: int, value: float) -> None:
    """Reject a reward that the arm cannot give, or that the policy cannot use."""
    structure, algorithm = version.structure, version.chooser.algorithm
    structure.rewards.check(structure.arms, arm, value)
    if algorithm.refuses_other_rewards(structure) and not 0.0 <= value <= 1.0:
        raise InvalidReward(
            f"the reward is {value:g}, but {algorithm.label} needs rewards between 0 and "
            "1; scale them."
        )


def take_reward(
    rows: TransactionRows,
    experiment: StoredExperiment,
    version: Version,
    member: LockedSubject,
    row: Row | None,
    tag: str,
    command: AddReward,
) -> dict[str, Any]:
    """Count a reward once; reject a different value, and record a late one.

    The value before a correction may be sent again, because a client that repeats a request does
    not know of the correction. The answer has the value that counts.
    """
    if row is None or tag != id_tag(experiment.seed, row["subject"], row["round"]):
        raise unknown_decision(command.decision[:80])
    check_reward(version, row["arm"], command.value)
    expire(rows, experiment, member, row)
    if row["state"] == PENDING:
        row |= {"state": REWARDED, "reward": command.value, "rewarded": rows.moment}
        row["reward_order"] = member.state.reward(row["arm"], command.value)
        row["settled"] = rows.settlement()
        rows.change(row)
        rows.touch(member)
        return _answer(command, command.value, counted=True, repeated=False)
    if row["state"] == REWARDED:
        if row["reward"] != command.value and not _was_replaced(
            rows.connection, row, command.value
        ):
            raise _differs(command, row["reward"])
        return _answer(command, row["reward"], counted=True, repeated=True)
    repeated = row["late_reward"] is not None
    if repeated and row["late_reward"] != command.value:
        raise _differs(command, row["late_reward"])
    if not repeated:
        row |= {"late_reward": command.value, "late": rows.moment}
        rows.change(row)
    return _answer(command, command.value, counted=False, repeated=repeated)


def _was_replaced(connection: Connection, row: Row, value: float) -> bool:
    """Whether a value is what was first given, before a correction: it may be sent again."""
    first = row["late_reward"]
    if first is None:
        first = replaced_reward(connection, row["subject"], row["round"])
    return bool(first == value)


def expire(
    rows: TransactionRows, experiment: StoredExperiment, member: LockedSubject, row: Row
) -> None:
    """If a decision's deadline has passed, count the default reward, or wait no longer."""
    if row["state"] != PENDING or row["expires"] is None or row["expires"] > rows.moment:
        return
    default = experiment.settings.default_reward
    if default is None:
        member.state.give_up(row["arm"])
        row |= {"state": EXPIRED, "rewarded": rows.moment}
    else:
        command = member.state.reward(row["arm"], default)
        row |= {"state": DEFAULTED, "reward": default, "rewarded": rows.moment}
        row |= {"reward_order": command, "settled": rows.settlement()}
    rows.change(row)
    rows.touch(member)


def correct(
    connection: Connection,
    rows: TransactionRows,
    experiment: StoredExperiment,
    version: Version,
    member: LockedSubject,
    row: Row,
    value: float,
    reason: str,
    key: str | None,
) -> dict[str, Any]:
    """Replace a settled reward; the state becomes that of the corrected log, and it is audited.

    A corrected decision appears in the export again, with its new reward.
    """
    check_reward(version, row["arm"], value)
    expire(rows, experiment, member, row)
    if row["state"] == PENDING:
        raise RequestError(
            409,
            "no_reward_yet",
            "the decision has no reward that could be corrected.",
            "Give its reward with PUT .../reward.",
        )
    before = row["reward"]
    if row["reward_order"] is None:
        row["reward_order"] = member.state.received + 1
    row |= {"state": REWARDED, "reward": value, "settled": rows.settlement()}
    rows.change(row)
    rows.write()
    log = [
        LoggedDecision(r["round"], r["arm"], r["state"] == PENDING, r["reward"], r["reward_order"])
        for r in rows.log_of(member.number)
    ]
    member.state = replay(version.structure.n_arms, log)
    rows.touch(member)
    detail = {"round": row["round"], "before": before, "after": value, "reason": reason}
    detail["decided"] = member.state.decided  # decisions before it were made with the old value
    write_audit(
        connection,
        "correction",
        detail,
        experiment=experiment.id,
        subject=member.number,
        key=key,
    )
    return {"before": before, "reward": value, "reason": reason}


def _answer(command: AddReward, value: float, *, counted: bool, repeated: bool) -> dict[str, Any]:
    status = "counted" if counted else "late"
    return {
        "decision": command.decision,
        "reward": value,
        "counted": counted,
        "status": status,
        "repeated": repeated,
    }


def _differs(command: AddReward, before: float) -> RequestError:
    return RequestError(
        409,
        "reward_differs",
        f"decision {command.decision} has the reward {before:g} already, not {command.value:g}.",
        "Correct it with POST .../corrections and a reason, with an admin key.",
    )
