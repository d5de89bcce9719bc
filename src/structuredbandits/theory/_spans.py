"""Unions of intervals of the real line, and how far a value lies from one.

The values that the best arm's mean takes where another arm is best form such a union.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structuredbandits.structure import FloatArray

BoolArray = NDArray[np.bool_]


class Spans(NamedTuple):
    """A union of intervals; single points are intervals of length 0.

    Examples
    --------
    >>> spans = Spans.closed([0.0, 5.0], [1.0, 5.0])
    >>> spans.distance(np.array([0.5, 3.5]), np.array([0.5, 3.5])).tolist()
    [0.0, 1.5]
    """

    low: FloatArray
    """(spans,)"""
    high: FloatArray
    """(spans,)"""
    low_open: BoolArray
    """(spans,): whether the lower end does not belong to the interval."""
    high_open: BoolArray
    """(spans,): whether the upper end does not belong to the interval."""

    @classmethod
    def closed(cls, low: ArrayLike, high: ArrayLike) -> Self:
        """Return the union of intervals that contain their ends."""
        first, last = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        inside = np.zeros(first.shape, dtype=bool)
        return cls(first, last, inside, inside)

    @classmethod
    def empty(cls) -> Self:
        """Return the empty union."""
        return cls.closed([], [])

    def joined(self, other: Spans) -> Spans:
        """Return the union of both."""
        parts = zip(self, other, strict=True)
        low, high, low_open, high_open = (np.concatenate(pair) for pair in parts)
        return Spans(low, high, low_open, high_open)

    def merged(self) -> Spans:
        """Return the closure as disjoint intervals in increasing order.

        Examples
        --------
        >>> merged = Spans.closed([2.0, 0.0, 1.0], [3.0, 1.0, 1.5]).merged()
        >>> merged.low.tolist(), merged.high.tolist()
        ([0.0, 2.0], [1.5, 3.0])
        """
        order = np.argsort(self.low)
        low, high = self.low[order], np.maximum.accumulate(self.high[order])
        first = np.append(True, low[1:] > high[:-1])[: low.size]
        last = np.append(first[1:], True)[: low.size]
        return Spans.closed(low[first], high[last])

    def distance(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the distance of intervals [low, high] from the union, ∞ if the union is empty.

        The ends count as members here: the distance to an open interval is that to its closure.

        Parameters
        ----------
        low, high
            (queries,): the ends of each interval; equal for single values.

        Returns
        -------
        (queries,)
        """
        if not self.low.size:
            return np.full(low.shape, np.inf)
        order = np.argsort(self.low)
        starts = np.append(self.low[order], np.inf)
        # Of the spans that start below a query's upper end, only the one that reaches farthest
        # matters; of the others, only the first.
        reached = np.append(-np.inf, np.maximum.accumulate(self.high[order]))
        after = np.searchsorted(starts[:-1], high, side="right")
        nearest = np.minimum(low - reached[after], starts[after] - high)
        return np.asarray(np.maximum(nearest, 0.0))

    def holds(self, low: FloatArray, high: FloatArray, tolerance: float) -> BoolArray:
        """Return which intervals [low, high] meet the union; open ends do not belong to it.

        Parameters
        ----------
        low, high
            (queries,)
        tolerance
            Numbers at most this far apart are equal. It widens closed ends and narrows open ones.
        """
        first = self.low + np.where(self.low_open, tolerance, -tolerance)
        last = self.high - np.where(self.high_open, tolerance, -tolerance)
        kept = first <= last
        meets: BoolArray = Spans.closed(first[kept], last[kept]).distance(low, high) == 0.0
        return meets
