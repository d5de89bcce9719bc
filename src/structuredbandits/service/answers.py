"""What is told of a decision, made of its stored row alone: a repeated request gets the same.

This module knows rows and words. It must not know how either came about.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import orjson

from structuredbandits.service.experiments import Experiment, Version
from structuredbandits.service.orders import decision_id
from structuredbandits.service.storage.tables import DEFAULTED, EXPIRED, PENDING, REWARDED

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
    told = datetime.fromtimestamp(moment // 1_000_000, UTC).replace(microsecond=moment % 1_000_000)
    return told.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def decision_answer(
    experiment: Experiment,
    version: Version,
    subject: str,
    row: Mapping[str, Any],
    shares: list[float] | None = None,
    places: list[int] | None = None,
) -> dict[str, Any]:
    """A decision as it is answered.

    ``shares`` and ``places`` are the row's probabilities and competitive arms, if they are at hand
    and need not be read from it.
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
    return answer


def why(version: Version, arm: int, probability: float, n_competitive: int, plausible: int) -> str:
    """One sentence on a choice."""
    structure = version.structure
    drawn = f"{structure.arms[arm]!r} was drawn with probability {probability:.4g}"
    if plausible == 0:
        return f"{drawn}; no parameter explains the rewards, so every arm competes."
    arms = "1 arm is" if n_competitive == 1 else f"{n_competitive} arms are"
    return (
        f"{drawn}; {plausible} of {structure.n_parameters} parameters are plausible, and {arms} "
        "best at one of them."
    )
