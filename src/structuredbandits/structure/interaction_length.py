"""How many interactions a subject has, as users give it and as files store it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structuredbandits.errors import InvalidInput

#: A mean number of interactions, or pairs of a number of interactions and its share.
Length = float | tuple[tuple[float, float], ...]

_MOST = 1e15
# Sums of shares that differ from 1 by less were divided by their sum.
_SAME = 1e-12


def read_length(length: Any, error: type[InvalidInput] = InvalidInput) -> Length | None:
    """Return a length as it is stored: a mean, or sorted pairs whose shares sum to 1.

    Parameters
    ----------
    length
        A mean, pairs of a length and its share, or None if nothing is known.
    error
        What is raised if it is none of these.

    Examples
    --------
    >>> read_length(30), read_length([(100, 1), (10, 3)])
    (30.0, ((10.0, 0.75), (100.0, 0.25)))
    """
    if length is None:
        return None
    if _is_number(length) and 1.0 <= length <= _MOST:
        return float(length)
    pairs = _pairs(length)
    if pairs is None:
        raise error(
            f"length = {length!r} is not a number of interactions; give their mean, such as 30, or "
            "pairs of a length and its share, such as ((10, 0.75), (100, 0.25))."
        )
    shares: dict[float, float] = {}
    for end, share in sorted(pairs):
        if share > 0.0:
            shares[end] = shares.get(end, 0.0) + share
    total = math.fsum(shares.values())
    if abs(total - 1.0) < _SAME:  # divided before: reading it again changes nothing
        return tuple(shares.items())
    return tuple((end, share / total) for end, share in shares.items())


def mean_length(length: Length) -> float:
    """Return the mean number of interactions.

    Examples
    --------
    >>> mean_length(((10.0, 0.75), (100.0, 0.25)))
    32.5
    """
    if isinstance(length, (int, float)):
        return float(length)
    return math.fsum(end * share for end, share in length)


def _pairs(length: Any) -> list[tuple[float, float]] | None:
    """Return the pairs as floats, or None if they are not lengths with shares."""
    if isinstance(length, np.ndarray):
        length = length.tolist()
    if not isinstance(length, (list, tuple)):
        return None
    pairs = []
    for pair in length:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            return None
        end, share = pair
        if not _is_number(end) or not _is_number(share) or not 1.0 <= end <= _MOST:
            return None
        if not 0.0 <= share <= _MOST:
            return None
        pairs.append((float(end), float(share)))
    return pairs if any(share > 0.0 for _, share in pairs) else None


def _is_number(value: object) -> bool:
    number = isinstance(value, (int, float, np.integer, np.floating))
    return number and not isinstance(value, bool)
