"""`Lift`: what a policy gains compared with a holdout group, with intervals valid at every time."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from structuredbandits.holdout._sample_ratio import SampleRatio
from structuredbandits.structure import FloatArray

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True)
class LiftInterval:
    """The difference between the groups, per decision or per subject.

    Attributes
    ----------
    policy, holdout
        Mean reward of the groups.
    difference, low, high
        Policy minus holdout, and its interval; infinite while there is too little data.
    relative, relative_low, relative_high
        The difference divided by the mean of the holdout group, and its interval; infinite or NaN
        where that mean may be 0.
    standard_error
        Of the difference, clustered by subject.
    fixed_low, fixed_high
        The interval for a single look at the end of a sample of fixed size, for comparison. It
        does not hold if the log was looked at before.
    clear_since
        The time since which the interval has excluded 0 until now: a date and time, the value of
        the column of times, or the number of the decision. None if it does not.
    """

    policy: float
    holdout: float
    difference: float
    low: float
    high: float
    relative: float
    relative_low: float
    relative_high: float
    standard_error: float
    fixed_low: float
    fixed_high: float
    clear_since: str | None

    @property
    def clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0.0 or self.high < 0.0

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)


@dataclass(frozen=True, eq=False)
class Lift:
    """What a policy gains compared with a holdout group; made by `lift`.

    Attributes
    ----------
    per_decision, per_subject : LiftInterval
        The difference in mean reward per decision, and in total reward per subject so far; the
        latter is None for a log without a column of subjects.
    sample_ratio : SampleRatio
        Whether the groups have the planned sizes.
    name
        What the rewards are called.
    level
        Confidence level of the intervals, for all times together.
    decisions, subjects
        How many the log has.
    borrowed
        The weight of the policy group's own decisions in the estimate of the baseline: 0 if only
        the holdout group counts.
    path : (looks, 4)
        Per decision, over time: the number of decisions so far, the difference, low and high.
    path_times
        The time of each look; None without a column of times.
    """

    per_decision: LiftInterval
    per_subject: LiftInterval | None
    sample_ratio: SampleRatio
    name: str
    level: float
    decisions: int
    subjects: int
    borrowed: float
    path: FloatArray
    path_times: tuple[str, ...] | None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, without the path."""
        ratio = self.sample_ratio
        return {
            "name": self.name,
            "level": self.level,
            "decisions": self.decisions,
            "subjects": self.subjects,
            "per_decision": _plain(self.per_decision),
            "per_subject": None if self.per_subject is None else _plain(self.per_subject),
            "sample_ratio": ratio._asdict() | {"share": ratio.share, "fits": ratio.fits},
            "borrowed": self.borrowed,
            "sentence": str(self),
        }

    def __str__(self) -> str:
        return lift_sentence(self.per_decision, self.name, self.level)


def _plain(interval: LiftInterval) -> dict[str, Any]:
    return dataclasses.asdict(interval) | {"clear": interval.clear}


def lift_sentence(found: LiftInterval, name: str, level: float, per: str = "decision") -> str:
    """Return a lift in one sentence.

    Examples
    --------
    >>> found = LiftInterval(0.31, 0.29, 0.02, 0.003, 0.03, 0.062, 0.011, 0.114, 0.004, 0.005,
    ...                      0.025, "2026-03-03T10:00:00+00:00")
    >>> lift_sentence(found, "clicks", 0.95)
    '+6.2 % clicks per decision, 95 % interval +1.1 to +11.4 %, clear since 3 March 2026'
    """
    sure = f"{100 * level:g} % interval"
    if not found.known:
        return f"{found.difference:+.4g} {name} per {per}, too little data for an interval"
    if math.isfinite(found.relative_low) and math.isfinite(found.relative_high):
        low, high = 100 * found.relative_low, 100 * found.relative_high
        text = f"{100 * found.relative:+.1f} % {name} per {per}, {sure} {low:+.1f} to {high:+.1f} %"
    else:
        reach = f"{found.low:+.4g} to {found.high:+.4g}"
        text = f"{found.difference:+.4g} {name} per {per}, {sure} {reach}"
    if found.clear_since is None:
        return f"{text}, not clear yet"
    return f"{text}, clear since {readable_time(found.clear_since)}"


def readable_time(text: str) -> str:
    """Return the date of an ISO time in words; anything else unchanged.

    Examples
    --------
    >>> readable_time("2026-03-03T10:00:00+00:00"), readable_time("decision 1,200")
    ('3 March 2026', 'decision 1,200')
    """
    parts = text[:10].split("-")
    if len(text) < 10 or len(parts) != 3 or not all(part.isdigit() for part in parts):
        return text
    year, month, day = (int(part) for part in parts)
    return f"{day} {_MONTHS[month - 1]} {year}"
