"""The answer to a decision: its public id and its explanation, made from the stored row alone.

A repeated request therefore gets the same answer.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import orjson

from structuredbandits.service.experiments.stored_experiment import StoredExperiment, Version
from structuredbandits.service.storage.tables import DEFAULTED, EXPIRED, PENDING, REWARDED

_ID = re.compile(r"([0-9a-f]{1,15})-([1-9][0-9]{0,9})-([0-9a-f]{8})")
STATES = {PENDING: "pending", REWARDED: "rewarded", DEFAULTED: "default", EXPIRED: "expired"}


@lru_cache(maxsize=4096)  # all decisions of a transaction have the same
def timestamp(moment: int | None) -> str | None:
    """Microseconds since 1970 as ISO 8601 in UTC.

    Examples
    --------
    >>> timestamp(1_600_000_000_000_000)
    '2020-09-13T12:26:40.000000Z'
    """
    if moment is None:
        return None
    time = datetime.fromtimestamp(moment // 1_000_000, UTC).replace(microsecond=moment % 1_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def decision_id(seed: bytes, subject: int, round_number: int) -> str:
    """The public id of a decision; its last part keeps a mistyped id from hitting another.

    Examples
    --------
    >>> read_decision_id(decision_id(b"secret", 26, 3))[:2]
    (26, 3)
    """
    return f"{subject:x}-{round_number}-{id_tag(seed, subject, round_number)}"


def id_tag(seed: bytes, subject: int, round_number: int) -> str:
    """The last part of a decision's id."""
    digest = hashlib.blake2b(f"id:{subject}:{round_number}".encode(), key=seed, digest_size=4)
    return digest.hexdigest()


def read_decision_id(text: str) -> tuple[int, int, str] | None:
    """Subject, round and tag of a decision's id; None if it is not an ID.

    Examples
    --------
    >>> read_decision_id("nonsense") is None
    True
    """
    found = _ID.fullmatch(text)
    if found is None or int(found[2]) >= 2**31:
        return None
    return int(found[1], 16), int(found[2]), found[3]


def decision_answer(
    experiment: StoredExperiment,
    version: Version,
    subject: str,
    row: Mapping[str, Any],
    shares: list[float] | None = None,
    places: list[int] | None = None,
) -> dict[str, Any]:
    """A decision as it is answered.

    ``shares`` and ``places`` are the row's probabilities and competitive arms, if they are
    known and need not be read from it.
    """
    arms = version.structure.arms
    if shares is None or places is None:
        shares, places = orjson.loads(row["probabilities"]), orjson.loads(row["competitive"])
    competitive = [arms[place] for place in places]
    answer = {
        "id": decision_id(experiment.seed, row["subject"], row["round"]),
        "experiment": experiment.id,
        "subject": subject,
        "round": row["round"],
        "arm": arms[row["arm"]],
        "probability": row["probability"],
        "probabilities": dict(zip(arms, shares, strict=True)),
        "competitive_arms": competitive,
        "why": why(version, row["arm"], row["probability"], len(competitive), row["plausible"]),
        "structure_version": row["version"],
        "created": timestamp(row["created"]),
        "stored": True,
    }
    if row["expires"] is not None:
        answer["expires"] = timestamp(row["expires"])
    if experiment.settings.payloads is not None:
        answer["payload"] = payload_of(experiment, answer["arm"])
    return answer


def payload_of(experiment: StoredExperiment, arm: str) -> Any:
    """What the experiment defines for an arm; the arm's name if it defines nothing."""
    return (experiment.settings.payloads or {}).get(arm, arm)


def why(version: Version, arm: int, probability: float, n_competitive: int, plausible: int) -> str:
    """One sentence on a choice."""
    structure = version.structure
    drawn = f"{structure.arms[arm]!r} was drawn with probability {probability:.4g}"
    if plausible == 0:
        return f"{drawn}; no parameter explains the rewards, so every arm competes."
    arms = "1 arm is" if n_competitive == 1 else f"{n_competitive} arms are"
    return (
        f"{drawn}; {plausible} of {version.n_parameters} parameters are plausible, and {arms} "
        "best at one of them."
    )
