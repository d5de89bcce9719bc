"""The common interface of all sets Θ, and how a single θ is read and printed."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from structuredbandits.errors import InvalidParameter

FloatArray = NDArray[np.float64]
Theta = float | str | tuple[float | str, ...]

# The maximal length of a value in an error message.
_BRIEF = 80


class Parameters(ABC):
    """The common base of `Finite`, `Interval` and `Box`.

    A set Θ is immutable, hashable, equal by value, and prints as the code that makes it. Its
    members are numbered from 0 in the order of the rows of a structure's means.
    """

    continuous: bool
    """True if Θ holds more than its grid points."""

    @property
    @abstractmethod
    def points(self) -> FloatArray | None:
        """(parameters, dimension): the coordinates of the grid points, None for labels."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of coordinates of one θ."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """One name per coordinate of θ."""

    @property
    @abstractmethod
    def spacing(self) -> tuple[float, ...]:
        """The largest distance between neighbours along each side; empty for `Finite`."""

    @property
    def axes(self) -> tuple[FloatArray, ...]:
        """The grid values of each side of a continuous Θ; empty for `Finite`."""
        return ()

    @cached_property
    def weights(self) -> FloatArray:
        """(parameters,): the share of Θ that each grid point stands for; they sum to 1."""
        return read_only(np.full(len(self), 1.0 / len(self)))

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, position: int) -> Theta: ...

    def __iter__(self) -> Iterator[Theta]:
        return (self[i] for i in range(len(self)))

    @abstractmethod
    def resolve(self, theta: object) -> Theta:
        """Return θ in its plain form, which may lie between grid points.

        Text is read as a number, as numbers with commas, or as a label (or a part of one that
        fits no other label), so that text typed by a user can be passed on unchanged. Raises
        `InvalidParameter` for a θ outside Θ.
        """

    @abstractmethod
    def index(self, theta: object) -> int:
        """Return the position of a grid point or label; `InvalidParameter` if it is not one."""

    @abstractmethod
    def nearest(self, theta: object) -> int:
        """Return the position of the grid point nearest to a θ in Θ."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return plain data from which `parameters_from` makes an equal set."""

    def contains(self, theta: object) -> bool:
        """Return whether θ belongs to Θ, on or off the grid."""
        try:
            self.resolve(theta)
        except InvalidParameter:
            return False
        return True

    def label(self, position: int) -> str:
        """Return the member at a position as short text for tables and plots."""
        return show_theta(self[position])

    @property
    @abstractmethod
    def _arguments(self) -> tuple[object, ...]:
        """The constructor's arguments for an equal set."""

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        # Through the constructor: unpickled arrays would otherwise be writable.
        return type(self), self._arguments

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parameters) or type(other) is not type(self):
            return NotImplemented
        return self._arguments == other._arguments

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._arguments))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} cannot be changed; make a new one.")

    def _set(self, **values: object) -> None:
        self.__dict__.update(values)


def read_only(array: FloatArray) -> FloatArray:
    """Return the same array after making it read-only."""
    array.setflags(write=False)
    return array


def default_names(dimension: int) -> tuple[str, ...]:
    """Return the default names of the coordinates."""
    return ("theta",) if dimension == 1 else tuple(f"theta_{j + 1}" for j in range(dimension))


def show_theta(theta: object) -> str:
    """Return any θ, even an invalid one, as short text.

    Examples
    --------
    >>> show_theta(2.6), show_theta((0.9, -0.2)), show_theta(("18-24", "student"))
    ('2.6', '(0.9, -0.2)', '18-24 student')
    """
    if isinstance(theta, np.ndarray):
        theta = tuple(theta.tolist()) if theta.ndim == 1 else brief(theta.tolist())
    if isinstance(theta, tuple | list):
        if any(isinstance(part, str) for part in theta):
            return " ".join(show_theta(part) for part in theta)
        return "(" + ", ".join(show_theta(part) for part in theta) + ")"
    if isinstance(theta, Real) and not isinstance(theta, bool):
        return brief(theta) if _is_too_large(theta) else format(float(theta), ".10g")
    return theta if isinstance(theta, str) else brief(theta)


def brief(value: object) -> str:
    """Return any value as one short line for an error message.

    Examples
    --------
    >>> brief(["x", "y"]), brief(10**400)
    ("['x', 'y']", 'a whole number of more than 300 digits')
    """
    if isinstance(value, Integral) and _is_too_large(value):  # Python may refuse to print it
        return "a whole number of more than 300 digits"
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # it contains such a number
        text = f"a {type(value).__name__}"
    return text if len(text) <= _BRIEF else text[: _BRIEF - 3] + "..."


def _is_too_large(value: Real) -> bool:
    try:
        float(value)
    except OverflowError:
        return True
    return False


def as_number(value: object) -> float | None:
    """Return a finite real number as a float (an integer as an int), None for anything else."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or _is_too_large(value):
        return None
    if isinstance(value, Integral):
        return int(value)
    number = float(value)
    return number if math.isfinite(number) else None


def as_numbers(theta: object, dimension: int) -> tuple[float, ...] | None:
    """Read a θ with `dimension` coordinates from a number, a sequence or text; None if it fails.

    Examples
    --------
    >>> as_numbers("0.9, 0.2", 2), as_numbers("(0.9 0.2)", 2), as_numbers([1, 2], 3)
    ((0.9, 0.2), (0.9, 0.2), None)
    """
    parts: Sequence[object]
    if isinstance(theta, str):
        words = theta.strip().strip("()[]").replace(",", " ").split()
        parts = [_number_of_text(word) for word in words]
    elif isinstance(theta, np.ndarray):
        parts = theta.ravel().tolist()
    elif isinstance(theta, Sequence):
        parts = theta
    else:
        parts = [theta]
    if len(parts) != dimension:
        return None
    numbers = [as_number(part) for part in parts]
    if any(number is None for number in numbers):
        return None
    return tuple(float(number) for number in numbers if number is not None)


def _number_of_text(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
