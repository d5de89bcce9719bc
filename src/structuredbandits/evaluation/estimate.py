"""The answer of an offline evaluation: a value with its interval and how far to trust it.

This module knows how it is shown. It must not know how it was computed.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """What a policy would have earned; made by `evaluate`.

    Attributes
    ----------
    value
        Mean reward of a decision.
    low, high
        The interval that covers the true value at the level.
    standard_error
        Of the value, with the decisions of a subject taken together.
    n
        Decisions in the log.
    subjects
        Independent units: subjects, or decisions if the log has no column of subjects.
    effective_sample_size
        How many decisions made by the policy itself would tell as much; for replay, the
        decisions in which it agreed with the log.
    method
        "dr", "ips", "snips" or "replay"; "mean" for the log's own policy.
    level
        Of the interval.
    policy
        Its label.
    logged_value
        The mean reward in the log, for comparison.
    uncovered
        The mean probability that the policy puts on arms that the log never shows. If it is not
        small, inverse propensity scoring is wrong, and doubly robust estimates rely on the
        structure there.
    """

    value: float
    low: float
    high: float
    standard_error: float
    n: int
    subjects: int
    effective_sample_size: float
    method: str
    level: float
    policy: str
    logged_value: float
    uncovered: float

    def __str__(self) -> str:
        return (
            f"{self.policy}: {self.value:.4g} a decision ({100 * self.level:g} % interval "
            f"{self.low:.4g} to {self.high:.4g}; the log has {self.logged_value:.4g}), by "
            f"{self.method} from {self.n:,} decisions, worth {self.effective_sample_size:,.0f}"
        )
