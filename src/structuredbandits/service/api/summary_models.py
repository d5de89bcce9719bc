"""The models of the summary and of the health checks."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from structuredbandits.service.api.openapi_examples import Documented


class ArmFigures(Documented):
    """Decisions and rewards of an arm."""

    arm: str
    decisions: int
    rewards: int
    mean_reward: float | None


class Bucket(Documented):
    """A time interval, up to the start of the next one."""

    start: str
    decisions: dict[str, int] = Field(description="How often each arm was shown.")
    rewards: int
    mean_reward: float | None
    uniform: float | None = Field(description="Estimated mean reward of uniformly random arms.")


class Baseline(Documented):
    """What a policy that does not know the structure would have earned, estimated from the log."""

    policy: str
    estimate: float
    low: float
    high: float
    logged: float = Field(description="What the same decisions earned.")
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
    as_of: str | None = Field(description="All figures include everything stored by then.")
    complete: bool = Field(
        description="Whether the whole log was counted; if not, the next request continues."
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
    late: int = Field(description="Rewards after the deadline; they do not count.")
    mean_reward: float | None
    standard_error: float | None = Field(description="As if decisions were independent.")
    uniform: float | None = Field(description="Estimated mean reward of uniformly random arms.")
    arms: list[ArmFigures]
    buckets: list[Bucket] = Field(
        description="Equally long time intervals, at most the requested number."
    )
    baseline: Baseline | None
    health: Health


class StatusAnswer(Documented):
    """The status of the process."""

    status: Literal["alive", "ready"]
    version: str
