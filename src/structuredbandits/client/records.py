"""What the service answers, as plain frozen records.

They hold what was sent and ask for nothing; fields that a newer service adds are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Generic, Self, TypeVar

from structuredbandits.errors import ServiceError

Item = TypeVar("Item")


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
        for item in fields(cls):  # type: ignore[arg-type]  # all records below are dataclasses
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
        Names the decision when its reward is known. None if it was not stored.
    experiment, subject
        For whom it was made.
    round
        1 for the subject's first decision. None if it was not stored.
    arm
        The choice.
    probability
        With which probability exactly this arm was drawn.
    probabilities
        The same for every arm: the arm was drawn from these numbers.
    competitive_arms
        The arms that are best for some parameter that is still plausible.
    why
        The reason in a sentence.
    structure_version
        Which version of the structure the subject goes by.
    created, expires
        When it was made, and until when its reward is waited for.
    stored
        False for a decision of the prior, made while the database was away: it takes no reward.
    """

    id: str | None
    experiment: str
    subject: str
    round: int | None
    arm: str
    probability: float
    probabilities: Mapping[str, float]
    competitive_arms: Sequence[str]
    why: str
    structure_version: int
    created: str
    expires: str | None = None
    stored: bool = True


@dataclass(frozen=True, slots=True)
class Reward(Record):
    """What became of a reward.

    Attributes
    ----------
    decision, reward
        What was told.
    counted
        Whether it is part of what is known of the subject.
    status
        ``"counted"``, or ``"late"`` if the deadline had passed.
    repeated
        Whether it had been told before; it counts once.
    """

    decision: str
    reward: float
    counted: bool
    status: str
    repeated: bool


@dataclass(frozen=True, slots=True)
class Correction(Record):
    """A reward that was replaced.

    Attributes
    ----------
    decision, before, reward, reason
        Of which decision, from what to what, and why.
    """

    decision: str
    before: float | None
    reward: float
    reason: str


@dataclass(frozen=True, slots=True)
class Experiment(Record):
    """A structure, a policy and settings under which decisions are made.

    Attributes
    ----------
    id
        Its name in every address.
    state
        ``"running"`` or ``"paused"``; ``"unusable"`` if the service's version of the library cannot
        serve it: then all that needs its structure raises `Unusable`.
    policy
        The name of the policy, as on the command line.
    settings
        What it was created with, defaults filled in; empty if they cannot be read.
    arms, retired_arms
        Of the newest version of the structure; which of them are not chosen any more.
    structure_version
        The version that new subjects get.
    parameters
        How many the structure has.
    created
        When.
    reason
        Why it is unusable, if it is.
    """

    id: str
    state: str
    policy: str
    settings: Mapping[str, Any]
    arms: Sequence[str]
    retired_arms: Sequence[str]
    structure_version: int
    parameters: int
    created: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Subject(Record):
    """Someone anonymous, and what has been seen of them.

    Attributes
    ----------
    subject
        The id within its experiment.
    structure_version
        Which version of the structure it goes by, for life.
    created
        When it was first seen.
    decided, received
        How many decisions were made and how many rewards came.
    experiment, arms, probabilities, competitive_arms, plausible, diagnostics
        What follows from that; empty in lists of many subjects.
    """

    subject: str
    structure_version: int
    created: str
    decided: int
    received: int
    experiment: str = ""
    arms: Mapping[str, Any] = field(default_factory=dict)
    probabilities: Mapping[str, float] = field(default_factory=dict)
    competitive_arms: Sequence[str] = ()
    plausible: Mapping[str, Any] = field(default_factory=dict)
    diagnostics: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Some items of a long list.

    Attributes
    ----------
    items
        In their order.
    next
        Give it as ``after`` to get the items behind these; None at the end of a list. A log has no
        end: the same place is asked again for what is new.
    """

    items: list[Item]
    next: str | None
