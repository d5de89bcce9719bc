"""How many interactions a subject has: a certain number, a distribution, or nothing known.

What is learned now pays in every later round that takes place, so policies ask for one number: the
expected number of interactions that are still to come, given that the subject is still here.
Lengths are taken as independent of rewards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.policies.protocol import Moment
from structuredbandits.structure.interaction_length import Length

# With no length given, the chance to stay falls as a power of the rounds played: after t rounds
# this many times (t + _START) rounds are expected to follow.
_AHEAD, _START = 2.0, 5.0


class LengthTable(NamedTuple):
    """The expected number of interactions to come, for compiled code.

    Before the last of ``ends`` it is the mean length of the subjects that stay, less the rounds
    played; after it, ``offset`` + ``slope`` · (rounds played).
    """

    ends: np.ndarray  # (lengths,) ascending
    means: np.ndarray  # (lengths,) mean of this length and all larger ones
    offset: float
    slope: float
    certain: bool  # whether the horizon of a run, if it has one, is its length


def length_table(length: Length | None, otherwise: Length | None = None) -> LengthTable:
    """The table of a given length; without one, of the run's horizon or else of ``otherwise``.

    A mean is that of a geometric distribution: equally many rounds are expected at any time. After
    the largest length, and with no length at all, a wide distribution is assumed.

    Examples
    --------
    >>> length_table(((10.0, 0.75), (100.0, 0.25))).means
    array([ 32.5, 100. ])
    """
    known = otherwise if length is None else length
    empty = np.zeros(0)
    wide = LengthTable(empty, empty, _AHEAD * _START, _AHEAD, length is None)
    if known is None:
        return wide
    if isinstance(known, (int, float)):
        return wide._replace(offset=float(known), slope=0.0)
    ends, shares = np.array(known, dtype=float).T
    beyond = np.cumsum(shares[::-1])[::-1]
    means = np.cumsum((shares * ends)[::-1])[::-1] / beyond
    return wide._replace(ends=np.ascontiguousarray(ends), means=np.ascontiguousarray(means))


@inline
def rounds_after_this(table: LengthTable, moment: Moment) -> float:
    """The expected number of rounds after the one that is decided now."""
    if table.certain and moment.horizon > moment.decided:
        return float(moment.horizon - moment.decided - 1)
    played = float(moment.decided)
    low, high = 0, table.ends.size
    while low < high:
        middle = (low + high) // 2
        if table.ends[middle] > played:
            high = middle
        else:
            low = middle + 1
    if low < table.ends.size:
        return max(table.means[low] - played - 1.0, 0.0)  # type: ignore[no-any-return]  # Numba is untyped
    return table.offset + table.slope * played - 1.0
