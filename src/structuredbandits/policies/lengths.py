"""How many interactions a subject has: a certain number, a distribution, or nothing known.

What is learned now pays in every later round that takes place, so policies ask for one number: the
expected number of interactions that are still to come, given that the subject is still here.
Lengths are taken as independent of rewards.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.parameter_checks import is_number
from structuredbandits.policies.protocol import Moment

#: A mean number of interactions, or pairs of a number of interactions and its share.
Length = float | tuple[tuple[float, float], ...]

# With no length given, the chance to stay falls as a power of the rounds played: after t rounds
# this many times (t + _START) rounds are expected to follow.
_AHEAD, _START = 2.0, 5.0
_MOST = 1e15


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


def read_length(length: Any) -> Length | None:
    """A length as it is stored: a mean, or pairs sorted by length whose shares sum to 1.

    Examples
    --------
    >>> read_length(30), read_length([(100, 1), (10, 3)])
    (30.0, ((10.0, 0.75), (100.0, 0.25)))
    """
    if length is None:
        return None
    if is_number(length) and 1.0 <= length <= _MOST:
        return float(length)
    pairs = _pairs(length)
    if pairs is None:
        raise InvalidPolicy(
            f"length = {length!r} is not a number of interactions; give their mean, such as 30, or "
            "pairs of a length and its share, such as ((10, 0.75), (100, 0.25))."
        )
    shares: dict[float, float] = {}
    for end, share in sorted(pairs):
        if share > 0.0:
            shares[end] = shares.get(end, 0.0) + share
    total = math.fsum(shares.values())
    return tuple((end, share / total) for end, share in shares.items())


def _pairs(length: Any) -> list[tuple[float, float]] | None:
    """The pairs as floats, or None if they are not lengths with shares."""
    if isinstance(length, np.ndarray):
        length = length.tolist()
    if not isinstance(length, (list, tuple)):
        return None
    pairs = []
    for pair in length:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            return None
        end, share = pair
        if not is_number(end) or not is_number(share) or not 1.0 <= end <= _MOST or share < 0.0:
            return None
        pairs.append((float(end), float(share)))
    return pairs if any(share > 0.0 for _, share in pairs) else None


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
