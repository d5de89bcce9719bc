"""What is asked of the service: each function describes one call and how to read its answer.

Both clients send these same descriptions, so they cannot drift apart; nothing here sends anything.
"""

from __future__ import annotations

import base64
import json
import math
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from structuredbandits.client.answers import error_of
from structuredbandits.client.records import (
    Correction,
    Decision,
    Experiment,
    Page,
    Record,
    Reward,
    Subject,
)
from structuredbandits.errors import FileError, InvalidInput, InvalidReward, ServiceError

Result = TypeVar("Result")
Kind = TypeVar("Kind", bound=Record)

#: A structure by the name of an embedded problem, as a file, or as the service's own JSON.
StructureGiven = str | Path | Mapping[str, Any]

#: Decisions or rewards in one call at the most; the service takes twice as many.
BATCH = 500


@dataclass(frozen=True, slots=True)
class Call(Generic[Result]):
    """One request, and how its answer is read.

    Attributes
    ----------
    method, path, query, body, headers
        What is sent; the body as JSON.
    read
        From the decoded answer to the result.
    repeatable
        Whether sending it twice has the effect of sending it once. If not, it is sent again only
        where the first one certainly did nothing.
    header
        A header of the answer that `read` needs too: it then gets a pair, body and header.
    """

    method: str
    path: str
    read: Callable[[Any], Result]
    body: Any = None
    query: Mapping[str, str | int] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True
    header: str | None = None


#: A call that is a part of a batch, and how many items it has.
Part = tuple[Call[list[Kind | ServiceError]], int]


def new_key() -> str:
    """A key that no other call has.

    Examples
    --------
    >>> len(new_key()), new_key() == new_key()
    (32, False)
    """
    return uuid.uuid4().hex


def path_of(*parts: str) -> str:
    """A path below /v1 in which a part cannot become two.

    Examples
    --------
    >>> path_of("experiments", "a/b")
    '/v1/experiments/a%2Fb'
    """
    for part in parts:
        if not isinstance(part, str) or not part:
            raise InvalidInput(f"{part!r} is no id: give a text that is not empty.")
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def nothing(_: Any) -> None:
    """Read an answer in which nothing is of interest."""


def as_read(body: Any) -> Any:
    """Read an answer as it came."""
    return body


def list_of(kind: type[Kind], name: str) -> Callable[[Any], list[Kind]]:
    """Read a list of records that stands under a name."""

    def read(body: Any) -> list[Kind]:
        return [kind.read(item) for item in body[name]]

    return read


def outcomes_of(kind: type[Kind], name: str) -> Callable[[Any], list[Kind | ServiceError]]:
    """Read a list in which each item is a record or says why it is none."""

    def read(body: Any) -> list[Kind | ServiceError]:
        return [
            error_of(item["error"].get("status", 422), item) if "error" in item else kind.read(item)
            for item in body[name]
        ]

    return read


def parts_of(
    path: str, kind: type[Kind], name: str, items: list[dict[str, Any]]
) -> list[Part[Kind]]:
    """Cut a batch into calls of bounded size."""
    read = outcomes_of(kind, name)
    cuts = [items[first : first + BATCH] for first in range(0, len(items), BATCH)]
    return [(Call("POST", path, read, body={name: cut}), len(cut)) for cut in cuts]


class Outcomes(Generic[Kind]):
    """Gathers what became of the items of a batch, part by part."""

    def __init__(self) -> None:
        self.items: list[Kind | ServiceError] = []
        self._lost: list[ServiceError] = []
        self._parts = 0

    def add(self, part: list[Kind | ServiceError]) -> None:
        """Take the answer of a part."""
        self._parts += 1
        self.items.extend(part)

    def lose(self, error: ServiceError, count: int) -> None:
        """Take note of a part that failed as a whole: what the others did must not be lost."""
        self._parts += 1
        self._lost.append(error)
        self.items.extend([error] * count)

    def all(self) -> list[Kind | ServiceError]:
        """An outcome for each item.

        Raises
        ------
        ServiceError
            If every part failed.
        """
        if self._lost and len(self._lost) == self._parts:
            raise self._lost[0]
        return self.items


def page_of(kind: type[Kind], name: str) -> Callable[[Any], Page[Kind]]:
    """Read a part of a long list."""

    def read(body: Any) -> Page[Kind]:
        return Page([kind.read(item) for item in body[name]], body.get("next"))

    return read


def structure_body(given: StructureGiven) -> dict[str, Any]:
    """The JSON for a structure.

    Examples
    --------
    >>> structure_body("three-arms")
    {'problem': 'three-arms'}
    """
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, str):
        return {"problem": given}
    try:
        content = given.read_bytes()
    except OSError as error:
        raise FileError(f"{given} cannot be read ({error.strerror}): check the path.") from None
    return {"file": base64.b64encode(content).decode()}


def decision_id(given: Decision | str) -> str:
    """The id of a decision that takes a reward."""
    if isinstance(given, str):
        return given
    if given.id is None:
        raise InvalidInput(
            f"The decision for {given.subject!r} was made of the prior while the database was "
            "away and is not stored: it takes no reward."
        )
    return given.id


