"""What the service answers, as plain frozen records.

They hold what was sent and ask for nothing; fields that a newer service adds are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Self

from structuredbandits.errors import ServiceError


class Record:
    """An answer of the service with named fields."""

    @classmethod
    def read(cls, body: object) -> Self:
        """Make the record from decoded JSON.

        Raises
        ------
        ServiceError
            If a field is missing: then something else than the service answered.
        """
        if not isinstance(body, Mapping):
            raise ServiceError(
                f"The answer {str(body)[:80]!r} is no {cls.__name__}: "
                "check that the URL is that of a structuredbandits service."
            )
        values: dict[str, Any] = {}
        # Every record below is a dataclass; the base only reads.
        for item in fields(cls):  # type: ignore[arg-type]
            if item.name in body:
                values[item.name] = body[item.name]
            elif item.default is MISSING and item.default_factory is MISSING:
                raise ServiceError(
                    f"The answer has no {item.name!r}, so it is no {cls.__name__}: "
                    "check that the URL is that of a structuredbandits service."
                )
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Decision(Record):
    """An arm chosen for a subject, and how it was chosen.

    Attributes
    ----------
    id
        Names the decision when its reward is known.
    experiment, subject
        For whom it was made.
    round
        How many decisions the subject had before, plus one.
    arm
        The choice.
    probability
        With which probability exactly this arm was drawn.
    probabilities
        The same for every arm: the arm was drawn from these numbers.
    competitive_arms
        The arms that are optimal for some parameter that is still plausible.
    why
        The reason in a sentence.
    structure_version
        Which version of the structure the subject goes by.
    """

    id: str
    experiment: str
    subject: str
    round: int
    arm: str
    probability: float
    probabilities: Mapping[str, float] = field(default_factory=dict)
    competitive_arms: tuple[str, ...] = ()
    why: str = ""
    structure_version: int = 1
    created: str = ""
    expires: str | None = None


@dataclass(frozen=True, slots=True)
class Experiment(Record):
    """A structure, a policy and settings under which decisions are made.

    Attributes
    ----------
    id
        Its name in every address.
    policy
        The name of the policy, as on the command line.
    state
        ``"running"`` or ``"paused"``.
    arms
        The arms of the newest version of the structure.
    structure_version
        The version that new subjects get.
    settings
        What it was created with, defaults filled in.
    """

    id: str
    policy: str
    state: str
    arms: tuple[str, ...] = ()
    structure_version: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    created: str = ""


@dataclass(frozen=True, slots=True)
class Subject(Record):
    """Someone anonymous, and what has been seen of them.

    Attributes
    ----------
    id, experiment
        The subject within its experiment.
    """

    id: str
    experiment: str


@dataclass(frozen=True, slots=True)
class Reward(Record):
    """The reward of a decision, as it is stored.

    Attributes
    ----------
    decision
        The id of the decision.
    reward
        The value that counts.
    """

    decision: str
    reward: float
