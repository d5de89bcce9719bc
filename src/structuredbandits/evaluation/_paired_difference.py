"""Differences between policies on the same log, with intervals of the difference itself.

Two policies that are evaluated on one log share its noise, so that the interval of their difference
is often much narrower than two overlapping intervals suggest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from structuredbandits.evaluation._interval_choice import (
    ENOUGH,
    TOO_FEW,
    Influence,
    Units,
    choose_interval,
    has_lost_weight,
    influence_of,
    student_interval,
)
from structuredbandits.evaluation._value_estimate import Estimate
from structuredbandits.structure import FloatArray


@dataclass(frozen=True)
class Difference:
    """The difference in value between two policies; made by `compare_policies`.

    Attributes
    ----------
    policy, against
        Labels of the two policies.
    value
        Mean reward per decision of the first minus that of the second.
    low, high
        The confidence interval of the difference; infinite if there is none.
    standard_error
        Of the difference, clustered by subject.
    level
        Confidence level of the interval.
    interval
        "normal" for the interval of the paired differences, "betting" if few decisions determine
        one of the values: then it is the difference of two intervals by betting; or "none".
    reason
        Why it is this one.
    """

    policy: str
    against: str
    value: float
    low: float
    high: float
    standard_error: float
    level: float
    interval: str
    reason: str

    @property
    def clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0.0 or self.high < 0.0

    def __str__(self) -> str:
        reach = f"{100 * self.level:g} % interval {self.low:+.4g} to {self.high:+.4g}"
        if self.interval == "none":
            reach = f"no interval: {self.reason}"
        return f"{self.policy} minus {self.against}: {self.value:+.4g} per decision ({reach})"


class PolicyComparison(NamedTuple):
    """Policies evaluated on one log; made by `compare_policies`."""

    estimates: tuple[Estimate, ...]
    """The value of each policy, the one compared with first."""
    differences: tuple[Difference, ...]
    """Of each policy to the one compared with."""


def paired_influence(first: Units, second: Units) -> Influence:
    """Return the difference of two ratios over the same units, with its degrees of freedom.

    They are at most those of the two values: if both rest on the same few decisions, the
    difference does not show it.

    Examples
    --------
    >>> ones = np.ones(4)
    >>> a = Units(np.array([1.0, 2.0, 3.0, 4.0]), ones, ones, ones, True, None)
    >>> b = Units(np.array([0.5, 1.5, 2.5, 3.0]), ones, ones, ones, True, None)
    >>> round(paired_influence(a, b).value, 3)
    0.625
    """
    one = influence_of(first.top, first.bottom, first.weights)
    two = influence_of(second.top, second.bottom, second.weights)
    psi = _scores(first, one.value) - _scores(second, two.value)
    ones = np.ones(len(psi))
    # As the mean of n values, so that the ratio's machinery gives error and degrees of freedom.
    joint = influence_of(psi * len(psi), ones, ones)
    freedom = min(joint.freedom, max(one.freedom, 0.0), max(two.freedom, 0.0))
    units = min(one.effective_units, two.effective_units)
    return Influence(one.value - two.value, joint.standard_error, freedom, units)


def _scores(units: Units, value: float) -> FloatArray:
    psi = units.top - value * units.bottom
    return np.asarray((psi - psi.mean()) / float(units.bottom.sum()))


def difference_of(labels: tuple[str, str], first: Units, second: Units, level: float) -> Difference:
    """Return the difference of two policies with its interval."""
    influence = paired_influence(first, second)
    value, error = influence.value, influence.standard_error
    if error == 0.0 and value == 0.0:
        return Difference(*labels, 0.0, 0.0, 0.0, 0.0, level, "normal", "equal choices")
    lost = any(
        one.balanced and has_lost_weight(one.weights, one.sizes, max(influence.freedom, 0.0))
        for one in (first, second)
    )
    bounded = first.bets is not None and second.bets is not None
    if (bounded and influence.freedom < ENOUGH) or (bounded and lost):
        # Each holds with half the error rate, so both hold together.
        narrow = 0.5 + 0.5 * level
        one, two = choose_interval(first, narrow), choose_interval(second, narrow)
        low, high = one.low - two.high, one.high - two.low
        why = f"few units determine a value ({max(influence.freedom, 0.0):,.0f} degrees of freedom)"
        return Difference(*labels, value, low, high, error, level, "betting", why)
    if lost or influence.freedom < TOO_FEW:
        why = (
            "some choices of a policy had hardly any chance in the log"
            if lost
            else f"too few units determine a value ({influence.freedom:.1f} degrees of freedom)"
        )
        return Difference(*labels, value, -math.inf, math.inf, error, level, "none", why)
    low, high = student_interval(influence, level)
    why = f"{influence.freedom:,.0f} degrees of freedom"
    return Difference(*labels, value, low, high, error, level, "normal", why)
