"""The commands that change stored data, as plain values."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Decide:
    """Choose an arm for a subject."""

    experiment: str
    subject: str
    arms: tuple[str, ...] | None = None
    key: str | None = None
    #: Whether the subject's last decision is repeated while it is pending and recent.
    sticky: bool = False

    @property
    def digest(self) -> str:
        """A digest of the request, to detect a key that is reused for another one."""
        arms = "" if self.arms is None else "\0".join(sorted(set(self.arms))) + "\0"
        return hashlib.blake2b(f"{self.subject}\0{arms}".encode(), digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True)
class AddSubject:
    """Create a subject unless it exists."""

    experiment: str
    subject: str


@dataclass(frozen=True, slots=True)
class AddReward:
    """Add the reward of a decision, with a key for one experiment (or all)."""

    decision: str
    value: float
    experiment: str | None = None
    subject: str | None = None  # the only one that may be rewarded


@dataclass(frozen=True, slots=True)
class Expire:
    """Stop waiting for the reward of a decision whose deadline has passed."""

    subject: int
    round: int


@dataclass(frozen=True, slots=True)
class WriteTask:
    """Run a function in a transaction of its own."""

    work: Callable[[Connection], Any]


Command = Decide | AddSubject | AddReward | Expire | WriteTask
