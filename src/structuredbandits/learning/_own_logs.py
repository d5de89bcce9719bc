"""Logs that a bandit wrote itself: whether their rewards have to be weighted, and whether they are.

A policy that learns stops showing an arm after low rewards and continues after high ones, so the
plain mean of an arm's rewards in its own log is too small on average. Weighted by 1 / probability
of the choice, every arm counts as often as if it had been shown every time, and the bias vanishes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from structuredbandits.errors import InvalidInput
from structuredbandits.structure import FloatArray

#: The name of the column of probabilities in the logs of this library.
PROBABILITY = "probability"
# A log with these columns was written decision by decision.
_SUBJECT, _ORDERS = "subject", ("decision", "round")
# Minimum excess reward, in standard errors, over arms shown regardless of the segment.
_NO_CHANCE = 6.0

#: The name of a column, False to ignore one, None to use "probability" if the log has it.
ProbabilityColumn = str | Literal[False] | None


class Weighting(NamedTuple):
    """How rewards were weighted by the probabilities of the choices."""

    column: str | None = None
    """The column of probabilities in use; None if rewards count the same."""
    doubt: str | None = None
    """Why the means may be biased, as a sentence; None if nothing suggests it."""


#: All rewards count the same, and nothing speaks against it.
UNWEIGHTED = Weighting()


def find_probability(
    asked: ProbabilityColumn, present: Sequence[str], taken: Sequence[str], weight: str | None
) -> str | None:
    """Return the column of probabilities to use.

    By itself a column is used only if there are no other weights, which may contain them already.
    """
    if asked is None:
        free = weight is None and PROBABILITY in present and PROBABILITY not in taken
        return PROBABILITY if free else None
    if asked is False:
        return None
    if not isinstance(asked, str):
        raise InvalidInput(
            f"probability = {asked!r} is not the name of a column; give text, or False to ignore "
            "probabilities."
        )
    return asked


def doubt_of(
    asked: ProbabilityColumn,
    column: str | None,
    n_random: int,
    present: Sequence[str],
    shares: FloatArray,
    means: FloatArray,
) -> str | None:
    """Say why means may be biased by a policy that learned while it wrote the log.

    Parameters
    ----------
    asked, column
        What was asked for, and what was found.
    n_random
        The number of probabilities that are neither 0 nor 1.
    present
        Names of the columns of the log.
    shares, means
        (segments, arms): sums of weights, and means; NaN where there are none.
    """
    if column is not None:
        if n_random:
            return None
        return (
            f"All probabilities in column {column!r} are 0 or 1, so nothing can be corrected by "
            "them: if the arms were chosen by their earlier rewards, the means are biased. Log "
            "with a floor."
        )
    if asked is False:
        return None
    if _SUBJECT in present and any(name in present for name in _ORDERS):
        why = "The log looks like the decisions of a policy"
    elif favours_good_arms(shares, means):
        why = "Arms have more rewards in the segments in which they earn more"
    else:
        return None
    return (
        f"{why}, and has no probabilities of its choices: if arms were chosen by their earlier "
        "rewards, the means are biased. Log the probability of each choice."
    )


def favours_good_arms(shares: FloatArray, means: FloatArray) -> bool:
    """Tell whether arms were shown more in the segments in which they earn more, beyond chance.

    If each arm has the same share in every segment, the rewards of a segment exceed those of these
    shares by chance only, with the variance of multinomial counts.

    Examples
    --------
    >>> means = np.array([[0.2, 0.8], [0.8, 0.2]])
    >>> favours_good_arms(np.array([[50.0, 52.0], [51.0, 49.0]]), means)
    False
    >>> favours_good_arms(np.array([[10.0, 90.0], [95.0, 5.0]]), means)
    True
    """
    totals, overall = shares.sum(axis=1), shares.sum(axis=0) / shares.sum()
    seen = ~np.isnan(means)
    centres = (shares * np.where(seen, means, 0.0)).sum(axis=0) / shares.sum(axis=0)
    known = np.where(seen, means, centres)  # an empty cell has no mean
    # The result does not depend on the unit of the rewards; in this unit no square overflows.
    known = known / (np.abs(known).max() or 1.0)
    excess = float(((shares - np.outer(totals, overall)) * known).sum())
    expected = known @ overall
    variance = float(totals @ (np.square(known) @ overall - np.square(expected)))
    return variance > 0.0 and excess > _NO_CHANCE * math.sqrt(variance)
