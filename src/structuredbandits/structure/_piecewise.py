"""One arm's mean reward as an exact piecewise-linear function of a single number θ.

`PiecewiseLinear` computes values, limits, extremes and crossings.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structuredbandits.errors import InvalidParameter, InvalidStructure
from structuredbandits.structure.parameters import FloatArray, as_number, brief, read_only


class Segment(NamedTuple):
    """One straight piece, from (start, start_value) to (end, end_value)."""

    start: float
    end: float
    start_value: float
    end_value: float


class PiecewiseLinear:
    """A function that is linear between breakpoints and may jump at them.

    Parameters
    ----------
    breakpoints
        Pairs (θ, value) with θ in increasing order. A θ that is given twice is a jump; there the
        function takes the second value (it is continuous from the right). Both ends of the
        interval are breakpoints and cannot be jumps.

    Examples
    --------
    >>> f = PiecewiseLinear([(0, 1), (3, 1), (3, 4), (6, 10)])
    >>> f(3), f.left_limit(3), f(4.5)
    (4.0, 1.0, 7.0)
    >>> f.extremes(2, 4)
    (1.0, 6.0)
    >>> f.crossings(PiecewiseLinear([(0, 8), (6, 8)]))
    (5.0,)
    """

    def __init__(self, breakpoints: Iterable[tuple[float, float]]) -> None:
        if not isinstance(breakpoints, Iterable):
            raise InvalidStructure(
                f"breakpoints = {brief(breakpoints)} is not a list; give pairs (θ, value)."
            )
        pairs = [tuple(pair) if isinstance(pair, Iterable) else (pair,) for pair in breakpoints]
        _check(pairs)
        theta = np.array([pair[0] for pair in pairs], dtype=float) + 0.0
        value = np.array([pair[1] for pair in pairs], dtype=float) + 0.0
        self.__dict__.update(theta=read_only(theta), value=read_only(value))

    theta: FloatArray
    """(breakpoints,): where the pieces end, a jump twice."""
    value: FloatArray
    """(breakpoints,): the values there."""

    @property
    def low(self) -> float:
        """The left end of the interval."""
        return float(self.theta[0])

    @property
    def high(self) -> float:
        """The right end of the interval."""
        return float(self.theta[-1])

    @property
    def jumps(self) -> tuple[float, ...]:
        """The θ at which the function jumps."""
        return tuple(self.theta[1:][np.diff(self.theta) == 0].tolist())

    @overload
    def __call__(self, theta: float) -> float: ...
    @overload
    def __call__(self, theta: NDArray[Any]) -> FloatArray: ...
    def __call__(self, theta: float | NDArray[Any]) -> float | FloatArray:
        """Return the value at one θ or at an array of them."""
        return self._value(theta, side="right")

    @overload
    def left_limit(self, theta: float) -> float: ...
    @overload
    def left_limit(self, theta: NDArray[Any]) -> FloatArray: ...
    def left_limit(self, theta: float | NDArray[Any]) -> float | FloatArray:
        """Return the limit from the left; at the left end of the interval, the value there."""
        return self._value(theta, side="left")

    def extremes(self, low: ArrayLike, high: ArrayLike) -> tuple[Any, Any]:
        """Return the least and the greatest value over closed intervals [low, high].

        Limits from inside an interval count as values, so both are the tightest bounds for every θ
        in it. Give numbers, or arrays of equal shape for many intervals at once.
        """
        left, right = np.broadcast_arrays(np.asarray(low, float), np.asarray(high, float))
        if (left > right).any():
            a, b = left[left > right].ravel()[0], right[left > right].ravel()[0]
            raise InvalidParameter(f"low = {a:g} lies above high = {b:g}; exchange them.")
        ends = np.stack([self(left), self.left_limit(right), self(right)])
        # Where left == right, the limit from the left does not come from inside the interval.
        ends[1] = np.where(left == right, ends[0], ends[1])
        first = np.searchsorted(self.theta, left, side="right")
        last = np.searchsorted(self.theta, right, side="left")
        inner = first < last
        pairs = np.stack([first, np.maximum(last, first)], axis=-1).ravel()
        padded = np.append(self.value, self.value[-1])
        results = []
        for reduce in (np.minimum, np.maximum):
            at_ends = reduce.reduce(ends, axis=0)
            inside = reduce.reduceat(padded, pairs)[::2].reshape(left.shape)
            both = np.where(inner, reduce(inside, at_ends), at_ends)
            results.append(float(both) if both.ndim == 0 else both)
        return results[0], results[1]

    def segments(self) -> tuple[Segment, ...]:
        """Return the straight pieces from left to right."""
        points = zip(self.theta.tolist(), self.value.tolist(), strict=True)
        return tuple(Segment(a, b, u, v) for (a, u), (b, v) in pairwise(points) if a < b)

    def crossings(self, other: PiecewiseLinear) -> tuple[float, ...]:
        """Return every θ at which the order of two functions changes, in increasing order.

        Between two neighbouring crossings (and between them and the ends) one function is above
        the other throughout, or both are equal throughout. A θ at which they only touch, and an
        end at which they meet, are among them, and at a jump limits count as values; two equal
        functions have none.

        The arithmetic is exact: each breakpoint is taken as the decimal number that it prints
        as, and only the result is rounded. So functions that meet by exact arithmetic meet here.
        """
        if (self.low, self.high) != (other.low, other.high):
            raise InvalidParameter(
                f"functions on [{self.low:g}, {self.high:g}] and [{other.low:g}, {other.high:g}] "
                "cannot be compared; give both the same ends."
            )
        return _sign_changes(self._exact, other._exact)

    @cached_property
    def _exact(self) -> list[tuple[Fraction, Fraction]]:
        points = zip(self.theta.tolist(), self.value.tolist(), strict=True)
        return [(Fraction(repr(theta)), Fraction(repr(value))) for theta, value in points]

    def _value(self, theta: float | NDArray[Any], side: str) -> float | FloatArray:
        x = np.asarray(theta, dtype=float)
        outside = ~((x >= self.low) & (x <= self.high))
        if outside.any():
            wrong = x[outside].ravel()[0]
            raise InvalidParameter(
                f"θ = {wrong:g} is not in Θ; give a number from {self.low:g} to {self.high:g}."
            )
        found = np.searchsorted(self.theta, x, side="right" if side == "right" else "left") - 1
        i = np.clip(found, 0, len(self.theta) - 2)
        start, end = self.theta[i], self.theta[i + 1]
        u, v = self.value[i], self.value[i + 1]
        # Every operation keeps order under rounding, so the result is monotone within a piece
        # and the extremes over an interval bound it without a margin.
        y = u + (v - u) * ((x - start) / (end - start))
        y = np.clip(y, np.minimum(u, v), np.maximum(u, v))
        y = np.where(x == end, v, y)
        return float(y) if y.ndim == 0 else y

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PiecewiseLinear):
            return NotImplemented
        return self.breakpoints == other.breakpoints

    def __hash__(self) -> int:
        return hash(self.breakpoints)

    def __repr__(self) -> str:
        return f"PiecewiseLinear({list(self.breakpoints)!r})"

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return PiecewiseLinear, (self.breakpoints,)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a PiecewiseLinear cannot be changed; make a new one.")

    @cached_property
    def breakpoints(self) -> tuple[tuple[float, float], ...]:
        """The pairs (θ, value), a jump as two of them."""
        return tuple(zip(self.theta.tolist(), self.value.tolist(), strict=True))


def _check(pairs: list[tuple[Any, ...]]) -> None:
    for pair in pairs:
        if len(pair) != 2 or as_number(pair[0]) is None or as_number(pair[1]) is None:
            raise InvalidStructure(
                f"breakpoint {brief(pair)} is not a pair (θ, value) of two finite numbers; give "
                "such pairs."
            )
    theta = [float(pair[0]) for pair in pairs]
    if len(theta) < 2 or theta[0] == theta[-1]:
        raise InvalidStructure(
            f"{len(theta)} breakpoints do not span an interval; give at least its two ends."
        )
    for a, b in pairwise(theta):
        if a > b:
            raise InvalidStructure(f"breakpoint θ = {b:g} comes after θ = {a:g}; sort them by θ.")
    if theta[0] == theta[1] or theta[-2] == theta[-1]:
        end = theta[0] if theta[0] == theta[1] else theta[-1]
        raise InvalidStructure(
            f"θ = {end:g} is an end of the interval and cannot be a jump; give it once."
        )
    for a, _, c in zip(theta, theta[1:], theta[2:], strict=False):
        if a == c:
            raise InvalidStructure(f"θ = {a:g} is given more than twice; a jump has two values.")
    values = [float(pair[1]) for pair in pairs]
    if not np.isfinite(max(values) - min(values)) or not np.isfinite(theta[-1] - theta[0]):
        raise InvalidStructure("the breakpoints are too far apart for floating point; rescale.")


def _sign(x: Fraction) -> int:
    return (x > 0) - (x < 0)


def _limits(
    points: list[tuple[Fraction, Fraction]], knots: list[Fraction]
) -> list[tuple[Fraction, Fraction]]:
    """Return the exact limits from the left and the right at each knot."""
    limits = []
    i = 0
    for x in knots:
        while points[i + 1][0] < x:
            i += 1
        (a, u), (b, v) = points[i], points[i + 1]
        left = right = u if x == a else u + (v - u) * (x - a) / (b - a)
        if x == b:
            after = i + 2 < len(points) and points[i + 2][0] == x
            left, right = v, points[i + 2][1] if after else v
        limits.append((left, right))
    return limits


def _sign_changes(
    first: list[tuple[Fraction, Fraction]], second: list[tuple[Fraction, Fraction]]
) -> tuple[float, ...]:
    knots = sorted({theta for theta, _ in first} | {theta for theta, _ in second})
    gaps = [
        (f[0] - g[0], f[1] - g[1])
        for f, g in zip(_limits(first, knots), _limits(second, knots), strict=True)
    ]
    found: list[Fraction] = []
    before: set[int] = set()  # the sign just left of the knot, if anything lies there
    for j, x in enumerate(knots):
        left, right = gaps[j]
        following = gaps[j + 1][0] if j + 1 < len(knots) else None
        after = set() if following is None else {_sign(right) or _sign(following)}
        if len(before | {_sign(left), _sign(right)} | after) > 1:
            found.append(x)
        before = after
        if following is not None and _sign(right) * _sign(following) < 0:
            found.append(x + (knots[j + 1] - x) * right / (right - following))
            before = {_sign(following)}
    return tuple(dict.fromkeys(float(x) for x in found))
