"""What a service can be asked to write, as plain values.

This module knows the shape of orders and of decisions' ids. It must not know how they are done.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

_ID = re.compile(r"([0-9a-f]{1,15})-([1-9][0-9]{0,9})-([0-9a-f]{8})")


@dataclass(frozen=True, slots=True)
class Decide:
    """Choose an arm for a subject."""

    experiment: str
    subject: str
    arms: tuple[str, ...] | None = None
    key: str | None = None

    @property
    def digest(self) -> str:
        """What was asked, to notice a key that is used for something else."""
        arms = "" if self.arms is None else "\0".join(sorted(set(self.arms))) + "\0"
        return hashlib.blake2b(f"{self.subject}\0{arms}".encode(), digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True)
class AddSubject:
    """Make sure that a subject is there."""

    experiment: str
    subject: str


@dataclass(frozen=True, slots=True)
class Reward:
    """Take in the reward of a decision, on behalf of who may see one experiment (or all)."""

    decision: str
    value: float
    experiment: str | None = None


@dataclass(frozen=True, slots=True)
class Expire:
    """Stop waiting for the reward of a decision whose deadline has passed."""

    subject: int
    round: int


@dataclass(frozen=True, slots=True)
class Task:
    """Something rare, done in a transaction of its own."""

    work: Callable[[Connection], Any]


Order = Decide | AddSubject | Reward | Expire | Task


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
    told = hashlib.blake2b(f"id:{subject}:{round_number}".encode(), key=seed, digest_size=4)
    return told.hexdigest()


def read_decision_id(text: str) -> tuple[int, int, str] | None:
    """Subject, round and tag of a decision's id; None if it is none.

    Examples
    --------
    >>> read_decision_id("nonsense") is None
    True
    """
    found = _ID.fullmatch(text)
    if found is None or int(found[2]) >= 2**31:
        return None
    return int(found[1], 16), int(found[2]), found[3]
