"""Continuous sets Θ: an interval or a box, represented by a grid that contains the ends."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from operator import index as as_integer
from typing import Any

import numpy as np

from structuredbandits.errors import InvalidParameter
from structuredbandits.structure.parameters import (
    FloatArray,
    Parameters,
    as_number,
    as_numbers,
    brief,
    default_names,
    read_only,
    show_theta,
)

# Two numbers closer than this share of the width of Θ are the same grid point: it allows for
# rounding such as in 260 * 0.01, and is far below any useful grid step.
_SAME_POINT = 1e-9
# Beyond this a table of means does not fit into memory, and NumPy would raise MemoryError.
_MOST_POINTS = 100_000_000
# Times the number of points it must still be a finite float.
_FARTHEST_END = 1e290


class Interval(Parameters):
    """All numbers from `low` to `high`, represented by a grid that contains both ends.

    Parameters
    ----------
    low, high
        The ends, both in Θ.
    points
        The number of evenly spaced grid points; at least 2.
    include
        Further θ that the grid must contain, such as the kinks of a reward function. They make
        the spacing uneven, and `weights` accounts for it.

    Examples
    --------
    >>> demand = Interval(0, 6, points=601)
    >>> len(demand), demand[260], demand.nearest(2.604), demand.contains(2.604)
    (601, 2.6, 260, True)
    >>> uneven = Interval(0, 1, points=3, include=[0.1])
    >>> list(uneven)
    [0.0, 0.1, 0.5, 1.0]
    >>> uneven
    Interval(0.0, 1.0, points=3, include=(0.1,))
    """

    continuous = True

    def __init__(
        self, low: float, high: float, points: int = 601, include: Sequence[float] = ()
    ) -> None:
        start, end, number = _read_side(low, high, points)
        even = _even_grid(start, end, number)
        if not isinstance(include, Iterable):
            raise InvalidParameter(f"include = {brief(include)} is not a list; give a list of θ.")
        extra = np.unique([_read_number(x, "include") for x in include])
        if extra.size and not start <= extra[0] <= extra[-1] <= end:
            outside = extra[0] if extra[0] < start else extra[-1]
            raise InvalidParameter(
                f"include holds {outside:g}, which lies outside [{start:g}, {end:g}]; leave it out."
            )
        extra = extra[~np.isin(extra, even)]
        grid = read_only(_merge(even, extra))
        kept = tuple(extra.tolist())
        self._set(low=start, high=end, _number=number, include=kept, _grid=grid)

    low: float
    high: float
    include: tuple[float, ...]
    _number: int
    _grid: FloatArray

    @cached_property
    def points(self) -> FloatArray:
        """(parameters, 1): the grid points, increasing."""
        return self._grid[:, np.newaxis]

    @property
    def axes(self) -> tuple[FloatArray, ...]:
        """The grid values, as the only side."""
        return (self._grid,)

    @property
    def dimension(self) -> int:
        """One."""
        return 1

    @property
    def names(self) -> tuple[str, ...]:
        """The name of the only coordinate."""
        return default_names(1)

    @cached_property
    def spacing(self) -> tuple[float, ...]:
        """The largest distance between neighbouring grid points."""
        return (float(np.diff(self._grid).max()),)

    @cached_property
    def weights(self) -> FloatArray:
        """(parameters,): half the distance to both neighbours, divided by the sum.

        At an end the missing neighbour counts as far away as the other one, so that the weights
        of an even grid are all equal.
        """
        if not self.include:
            return read_only(np.full(len(self), 1.0 / len(self)))
        gaps = np.diff(self._grid)
        widths = np.concatenate((gaps[:1], (gaps[:-1] + gaps[1:]) / 2, gaps[-1:]))
        return read_only(widths / widths.sum())

    def __len__(self) -> int:
        return len(self._grid)

    def __getitem__(self, position: int) -> float:
        return float(self._grid[position])

    def resolve(self, theta: object) -> float:
        """Return θ as a float; see `Parameters.resolve`."""
        value = as_numbers(theta, 1)
        if value is None or not self.low <= value[0] <= self.high:
            raise InvalidParameter(
                f"θ = {show_theta(theta)} is not in Θ; give a number from {self.low:g} to "
                f"{self.high:g}."
            )
        return value[0]

    def index(self, theta: object) -> int:
        """Return the position of a grid point; see `Parameters.index`."""
        value = self.resolve(theta)
        return _position_on(self._grid, value, value)

    def nearest(self, theta: object) -> int:
        """Return the position of the nearest grid point, the lower one on a tie."""
        return _nearest_on(self._grid, self.resolve(theta))

    def describe(self) -> dict[str, Any]:
        """Return plain data; see `Parameters.describe`."""
        return {
            "kind": "interval",
            "ends": [self.low, self.high],
            "points": self._number,
            "include": list(self.include),
        }

    @property
    def _arguments(self) -> tuple[object, ...]:
        return (self.low, self.high, self._number, self.include)

    def __repr__(self) -> str:
        extra = f", include={self.include!r}" if self.include else ""
        return f"Interval({self.low!r}, {self.high!r}, points={self._number}{extra})"


class Box(Parameters):
    """All vectors whose coordinates lie between given ends, on a grid that contains the corners.

    Parameters
    ----------
    sides
        One pair (low, high) per coordinate.
    points
        The number of evenly spaced values along every side, or one number per side.

    Notes
    -----
    The grid is in C order: the last coordinate changes fastest.

    Examples
    --------
    >>> taste = Box([(-1, 1), (0, 4)], points=[3, 5])
    >>> len(taste), taste[1], taste.index((0, 4)), taste.contains((0.3, 0.3))
    (15, (-1.0, 1.0), 9, True)
    >>> taste
    Box([(-1.0, 1.0), (0.0, 4.0)], points=(3, 5))
    """

    continuous = True

    def __init__(
        self, sides: Sequence[tuple[float, float]], points: int | Sequence[int] = 41
    ) -> None:
        listed = list(sides) if isinstance(sides, Iterable) else [sides]
        pairs = [tuple(side) if isinstance(side, Iterable) else () for side in listed]
        if not pairs or any(len(pair) != 2 for pair in pairs):
            raise InvalidParameter(
                f"sides = {brief(sides)} does not describe a box; give one pair (low, high) per "
                "coordinate."
            )
        numbers = list(points) if isinstance(points, Sequence) else [points] * len(pairs)
        if len(numbers) != len(pairs):
            raise InvalidParameter(
                f"points has {len(numbers)} entries for {len(pairs)} sides; give one number, or "
                "one per side."
            )
        read = [
            _read_side(pair[0], pair[1], number)
            for pair, number in zip(pairs, numbers, strict=True)
        ]
        if math.prod(number for _, _, number in read) > _MOST_POINTS:
            raise InvalidParameter(
                f"a grid of {math.prod(n for _, _, n in read):,} points is too large; give fewer "
                f"points per side (at most {_MOST_POINTS:,} in all)."
            )
        axes = tuple(read_only(_even_grid(*side)) for side in read)
        ends = tuple((low, high) for low, high, _ in read)
        self._set(sides=ends, _axes=axes, _numbers=tuple(number for _, _, number in read))

    sides: tuple[tuple[float, float], ...]
    _axes: tuple[FloatArray, ...]
    _numbers: tuple[int, ...]

    @cached_property
    def points(self) -> FloatArray:
        """(parameters, dimension): the grid points in C order."""
        mesh = np.meshgrid(*self._axes, indexing="ij")
        return read_only(np.stack([side.ravel() for side in mesh], axis=1))

    @property
    def axes(self) -> tuple[FloatArray, ...]:
        """The grid values of each side."""
        return self._axes

    @property
    def dimension(self) -> int:
        """The number of sides."""
        return len(self.sides)

    @property
    def names(self) -> tuple[str, ...]:
        """theta_1, theta_2 and so on."""
        return default_names(self.dimension)

    @cached_property
    def spacing(self) -> tuple[float, ...]:
        """The largest distance between neighbours on each side."""
        return tuple(float(np.diff(axis).max()) for axis in self._axes)

    def __len__(self) -> int:
        return math.prod(self._numbers)

    def __getitem__(self, position: int) -> tuple[float, ...]:
        return tuple(self.points[position].tolist())

    def resolve(self, theta: object) -> tuple[float, ...]:
        """Return θ as a tuple of floats; see `Parameters.resolve`."""
        values = as_numbers(theta, self.dimension)
        if values is None or any(
            not low <= x <= high for x, (low, high) in zip(values, self.sides, strict=True)
        ):
            ends = " × ".join(f"[{low:g}, {high:g}]" for low, high in self.sides)
            raise InvalidParameter(
                f"θ = {show_theta(theta)} is not in Θ; give {self.dimension} numbers in {ends}."
            )
        return values

    def index(self, theta: object) -> int:
        """Return the position of a grid point; see `Parameters.index`."""
        values = self.resolve(theta)
        found = [_position_on(axis, x, values) for axis, x in zip(self._axes, values, strict=True)]
        return int(np.ravel_multi_index(found, self._numbers))

    def nearest(self, theta: object) -> int:
        """Return the position of the nearest grid point, the lower one on a tie."""
        values = self.resolve(theta)
        found = [_nearest_on(axis, x) for axis, x in zip(self._axes, values, strict=True)]
        return int(np.ravel_multi_index(found, self._numbers))

    def describe(self) -> dict[str, Any]:
        """Return plain data; see `Parameters.describe`."""
        return {"kind": "box", "sides": [list(s) for s in self.sides], "points": [*self._numbers]}

    @property
    def _arguments(self) -> tuple[object, ...]:
        return (self.sides, self._numbers)

    def __repr__(self) -> str:
        same = len(set(self._numbers)) == 1
        number = self._numbers[0] if same else self._numbers
        return f"Box({list(self.sides)!r}, points={number!r})"


def _read_number(value: object, what: str) -> float:
    number = as_number(value)
    if number is None:
        raise InvalidParameter(
            f"{what} holds {brief(value)}, which is not a finite number; replace it."
        )
    return float(number)


def _read_side(low: object, high: object, points: object) -> tuple[float, float, int]:
    start, end = _read_number(low, "low"), _read_number(high, "high")
    if not start < end or max(-start, end) > _FARTHEST_END:
        raise InvalidParameter(
            f"low = {start:g} and high = {end:g} do not span an interval; give low below high, "
            f"both at most {_FARTHEST_END:g} in size."
        )
    try:
        number = as_integer(points)  # type: ignore[arg-type]  # other types raise TypeError
    except TypeError:
        number = 0
    if isinstance(points, bool) or not 2 <= number <= _MOST_POINTS:
        raise InvalidParameter(
            f"points = {brief(points)} is not a whole number from 2 to {_MOST_POINTS:,}; give one, "
            "counting both ends."
        )
    return start, end, number


def _even_grid(low: float, high: float, number: int) -> FloatArray:
    # Weighting the ends rounds only once: 0..6 in 600 steps holds 3.3 itself, where adding up
    # steps of 0.01 would give 3.3000000000000003.
    i = np.arange(number, dtype=float)
    last = number - 1
    grid: FloatArray = (low * (last - i) + high * i) / last
    grid[0], grid[-1] = low, high
    if not (np.diff(grid) > 0).all():
        raise InvalidParameter(
            f"{number:,} points do not fit between {low!r} and {high!r} in floating point; give "
            "fewer points."
        )
    return grid


def _merge(even: FloatArray, extra: FloatArray) -> FloatArray:
    """Insert extra points, in place of even points that differ from them only by rounding."""
    if not extra.size:
        return even
    inner = even[1:-1]
    right = np.searchsorted(extra, inner).clip(max=len(extra) - 1)
    left = (right - 1).clip(min=0)
    distance = np.minimum(np.abs(extra[right] - inner), np.abs(extra[left] - inner))
    keep = np.concatenate(([True], distance > _SAME_POINT * (even[-1] - even[0]), [True]))
    return np.unique(np.concatenate((even[keep], extra)))


def _nearest_on(axis: FloatArray, value: float) -> int:
    right = min(int(np.searchsorted(axis, value)), len(axis) - 1)
    left = max(right - 1, 0)
    return left if value - axis[left] <= axis[right] - value else right


def _position_on(axis: FloatArray, value: float, theta: object) -> int:
    found = _nearest_on(axis, value)
    if abs(axis[found] - value) <= _SAME_POINT * (axis[-1] - axis[0]):
        return found
    left = int(np.searchsorted(axis, value)) - 1
    raise InvalidParameter(
        f"θ = {show_theta(theta)} is not a grid point; the nearest to {value:.10g} are "
        f"{axis[left]:.10g} and {axis[left + 1]:.10g}."
    )