def reward_value(given: float) -> float:
    """A reward that can be sent as JSON."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise InvalidReward(f"The reward is {given!r}: give a finite number.")
    return given


# --- experiments ---------------------------------------------------------------------------------


def create_experiment(
    structure: StructureGiven,
    policy: str,
    id: str | None,
    settings: Mapping[str, Any] | None,
) -> Call[Experiment]:
    """A new experiment."""
    body: dict[str, Any] = {
        "structure": structure_body(structure),
        "policy": policy,
        "settings": dict(settings or {}),
    }
    if id is not None:
        body["id"] = id
    return Call("POST", path_of("experiments"), Experiment.read, body=body, repeatable=False)


def experiments() -> Call[list[Experiment]]:
    """All experiments that the key opens."""
    return Call("GET", path_of("experiments"), list_of(Experiment, "experiments"))


def experiment(id: str) -> Call[Experiment]:
    """One experiment."""
    return Call("GET", path_of("experiments", id), Experiment.read)


def set_state(id: str, state: str) -> Call[Experiment]:
    """Pause an experiment or let it go on."""
    return Call("PATCH", path_of("experiments", id), Experiment.read, body={"state": state})


def retire_arm(id: str, arm: str) -> Call[Experiment]:
    """Choose an arm no more."""
    return Call("POST", path_of("experiments", id, "arms", arm, "retire"), Experiment.read)


def restore_arm(id: str, arm: str) -> Call[Experiment]:
    """Choose a retired arm again."""
    return Call("POST", path_of("experiments", id, "arms", arm, "restore"), Experiment.read)


def add_structure(id: str, structure: StructureGiven) -> Call[Experiment]:
    """A new version of the structure, for subjects that come from now on."""
    path = path_of("experiments", id, "structures")
    body = {"structure": structure_body(structure)}
    return Call("POST", path, Experiment.read, body=body, repeatable=False)


def structure(id: str, version: int) -> Call[Any]:
    """A version of the structure: arms, parameters, means."""
    return Call("GET", path_of("experiments", id, "structures", str(version)), as_read)


def summary(id: str) -> Call[Any]:
    """What the console shows of an experiment."""
    return Call("GET", path_of("experiments", id, "summary"), as_read)


def events(
    id: str, limit: int, after: str | None, structure_version: int | None
) -> Call[Page[dict[str, Any]]]:
    """Some settled decisions in the order in which their rewards counted."""
    query: dict[str, str | int] = {"limit": limit, "format": "jsonl"}
    if after is not None:
        query["after"] = after
    if structure_version is not None:
        query["structure_version"] = structure_version

    def read(answer: tuple[Any, str | None]) -> Page[dict[str, Any]]:
        text, cursor = answer
        # Only at line feeds: ids of subjects may have other characters that end lines of a text.
        lines = [line for line in str(text).split("\n") if line]
        return Page([json.loads(line) for line in lines], cursor)

    path = path_of("experiments", id, "events")
    return Call("GET", path, read, query=query, header="Next-Cursor")


# --- subjects ------------------------------------------------------------------------------------


def create_subject(id: str, subject: str | None) -> Call[Subject]:
    """A subject. Without an id of its own, one made twice is one that is never used."""
    body = {} if subject is None else {"subject": subject}
    return Call("POST", path_of("experiments", id, "subjects"), Subject.read, body=body)


def subject(id: str, subject: str) -> Call[Subject]:
    """A subject and what has been seen of it."""
    return Call("GET", path_of("experiments", id, "subjects", subject), Subject.read)


def subjects(id: str, limit: int, after: str | None) -> Call[Page[Subject]]:
    """Some subjects in their order."""
    query: dict[str, str | int] = {"limit": limit}
    if after is not None:
        query["after"] = after
    path = path_of("experiments", id, "subjects")
    return Call("GET", path, page_of(Subject, "subjects"), query=query)


def steps(id: str, subject: str) -> Call[Any]:
    """A subject's pulls with what was plausible at each."""
    return Call("GET", path_of("experiments", id, "subjects", subject, "steps"), as_read)


def delete_subject(id: str, subject: str) -> Call[None]:
    """Delete a subject and all its data."""
    return Call("DELETE", path_of("experiments", id, "subjects", subject), nothing)


# --- decisions and rewards -----------------------------------------------------------------------


def decide(id: str, subject: str, arms: Iterable[str] | None, key: str | None) -> Call[Decision]:
    """A decision; the key makes a repeated call the same decision."""
    body: dict[str, Any] = {"subject": subject}
    if arms is not None:
        body["arms"] = list(arms)
    headers = {"Idempotency-Key": new_key() if key is None else key}
    path = path_of("experiments", id, "decisions")
    return Call("POST", path, Decision.read, body=body, headers=headers)


def decide_many(
    id: str, subjects: Iterable[str], arms: Iterable[str] | None
) -> list[Part[Decision]]:
    """Decisions for many subjects, each with its own key, in calls of bounded size."""
    allowed = {} if arms is None else {"arms": list(arms)}
    wanted = [{"subject": one, "key": new_key(), **allowed} for one in subjects]
    path = path_of("experiments", id, "decisions", "batch")
    return parts_of(path, Decision, "decisions", wanted)


def reward(decision: Decision | str, value: float) -> Call[Reward]:
    """The reward of a decision; the same value again changes nothing."""
    path = path_of("decisions", decision_id(decision), "reward")
    return Call("PUT", path, Reward.read, body={"reward": reward_value(value)})


def reward_many(
    rewards: Iterable[tuple[Decision | str, float]],
) -> list[Part[Reward]]:
    """Rewards of many decisions, in calls of bounded size."""
    items = [
        {"decision": decision_id(decision), "reward": reward_value(value)}
        for decision, value in rewards
    ]
    return parts_of(path_of("rewards"), Reward, "rewards", items)


def correct(decision: Decision | str, value: float, reason: str) -> Call[Correction]:
    """Replace a reward that was wrong; who did it and why is kept."""
    path = path_of("decisions", decision_id(decision), "corrections")
    body = {"reward": reward_value(value), "reason": reason}
    return Call("POST", path, Correction.read, body=body, repeatable=False)
