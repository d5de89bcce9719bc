"""The responses of the service as frozen records; fields that a newer service adds are ignored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Generic, Self, TypeVar

from structuredbandits.errors import ServiceError

Item = TypeVar("Item")


class Record:
    """A response of the service with named fields."""

    @classmethod
    def read(cls, body: object) -> Self:
        """Create the record from decoded JSON.

        Raises
        ------
        ServiceError
            If a field is missing: then the response is not from the service.
        """
        if not isinstance(body, Mapping):
            raise ServiceError(
                f"The response {str(body)[:80]!r} is not a {cls.__name__}: "
                "check that the URL is that of a structuredbandits service."
            )
        values: dict[str, Any] = {}
        for item in fields(cls):  # type: ignore[arg-type]  # all records below are dataclasses
            if item.name in body:
                values[item.name] = body[item.name]
            elif item.default is MISSING and item.default_factory is MISSING:
                raise ServiceError(
                    f"The response has no {item.name!r}, so it is not a {cls.__name__}: "
                    "check that the URL is that of a structuredbandits service."
                )
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Decision(Record):
    """An arm chosen for a subject, and how it was chosen.

    Attributes
    ----------
    id
        The ID with which its reward is reported. None if the decision is not stored.
    experiment, subject
        The IDs of the experiment and of the subject.
    round
        1 for the subject's first decision. None if the decision is not stored.
    arm
        The chosen arm.
    probability
        The probability with which this arm was drawn.
    probabilities
        The probability of every arm; the arm was drawn from these numbers.
    competitive_arms
        The arms that are best for some parameter that is still plausible.
    why
        The reason in one sentence.
    structure_version
        The version of the structure that the subject uses.
    created, expires
        When the decision was made, and the deadline of its reward.
    stored
        False for a decision from the prior, made while the database was unavailable: it cannot
        receive a reward.
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
    """A reward as the service recorded it.

    Attributes
    ----------
    decision, reward
        The ID of the decision, and the reported value.
    counted
        Whether it is part of the subject's evidence.
    status
        ``"counted"``, or ``"late"`` if the deadline had passed.
    repeated
        Whether it had been reported before; repeated rewards are counted once.
    """

    decision: str
    reward: float
    counted: bool
    status: str
    repeated: bool


@dataclass(frozen=True, slots=True)
class Correction(Record):
    """The correction of a reward.

    Attributes
    ----------
    decision, before, reward, reason
        The ID of the decision, the old and the new value, and the reason.
    """

    decision: str
    before: float | None
    reward: float
    reason: str


@dataclass(frozen=True, slots=True)
class Experiment(Record):
    """An experiment: a structure, a policy and settings with which decisions are made.

    Attributes
    ----------
    id
        Its ID, part of every address.
    state
        ``"running"`` or ``"paused"``; ``"unusable"`` if the service's version of the library cannot
        serve it: every call that needs its structure then raises `Unusable`.
    policy
        The name of the policy, as on the command line.
    settings
        Its settings, including defaults; empty if they cannot be read.
    arms, retired_arms
        The arms of the newest version of the structure, and those that are not chosen any more.
    structure_version
        The version that new subjects use.
    parameters
        Number of parameters of the structure.
    created
        When it was created.
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
    """A subject, such as a user, and what has been observed of it.

    Attributes
    ----------
    subject
        Its ID within the experiment.
    structure_version
        The version of the structure that it uses; it never changes.
    created
        When it was created.
    decided, received
        Number of decisions made and of rewards received.
    experiment, arms, probabilities, competitive_arms, plausible, diagnostics
        What follows from these; empty in lists of subjects.
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
    """A page of a long list.

    Attributes
    ----------
    items
        The items, in order.
    next
        The cursor to pass as ``after`` for the next page; None at the end of a list. A log has no
        end: pass the same cursor again to get new items.
    """

    items: list[Item]
    next: str | None
