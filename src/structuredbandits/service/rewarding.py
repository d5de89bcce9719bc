"""What a reward does, and what the passing of its deadline does: each decision settles once.

This module knows the rules of rewards. It must not know how rows are read and written.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from structuredbandits.errors import InvalidReward
from structuredbandits.service.audit import replaced_reward
from structuredbandits.service.experiments import Experiment, Version, note
from structuredbandits.service.orders import Reward, id_tag
from structuredbandits.service.refusals import Refusal, unknown_decision
from structuredbandits.service.storage.ledger import Ledger, Member
from structuredbandits.service.storage.tables import DEFAULTED, EXPIRED, PENDING, REWARDED
from structuredbandits.service.subject_state import LoggedDecision, replay

Row = dict[str, Any]


def check_reward(version: Version, value: float) -> None:
    """Refuse a reward that the policy cannot use."""
    if version.chooser.algorithm.needs_unit_rewards and not 0.0 <= value <= 1.0:
        raise InvalidReward(
            f"the reward is {value:g}, but {version.chooser.algorithm.label} needs rewards "
            "between 0 and 1; scale them."
        )


def take_reward(
    ledger: Ledger,
    experiment: Experiment,
    version: Version,
    member: Member,
    row: Row | None,
    tag: str,
    order: Reward,
) -> dict[str, Any]:
    """Count a reward once; a repeat is harmless, another value is refused, a late one is noted.

    What was sent before a correction may be sent again: a correction does not reach whoever
    repeats. It is answered with the value that counts.
    """
    if row is None or tag != id_tag(experiment.seed, row["subject"], row["round"]):
        raise unknown_decision(order.decision[:80])
    check_reward(version, order.value)
    expire(ledger, experiment, member, row)
    if row["state"] == PENDING:
        row |= {"state": REWARDED, "reward": order.value, "rewarded": ledger.moment}
        row["reward_order"] = member.state.reward(row["arm"], order.value)
        row["settled"] = ledger.settlement()
        ledger.change(row)
        ledger.touch(member)
        return _answer(order, order.value, counted=True, repeated=False)
    if row["state"] == REWARDED:
        if row["reward"] != order.value and not _was_replaced(ledger.connection, row, order.value):
            raise _differs(order, row["reward"])
        return _answer(order, row["reward"], counted=True, repeated=True)
    repeated = row["late_reward"] is not None
    if repeated and row["late_reward"] != order.value:
        raise _differs(order, row["late_reward"])
    if not repeated:
        row |= {"late_reward": order.value, "late": ledger.moment}
        ledger.change(row)
    return _answer(order, order.value, counted=False, repeated=repeated)


def _was_replaced(connection: Connection, row: Row, value: float) -> bool:
    """Whether a value is what was first given, before a correction: it may be sent again."""
    first = row["late_reward"]
    if first is None:
        first = replaced_reward(connection, row["subject"], row["round"])
    return bool(first == value)


def expire(ledger: Ledger, experiment: Experiment, member: Member, row: Row) -> None:
    """If a decision's deadline has passed, count the default reward, or wait no longer."""
    if row["state"] != PENDING or row["expires"] is None or row["expires"] > ledger.moment:
        return
    default = experiment.settings.default_reward
    if default is None:
        member.state.give_up(row["arm"])
        row |= {"state": EXPIRED, "rewarded": ledger.moment}
    else:
        order = member.state.reward(row["arm"], default)
        row |= {"state": DEFAULTED, "reward": default, "rewarded": ledger.moment}
        row |= {"reward_order": order, "settled": ledger.settlement()}
    ledger.change(row)
    ledger.touch(member)


def correct(
    connection: Connection,
    ledger: Ledger,
    experiment: Experiment,
    version: Version,
    member: Member,
    row: Row,
    value: float,
    reason: str,
    key: str | None,
) -> dict[str, Any]:
    """Replace a settled reward; the state becomes that of the corrected log, and it is audited.

    A corrected decision appears in the export again, with its new reward.
    """
    check_reward(version, value)
    expire(ledger, experiment, member, row)
    if row["state"] == PENDING:
        raise Refusal(
            409,
            "no_reward_yet",
            "the decision has no reward that could be corrected.",
            "Give its reward with PUT .../reward.",
        )
    before = row["reward"]
    if row["reward_order"] is None:
        row["reward_order"] = member.state.received + 1
    row |= {"state": REWARDED, "reward": value, "settled": ledger.settlement()}
    ledger.change(row)
    ledger.write()
    log = [
        LoggedDecision(r["round"], r["arm"], r["state"] == PENDING, r["reward"], r["reward_order"])
        for r in ledger.log_of(member.number)
    ]
    member.state = replay(version.structure.n_arms, log)
    ledger.touch(member)
    detail = {"round": row["round"], "before": before, "after": value, "reason": reason}
    detail["decided"] = member.state.decided  # decisions before it were made with the old value
    note(
        connection,
        "correction",
        detail,
        experiment=experiment.id,
        subject=member.number,
        key=key,
    )
    return {"before": before, "reward": value, "reason": reason}


def _answer(order: Reward, value: float, *, counted: bool, repeated: bool) -> dict[str, Any]:
    status = "counted" if counted else "late"
    return {
        "decision": order.decision,
        "reward": value,
        "counted": counted,
        "status": status,
        "repeated": repeated,
    }


def _differs(order: Reward, before: float) -> Refusal:
    return Refusal(
        409,
        "reward_differs",
        f"decision {order.decision} has the reward {before:g} already, not {order.value:g}.",
        "Correct it with POST .../corrections and a reason, with an admin key.",
    )
