"""Descriptions of the calls to the service: each function returns one request and its reader.

Both clients send these descriptions; this module sends nothing itself.
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

from structuredbandits.client._records import (
    Correction,
    Decision,
    Experiment,
    Page,
    Record,
    Reward,
    Subject,
)
from structuredbandits.client._responses import error_of
from structuredbandits.errors import FileError, InvalidInput, InvalidReward, ServiceError

Result = TypeVar("Result")
Kind = TypeVar("Kind", bound=Record)

#: A structure: the name of an embedded problem, the path of a file, or the JSON of the service.
StructureGiven = str | Path | Mapping[str, Any]

#: Maximum number of decisions or rewards in one call; the service accepts twice as many.
BATCH = 500


@dataclass(frozen=True, slots=True)
class Call(Generic[Result]):
    """One request, and how its response is read.

    Attributes
    ----------
    method, path, query, body, headers
        What is sent; the body as JSON.
    read
        Converts the decoded response to the result.
    repeatable
        Whether sending it twice has the same effect as sending it once. If not, it is retried only
        where the first attempt certainly did nothing.
    header
        A response header that `read` needs as well: it then receives the pair (body, header).
    """

    method: str
    path: str
    read: Callable[[Any], Result]
    body: Any = None
    query: Mapping[str, str | int] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True
    header: str | None = None


#: A call that is a part of a batch, and its number of items.
Part = tuple[Call[list[Kind | ServiceError]], int]


def new_key() -> str:
    """A unique idempotency key.

    Examples
    --------
    >>> len(new_key()), new_key() == new_key()
    (32, False)
    """
    return uuid.uuid4().hex


def path_of(*parts: str) -> str:
    """A path below /v1; each part is escaped, so that it stays one part.

    Examples
    --------
    >>> path_of("experiments", "a/b")
    '/v1/experiments/a%2Fb'
    """
    for part in parts:
        if not isinstance(part, str) or not part:
            raise InvalidInput(f"{part!r} is not an ID: give a text that is not empty.")
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def nothing(_: Any) -> None:
    """Ignore the response."""


def as_read(body: Any) -> Any:
    """Return the response unchanged."""
    return body


def list_of(kind: type[Kind], name: str) -> Callable[[Any], list[Kind]]:
    """A reader of the list of records in a field."""

    def read(body: Any) -> list[Kind]:
        return [kind.read(item) for item in body[name]]

    return read


def batch_of(kind: type[Kind], name: str) -> Callable[[Any], list[Kind | ServiceError]]:
    """A reader of a list in which each item is a record or an error."""

    def read(body: Any) -> list[Kind | ServiceError]:
        return [
            error_of(item["error"].get("status", 422), item) if "error" in item else kind.read(item)
            for item in body[name]
        ]

    return read


def parts_of(
    path: str, kind: type[Kind], name: str, items: list[dict[str, Any]]
) -> list[Part[Kind]]:
    """Split a batch into calls of bounded size."""
    read = batch_of(kind, name)
    cuts = [items[first : first + BATCH] for first in range(0, len(items), BATCH)]
    return [(Call("POST", path, read, body={name: cut}), len(cut)) for cut in cuts]


class BatchResults(Generic[Kind]):
    """Collects the results of a batch, part by part."""

    def __init__(self) -> None:
        self.items: list[Kind | ServiceError] = []
        self._failed: list[ServiceError] = []
        self._parts = 0

    def add(self, part: list[Kind | ServiceError]) -> None:
        """Add the results of a part."""
        self._parts += 1
        self.items.extend(part)

    def add_failed(self, error: ServiceError, count: int) -> None:
        """Add a part that failed as a whole: each of its items gets the error."""
        self._parts += 1
        self._failed.append(error)
        self.items.extend([error] * count)

    def all(self) -> list[Kind | ServiceError]:
        """One result per item.

        Raises
        ------
        ServiceError
            If every part failed.
        """
        if self._failed and len(self._failed) == self._parts:
            raise self._failed[0]
        return self.items


def page_of(kind: type[Kind], name: str) -> Callable[[Any], Page[Kind]]:
    """A reader of a page of a long list."""

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
    """The ID of a decision that can receive a reward."""
    if isinstance(given, str):
        return given
    if given.id is None:
        raise InvalidInput(
            f"The decision for {given.subject!r} was made from the prior while the database "
            "was unavailable and is not stored: it cannot receive a reward."
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
    """Create an experiment."""
    body: dict[str, Any] = {
        "structure": structure_body(structure),
        "policy": policy,
        "settings": dict(settings or {}),
    }
    if id is not None:
        body["id"] = id
    return Call("POST", path_of("experiments"), Experiment.read, body=body, repeatable=False)


def experiments() -> Call[list[Experiment]]:
    """List the experiments that the key gives access to."""
    return Call("GET", path_of("experiments"), list_of(Experiment, "experiments"))


def experiment(id: str) -> Call[Experiment]:
    """Get one experiment."""
    return Call("GET", path_of("experiments", id), Experiment.read)


def set_state(id: str, state: str) -> Call[Experiment]:
    """Pause or resume an experiment."""
    return Call("PATCH", path_of("experiments", id), Experiment.read, body={"state": state})


def retire_arm(id: str, arm: str) -> Call[Experiment]:
    """Retire an arm."""
    return Call("POST", path_of("experiments", id, "arms", arm, "retire"), Experiment.read)


def restore_arm(id: str, arm: str) -> Call[Experiment]:
    """Restore a retired arm."""
    return Call("POST", path_of("experiments", id, "arms", arm, "restore"), Experiment.read)


def add_structure(id: str, structure: StructureGiven) -> Call[Experiment]:
    """Add a version of the structure for new subjects."""
    path = path_of("experiments", id, "structures")
    body = {"structure": structure_body(structure)}
    return Call("POST", path, Experiment.read, body=body, repeatable=False)


def structure(id: str, version: int) -> Call[Any]:
    """Get a version of the structure: arms, parameters, means."""
    return Call("GET", path_of("experiments", id, "structures", str(version)), as_read)


def summary(id: str) -> Call[Any]:
    """Get the summary of an experiment."""
    return Call("GET", path_of("experiments", id, "summary"), as_read)


def events(
    id: str, limit: int, after: str | None, structure_version: int | None
) -> Call[Page[dict[str, Any]]]:
    """Get a page of settled decisions, in the order in which their rewards were counted."""
    query: dict[str, str | int] = {"limit": limit, "format": "jsonl"}
    if after is not None:
        query["after"] = after
    if structure_version is not None:
        query["structure_version"] = structure_version

    def read(response: tuple[Any, str | None]) -> Page[dict[str, Any]]:
        text, cursor = response
        # Split at line feeds only: a subject's ID may contain other line separators of Unicode.
        lines = [line for line in str(text).split("\n") if line]
        return Page([json.loads(line) for line in lines], cursor)

    path = path_of("experiments", id, "events")
    return Call("GET", path, read, query=query, header="Next-Cursor")


# --- subjects ------------------------------------------------------------------------------------


def create_subject(id: str, subject: str | None) -> Call[Subject]:
    """Create a subject. It may be sent twice: without an ID, a second subject stays unused."""
    body = {} if subject is None else {"subject": subject}
    return Call("POST", path_of("experiments", id, "subjects"), Subject.read, body=body)


def subject(id: str, subject: str) -> Call[Subject]:
    """Get a subject with its pulls and rewards."""
    return Call("GET", path_of("experiments", id, "subjects", subject), Subject.read)


def subjects(id: str, limit: int, after: str | None) -> Call[Page[Subject]]:
    """Get a page of subjects."""
    query: dict[str, str | int] = {"limit": limit}
    if after is not None:
        query["after"] = after
    path = path_of("experiments", id, "subjects")
    return Call("GET", path, page_of(Subject, "subjects"), query=query)


def steps(id: str, subject: str) -> Call[Any]:
    """Get the pulls of a subject, with what was plausible at each of them."""
    return Call("GET", path_of("experiments", id, "subjects", subject, "steps"), as_read)


def delete_subject(id: str, subject: str) -> Call[None]:
    """Delete a subject and all its data."""
    return Call("DELETE", path_of("experiments", id, "subjects", subject), nothing)


# --- decisions and rewards -----------------------------------------------------------------------


def decide(id: str, subject: str, arms: Iterable[str] | None, key: str | None) -> Call[Decision]:
    """Get a decision; a repeated call with the same key returns the same decision."""
    body: dict[str, Any] = {"subject": subject}
    if arms is not None:
        body["arms"] = list(arms)
    headers = {"Idempotency-Key": new_key() if key is None else key}
    path = path_of("experiments", id, "decisions")
    return Call("POST", path, Decision.read, body=body, headers=headers)


def decide_many(
    id: str, subjects: Iterable[str], arms: Iterable[str] | None
) -> list[Part[Decision]]:
    """Get decisions for many subjects, each with its own key, in calls of bounded size."""
    allowed = {} if arms is None else {"arms": list(arms)}
    wanted = [{"subject": one, "key": new_key(), **allowed} for one in subjects]
    path = path_of("experiments", id, "decisions", "batch")
    return parts_of(path, Decision, "decisions", wanted)


def reward(decision: Decision | str, value: float) -> Call[Reward]:
    """Report the reward of a decision; repeating the same value changes nothing."""
    path = path_of("decisions", decision_id(decision), "reward")
    return Call("PUT", path, Reward.read, body={"reward": reward_value(value)})


def reward_many(
    rewards: Iterable[tuple[Decision | str, float]],
) -> list[Part[Reward]]:
    """Report the rewards of many decisions, in calls of bounded size."""
    items = [
        {"decision": decision_id(decision), "reward": reward_value(value)}
        for decision, value in rewards
    ]
    return parts_of(path_of("rewards"), Reward, "rewards", items)


def correct(decision: Decision | str, value: float, reason: str) -> Call[Correction]:
    """Replace a wrong reward; the audit log keeps who did it and why."""
    path = path_of("decisions", decision_id(decision), "corrections")
    body = {"reward": reward_value(value), "reason": reason}
    return Call("POST", path, Correction.read, body=body, repeatable=False)
