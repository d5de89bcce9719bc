"""What is asked of the service: each function describes one call and how to read its answer.

Both clients send these same descriptions, so they cannot drift apart; nothing here sends anything.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from structuredbandits.client.records import Decision, Experiment, Reward, Subject
from structuredbandits.errors import InvalidInput

Result = TypeVar("Result")


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
    """

    method: str
    path: str
    read: Callable[[Any], Result]
    body: Any = None
    query: Mapping[str, str | int] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True


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


def list_of(kind: type[Any], name: str) -> Callable[[Any], list[Any]]:
    """Read a list of records that stands under a name."""

    def read(body: Any) -> list[Any]:
        return [kind.read(item) for item in body[name]]

    return read


def json_lines(text: Any) -> list[dict[str, Any]]:
    """Read one JSON object a line."""
    return [json.loads(line) for line in str(text).splitlines() if line]


# --- experiments ---------------------------------------------------------------------------------


def create_experiment(
    structure: Mapping[str, Any] | str,
    policy: str,
    id: str | None,
    settings: Mapping[str, Any] | None,
) -> Call[Experiment]:
    """A new experiment."""
    known = {"problem": structure} if isinstance(structure, str) else dict(structure)
    body: dict[str, Any] = {"structure": known, "policy": policy, "settings": dict(settings or {})}
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


def add_structure(id: str, structure: Mapping[str, Any] | str) -> Call[Any]:
    """A new version of the structure, for subjects that come from now on."""
    known = {"problem": structure} if isinstance(structure, str) else dict(structure)
    path = path_of("experiments", id, "structures")
    return Call("POST", path, as_read, body={"structure": known}, repeatable=False)


def structure(id: str, version: int) -> Call[Any]:
    """A version of the structure: arms, parameters, means."""
    return Call("GET", path_of("experiments", id, "structures", str(version)), as_read)


def summary(id: str) -> Call[Any]:
    """What the console shows of an experiment."""
    return Call("GET", path_of("experiments", id, "summary"), as_read)


# --- subjects ------------------------------------------------------------------------------------


def create_subject(id: str) -> Call[Subject]:
    """A subject whose id the service gives. Once too often leaves one that is never used."""
    return Call("POST", path_of("experiments", id, "subjects"), Subject.read)


def subject(id: str, subject: str) -> Call[Subject]:
    """A subject and what has been seen of it."""
    return Call("GET", path_of("experiments", id, "subjects", subject), Subject.read)


def subjects(id: str, limit: int, after: str | None) -> Call[list[Subject]]:
    """Some subjects in the order of their ids."""
    query: dict[str, str | int] = {"limit": limit}
    if after is not None:
        query["after"] = after
    path = path_of("experiments", id, "subjects")
    return Call("GET", path, list_of(Subject, "subjects"), query=query)


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
    headers = {"Idempotency-Key": key or new_key()}
    path = path_of("experiments", id, "decisions")
    return Call("POST", path, Decision.read, body=body, headers=headers)


def decide_many(id: str, subjects: Iterable[str], arms: Iterable[str] | None) -> Call[Any]:
    """Decisions for many subjects, each with its own key."""
    allowed = None if arms is None else list(arms)
    wanted: list[dict[str, Any]] = []
    for one in subjects:
        item: dict[str, Any] = {"subject": one, "key": new_key()}
        if allowed is not None:
            item["arms"] = allowed
        wanted.append(item)
    path = path_of("experiments", id, "decisions", "batch")
    return Call("POST", path, list_of(Decision, "decisions"), body={"decisions": wanted})


def reward(decision: str, value: float) -> Call[Reward]:
    """The reward of a decision; the same value again changes nothing."""
    path = path_of("decisions", decision, "reward")
    return Call("PUT", path, Reward.read, body={"reward": value})


def reward_many(rewards: Mapping[str, float]) -> Call[Any]:
    """Rewards of many decisions."""
    items = [{"decision": decision, "reward": value} for decision, value in rewards.items()]
    path = path_of("rewards")
    return Call("POST", path, list_of(Reward, "rewards"), body={"rewards": items})


def correct(decision: str, value: float, reason: str) -> Call[Any]:
    """Replace a reward that was wrong; it is written into the audit log."""
    path = path_of("decisions", decision, "corrections")
    body = {"reward": value, "reason": reason}
    return Call("POST", path, as_read, body=body, repeatable=False)
