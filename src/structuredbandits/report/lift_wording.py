"""The numbers of a lift in words, for the command line and the HTML page."""

from __future__ import annotations

import math

from structuredbandits.holdout import LiftInterval, SampleRatio


def interval_words(one: LiftInterval) -> str:
    """Return the interval of a difference."""
    return f"{one.low:+.3g} to {one.high:+.3g}" if one.known else "too little data"


def relative_words(one: LiftInterval) -> tuple[str, str]:
    """Return the relative lift and its interval."""
    if not math.isfinite(one.relative) or one.holdout <= 0.0:
        return "–", "–"
    number = f"{100 * one.relative:+.1f} %"
    if not (math.isfinite(one.relative_low) and math.isfinite(one.relative_high)):
        return number, "–"
    return number, f"{100 * one.relative_low:+.1f} to {100 * one.relative_high:+.1f} %"


def ratio_words(ratio: SampleRatio) -> str:
    """Return the result of the sample-ratio check.

    Examples
    --------
    >>> ratio_words(SampleRatio(100, 900, 0.1, 0.8))
    'Sample ratio: 10.0 % of the subjects are in the holdout group, planned were 10.0 %: fits.'
    """
    share = f"Sample ratio: {100 * ratio.share:.1f} % of the subjects are in the holdout group"
    if ratio.planned is None or ratio.p_value is None:
        return f"{share}; give the planned share to check it."
    planned = f"{share}, planned were {100 * ratio.planned:.1f} %"
    if ratio.fits:
        return f"{planned}: fits."
    return (
        f"{planned}: does not fit (p = {ratio.p_value:.1g}). Find out which subjects are missing "
        "before you believe the lift."
    )


def baseline_words(borrowed: float) -> str:
    """Return how much the policy group's decisions count for the baseline; empty for nothing."""
    if borrowed <= 0.0:
        return ""
    return (
        f"The policy group's own decisions, weighted by their probabilities, are {borrowed:.0%} of "
        "the estimate of the baseline per decision."
    )
