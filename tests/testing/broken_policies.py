"""Policies that break one part of the contract each, so that no check can become empty unnoticed.

They are in a file of their own because a policy must be picklable to break anything else.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from structuredbandits.errors import InvalidReward, UnknownArm
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.classical.thompson import ThompsonSampling
from structuredbandits.policies.classical.ucb import UCB, UCBAgent
from structuredbandits.policies.policy import Policy

# -- descriptions ----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Nameless(Algorithm):
    """An algorithm that cannot be made again from its name."""

    name: ClassVar[str] = "ucb"

    def agent(self, structure: Any, rounds: int, horizon: int) -> UCBAgent:
        return UCBAgent(1.0)


@dataclass(frozen=True, repr=False)
class Singular(UCB):
    """UCB of which each copy is something else to a dictionary."""

    name: ClassVar[str] = "singular"

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True, repr=False)
class Forgetful(UCB):
    """UCB that arrives elsewhere with its usual alpha."""

    name: ClassVar[str] = "forgetful"

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return Forgetful, ()

    @property
    def label(self) -> str:
        """Without its parameters, so that only a comparison finds the mistake."""
        return self.name


class Misnamed(Forgetful):
    """UCB whose name elsewhere is not the one it had here."""

    name: ClassVar[str] = "misnamed"

    @property
    def label(self) -> str:
        return f"misnamed(alpha={self.alpha:g})"


class Guarded:
    """An object that no other process can get."""

    def __reduce__(self) -> str:
        raise TypeError("not to be sent")

    def __deepcopy__(self, memo: dict[int, Any]) -> Guarded:
        return self

    def pull(self, arms: list[str]) -> str:
        return arms[0]

    def update(self, arm: str, reward: float) -> None:
        pass


# -- objects with pull and update ------------------------------------------------------------------


class LatestReward:
    """Pulls the arm whose latest reward was the largest, new arms first: a sound policy."""

    def __init__(self) -> None:
        self.latest: dict[str, float] = {}

    def pull(self, arms: list[str]) -> str:
        return max(arms, key=lambda arm: self.latest.get(arm, math.inf))

    def update(self, arm: str, reward: float) -> None:
        self.latest[arm] = reward


class Moody(LatestReward):
    """Chooses with random numbers that no seed governs."""

    def pull(self, arms: list[str]) -> str:
        return random.choice(arms)


class LostInTransit(LatestReward):
    """Forgets everything when it is pickled, and not when it is copied."""

    def __getstate__(self) -> dict[str, Any]:
        return {"latest": {}}

    def __deepcopy__(self, memo: dict[int, Any]) -> LostInTransit:
        twin = LostInTransit()
        twin.latest = dict(self.latest)
        return twin


class LostInCopies(LatestReward):
    """Forgets everything when it is copied, and not when it is pickled."""

    def __deepcopy__(self, memo: dict[int, Any]) -> LostInCopies:
        return LostInCopies()


# -- runs ------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Broken(ThompsonSampling):
    """Thompson sampling whose runs are of a class of their own."""

    name: ClassVar[str] = "broken"
    run: ClassVar[type[Policy]] = Policy

    def start(self, structure: Any, **settings: Any) -> Policy:
        return self.run(self, structure, **settings)


def broken(run: type[Policy]) -> Broken:
    """The algorithm whose runs are of this class."""
    made: type[Broken] = type(run.__name__, (Broken,), {"run": run, "__module__": __name__})
    globals()[f"{run.__name__}Algorithm"] = made
    made.__qualname__ = f"{run.__name__}Algorithm"
    return made()


class Stray(Policy):
    """Pulls an arm that does not exist."""

    def pull(self, arms: Iterable[str | int] | None = None) -> str:
        super().pull(arms)
        return "nowhere"


class Hasty(Policy):
    """Counts a reward with the pull."""

    @property
    def received(self) -> int:
        return self.decided


class Impatient(Policy):
    """Takes a reward for that of the latest pull."""

    latest: str

    def pull(self, arms: Iterable[str | int] | None = None) -> str:
        self.latest = super().pull(arms)
        return self.latest

    def update(self, arm: str | int, reward: float) -> None:
        super().update(self.latest, reward)


class Deaf(Policy):
    """Does not care which arms are allowed."""

    def pull(self, arms: Iterable[str | int] | None = None) -> str:
        return super().pull()


class Amnesiac(Policy):
    """Stores another generator than its own."""

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"generator": np.random.PCG64(1).state}


class Credulous(Policy):
    """Ignores rewards that are not numbers instead of rejecting them."""

    def update(self, arm: str | int, reward: float) -> None:
        with contextlib.suppress(InvalidReward):
            super().update(arm, reward)


class Accommodating(Policy):
    """Pulls any arm where it was allowed none that it knows."""

    def pull(self, arms: Iterable[str | int] | None = None) -> str:
        try:
            return super().pull(arms)
        except UnknownArm:
            return super().pull()


class Touchy(Policy):
    """Refuses bad rewards, but they leave their mark."""

    def update(self, arm: str | int, reward: float) -> None:
        try:
            super().update(arm, reward)
        except InvalidReward:
            self.generator.random()
            raise


class Revealing(Policy):
    """Uses up a random number when asked for its probabilities."""

    def probabilities(self, arms: Iterable[str | int] | None = None) -> dict[str, float]:
        self.generator.random()
        return super().probabilities(arms)


class Willful(Policy):
    """Ignores its seed for the first random number, unlike in a simulation."""

    def __init__(self, *parts: Any, **settings: Any) -> None:
        super().__init__(*parts, **settings)
        self.generator.random()


# -- probabilities ---------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Boastful(Algorithm):
    """UCB that tells wrong probabilities."""

    name: ClassVar[str] = "boastful"
    total: ClassVar[float] = 1.0

    def agent(self, structure: Any, rounds: int, horizon: int) -> UCBAgent:
        return UCBAgent(1.0)

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        return np.full(snapshot.block.shape[1], self.total / snapshot.block.shape[1])


class Modest(Boastful):
    """UCB whose probabilities are too small."""

    name: ClassVar[str] = "modest"
    total: ClassVar[float] = 0.5
