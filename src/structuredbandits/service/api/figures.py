"""What an experiment's summary and the probes answer.

This module knows shapes. It must not know how the figures are counted.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from structuredbandits.service.api.examples import Documented


class ArmFigures(Documented):
    """What was shown and earned of an arm."""

    arm: str
    decisions: int
    rewards: int
    mean_reward: float | None


class Bucket(Documented):
    """A stretch of time, up to the next one's start."""

    start: str
    decisions: dict[str, int] = Field(description="How often each arm was shown.")
    rewards: int
    mean_reward: float | None
    uniform: float | None = Field(description="What equal chances would have earned, estimated.")


class Baseline(Documented):
    """What a policy that does not know the structure would have earned, estimated from the log."""

    policy: str
    estimate: float
    low: float
    high: float
    logged: float = Field(description="What the same decisions did earn.")
    decisions: int
    how: str


class Health(Documented):
    """How many of the latest subjects fit the structure."""

    verdict: Literal["untested", "fits", "doubtful", "refuted"]
    sentence: str
    subjects_checked: int
    doubtful: int
    refuted: int


class SummaryAnswer(Documented):
    """An experiment at a glance."""

    experiment: str
    now: str
    as_of: str | None = Field(description="All figures hold at least what was stored by then.")
    complete: bool = Field(
        description="Whether all of the log was counted; if not, ask again: the next look goes on."
    )
    state: str
    policy: str
    minimize: bool = Field(description="Whether rewards are costs.")
    subjects: int
    decisions: int
    rewards: int
    defaulted: int = Field(description="Decisions whose deadline passed and the default counted.")
    expired: int = Field(description="Decisions whose deadline passed and nothing counted.")
    pending: int
    late: int = Field(description="Rewards that came after the deadline; they do not count.")
    mean_reward: float | None
    standard_error: float | None = Field(description="As if decisions were independent.")
    uniform: float | None = Field(description="What equal chances would have earned, estimated.")
    arms: list[ArmFigures]
    buckets: list[Bucket] = Field(description="Equally long stretches of time, at most as asked.")
    baseline: Baseline | None
    health: Health


class StatusAnswer(Documented):
    """How the process is."""

    status: Literal["alive", "ready"]
    version: str
