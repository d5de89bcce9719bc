"""Mean rewards as functions of θ, also between grid points: functions, pieces or features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from structuredbandits.errors import InvalidStructure
from structuredbandits.structure._piecewise import PiecewiseLinear
from structuredbandits.structure.parameters import (
    FloatArray,
    Parameters,
    Theta,
    read_only,
    show_theta,
)

# The number of points computed one by one to check that a function accepts arrays.
_PROBES = 5


class MeanModel(ABC):
    """The mean rewards of all arms as a function of θ."""

    @abstractmethod
    def at(self, theta: Theta) -> FloatArray:
        """Return the mean rewards (arms,) at one θ."""

    @abstractmethod
    def subset(self, positions: Sequence[int]) -> MeanModel:
        """Return the model of some of the arms."""


class Functions(MeanModel):
    """One Python function per arm; `tabulate` makes it and the means on the grid.

    Parameters
    ----------
    functions
        One per arm.
    takes_arrays
        For each function, whether it takes an array of θ or one θ.
    arms
        Names for error messages.
    """

    def __init__(
        self,
        functions: Sequence[Callable[..., Any]],
        takes_arrays: Sequence[bool],
        arms: Sequence[str],
    ) -> None:
        self._functions = tuple(functions)
        self._takes_arrays = tuple(takes_arrays)
        self._arms = tuple(arms)

    def at(self, theta: Theta) -> FloatArray:
        """Return the mean rewards (arms,) at one θ."""
        values = []
        for function, vectorised, arm in zip(
            self._functions, self._takes_arrays, self._arms, strict=True
        ):
            if vectorised:
                value = np.asarray(function(np.array([theta])), dtype=float).ravel()[0]
            else:
                value = _one_value(function, theta, arm)
            values.append(float(value))
        return np.array(values)

    def subset(self, positions: Sequence[int]) -> Functions:
        """Return the model of some of the arms."""
        return Functions(
            [self._functions[k] for k in positions],
            [self._takes_arrays[k] for k in positions],
            [self._arms[k] for k in positions],
        )

    def __getstate__(self) -> dict[str, object]:
        # A lambda cannot be pickled directly, and most structures are written with lambdas.
        from joblib import wrap_non_picklable_objects

        wrapped = tuple(wrap_non_picklable_objects(f, keep_wrapper=False) for f in self._functions)
        return {**self.__dict__, "_functions": wrapped}


class Pieces(MeanModel):
    """One exact piecewise-linear function per arm, on a common interval."""

    def __init__(self, pieces: Sequence[PiecewiseLinear], arms: Sequence[str]) -> None:
        self.pieces = tuple(pieces)
        first = self.pieces[0]
        for piece, arm in zip(self.pieces, arms, strict=True):
            if (piece.low, piece.high) != (first.low, first.high):
                raise InvalidStructure(
                    f"arm {arm!r} runs from {piece.low:g} to {piece.high:g}, but arm {arms[0]!r} "
                    f"from {first.low:g} to {first.high:g}; give all arms the same two ends."
                )

    def at(self, theta: Theta) -> FloatArray:
        """Return the mean rewards (arms,) at one θ."""
        assert isinstance(theta, int | float)
        return np.array([piece(float(theta)) for piece in self.pieces])

    def subset(self, positions: Sequence[int]) -> Pieces:
        """Return the model of some of the arms."""
        kept = [self.pieces[k] for k in positions]
        return Pieces(kept, [str(k) for k in positions])


class Linear(MeanModel):
    """One feature vector per arm; the mean is its product with θ, through an optional link.

    Parameters
    ----------
    features
        (arms, dimension).
    link
        None, or "logistic" for 1 / (1 + exp(−x·θ)).
    """

    def __init__(self, features: FloatArray, link: str | None) -> None:
        self.features = read_only(np.array(features, dtype=float, order="C") + 0.0)
        self.link = link

    def at(self, theta: Theta) -> FloatArray:
        """Return the mean rewards (arms,) at one θ."""
        return self.through_link(self.features @ np.atleast_1d(np.array(theta, dtype=float)))

    def through_link(self, products: FloatArray) -> FloatArray:
        """Apply the increasing link to products of features and θ."""
        if self.link is None:
            return products
        # The usual quotient overflows for large negative products; this form does not.
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * products)))

    def subset(self, positions: Sequence[int]) -> Linear:
        """Return the model of some of the arms."""
        return Linear(self.features[list(positions)], self.link)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        read_only(self.features)


def interpolate(parameters: Parameters, table: FloatArray, theta: Theta) -> FloatArray:
    """Return a row of a table at a θ between grid points, interpolated linearly along every side.

    Parameters
    ----------
    parameters
        A continuous Θ.
    table
        (parameters, arms).
    theta
        A member of Θ in its plain form.

    Examples
    --------
    >>> from structuredbandits.structure import Interval
    >>> interpolate(Interval(0, 1, points=2), np.array([[0.0, 4.0], [1.0, 2.0]]), 0.25)
    array([0.25, 3.5 ])
    """
    values = theta if isinstance(theta, tuple) else (theta,)
    block = table.reshape(*(len(axis) for axis in parameters.axes), -1)
    for axis, x in zip(parameters.axes, values, strict=True):
        i = min(max(int(np.searchsorted(axis, float(x), side="right")) - 1, 0), len(axis) - 2)
        share = (float(x) - axis[i]) / (axis[i + 1] - axis[i])
        block = (1.0 - share) * block[i] + share * block[i + 1]
    return block


def tabulate(
    functions: Sequence[Callable[..., Any]], parameters: Parameters, arms: Sequence[str]
) -> tuple[Functions, FloatArray]:
    """Compute one function per arm on the grid of Θ.

    Parameters
    ----------
    functions
        Each takes all θ at once, (parameters,) for numbers and (parameters, dimension) for
        vectors, or one θ; both are tried.
    parameters
        Θ.
    arms
        Names for error messages.

    Returns
    -------
    model, means
        The functions for later use, and their values (parameters, arms).
    """
    columns = []
    takes_arrays = []
    for function, arm in zip(functions, arms, strict=True):
        if not callable(function):
            raise InvalidStructure(
                f"arm {arm!r} has {function!r}, which cannot be called; give a function of θ."
            )
        column, vectorised = _column(function, parameters, arm)
        columns.append(column)
        takes_arrays.append(vectorised)
    return Functions(functions, takes_arrays, arms), np.stack(columns, axis=1)


def _one_value(function: Callable[..., Any], theta: Theta, arm: str) -> float:
    argument: object = theta
    if _is_vector(theta):
        argument = np.array(theta, dtype=float)
    elif not isinstance(theta, str | tuple):
        argument = float(theta)
    try:
        value = np.asarray(function(argument), dtype=float)
    except Exception as error:
        raise InvalidStructure(
            f"the function of arm {arm!r} failed at θ = {show_theta(theta)} with "
            f"{type(error).__name__} ({error}); make it accept one θ, or an array of them."
        ) from error
    if value.size != 1:
        raise InvalidStructure(
            f"the function of arm {arm!r} gave {value.size} numbers at θ = {show_theta(theta)}; "
            "return one mean reward."
        )
    return float(value.ravel()[0])


def _is_vector(theta: Theta) -> bool:
    return isinstance(theta, tuple) and not any(isinstance(part, str) for part in theta)


def _column(
    function: Callable[..., Any], parameters: Parameters, arm: str
) -> tuple[FloatArray, bool]:
    """Compute a function on the whole grid: at once if it accepts arrays, else point by point."""
    number = len(parameters)
    column = _try_arrays(function, parameters)
    if column is not None:
        probes = sorted({round(i * (number - 1) / (_PROBES - 1)) for i in range(_PROBES)})
        try:
            singly = [_one_value(function, parameters[i], arm) for i in probes]
        except InvalidStructure:
            # It accepts arrays only. A single number for all θ is then not a valid result.
            if column.ndim == 1:
                return column, True
            raise
        full = np.broadcast_to(column, (number,))
        # A function written for one θ may accept an array and return something else: the first
        # row instead of the first coordinate, or the maximum over all θ.
        size = float(np.abs(full[np.isfinite(full)]).max(initial=0.0))
        if np.allclose(full[probes], singly, rtol=1e-9, atol=1e-9 * size, equal_nan=True):
            return np.array(full), column.ndim == 1
    return np.array([_one_value(function, theta, arm) for theta in parameters]), False


def _try_arrays(function: Callable[..., Any], parameters: Parameters) -> FloatArray | None:
    """Return the values of a function for all θ at once, None if it is not one number per θ."""
    points = parameters.points
    if points is None:
        return None
    # A copy, in case the function writes into its argument.
    argument = np.array(points if isinstance(parameters[0], tuple) else points[:, 0])
    try:
        result = np.asarray(function(argument), dtype=float)
    except Exception:  # the function may still accept one θ
        return None
    return result if result.shape in ((), (len(points),)) else None
