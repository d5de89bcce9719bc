"""Rewards drawn with replacement from observed counts, such as the stars given to films."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structuredbandits.environments._reward_stream import RewardStream, TableLaw
from structuredbandits.errors import InvalidStructure
from structuredbandits.structure import Finite, FloatArray, Parameters, read_only
from structuredbandits.structure.validation import arm_names, as_floats


class Ratings:
    """Rewards of an arm at θ have the observed frequencies.

    Parameters
    ----------
    counts
        (parameters, arms, values): whole numbers; every arm has at least one at every θ.
    values
        (values,): the observed rewards, in increasing order.
    parameters
        A finite Θ.
    arms
        One name per arm.

    Examples
    --------
    >>> stars = Ratings([[[1, 0, 3], [2, 2, 0]]], [1, 2, 3], Finite(["a"]), ["Drama", "War"])
    >>> stars.means_at("a")
    array([2.5, 1.5])
    >>> stars.quantile_table("a")
    (array([[0.25, 0.25, 1.  ], [0.5 , 1.  , 1.  ]]), array([1., 2., 3.]))
    """

    counts: NDArray[np.int64]
    values: FloatArray
    parameters: Parameters
    arms: tuple[str, ...]

    def __init__(
        self, counts: ArrayLike, values: ArrayLike, parameters: Parameters, arms: Sequence[str]
    ) -> None:
        possible = as_floats(values, "values")
        names = arm_names(arms, len(arms))
        if possible.ndim != 1 or not possible.size or not np.isfinite(possible).all():
            raise InvalidStructure("values must be a list of finite rewards.")
        if not (np.diff(possible) > 0).all():
            raise InvalidStructure(
                f"values = {possible.tolist()} do not increase; sort them and the counts with them."
            )
        if not isinstance(parameters, Finite):
            raise InvalidStructure(f"counts need a finite Θ, not {parameters!r}; give a Finite.")
        table = _whole(counts)
        shape = (len(parameters), len(names), len(possible))
        if table.shape != shape:
            raise InvalidStructure(
                f"counts have shape {table.shape}, but there are {shape[0]} θ, {shape[1]} arms and "
                f"{shape[2]} values."
            )
        empty = table.sum(axis=2) == 0
        if empty.any():
            i, k = map(int, np.argwhere(empty)[0])
            raise InvalidStructure(
                f"arm {names[k]!r} has no counts at θ = {parameters.label(i)}; leave out the arm "
                "or the θ."
            )
        self.__dict__.update(counts=table, values=possible, parameters=parameters, arms=names)

    @cached_property
    def means(self) -> FloatArray:
        """(parameters, arms): the means of the observed rewards."""
        return read_only(self.counts @ self.values / self.counts.sum(axis=2))

    def means_at(self, theta: object) -> FloatArray:
        """Return the true mean rewards (arms,) at a θ."""
        return np.array(self.means[self._row(theta)])

    def quantile_table(self, theta: object) -> tuple[FloatArray, FloatArray]:
        """Return (arms, values) cumulative probabilities and the (values,) in increasing order.

        For u uniform in [0, 1) the reward of arm k is the value at the first column v with
        u < cumulative[k, v].
        """
        cumulative = self.counts[self._row(theta)].cumsum(axis=1)
        # A whole number divided by itself is exactly 1, so every u has a value.
        return cumulative / cumulative[:, -1:], np.array(self.values)

    def rewards(self, theta: object, seed: int, run: int = 0) -> RewardStream:
        """Return the rewards of one run at a θ, one at a time."""
        return RewardStream(self.arms, TableLaw(*self.quantile_table(theta)), seed, run)

    def _row(self, theta: object) -> int:
        return self.parameters.index(self.parameters.resolve(theta))

    @cached_property
    def _key(self) -> tuple[object, ...]:
        values = tuple(self.values.tolist())
        return (self.counts.shape, self.counts.tobytes(), values, self.parameters, self.arms)

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Ratings) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple[object, tuple[Any, ...]]:
        return Ratings, (self.counts, self.values, self.parameters, self.arms)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("ratings cannot be changed; make new ones.")

    def __repr__(self) -> str:
        return (
            f"<Ratings: {self.counts.sum():,} of {len(self.values)} values, "
            f"{len(self.parameters)} θ, {len(self.arms)} arms>"
        )


def _whole(counts: ArrayLike) -> NDArray[np.int64]:
    numbers = as_floats(counts, "counts")
    good = np.isfinite(numbers) & (numbers >= 0) & (np.floor(numbers) == numbers)
    if not good.all():
        bad = numbers[~good].ravel()[0]
        raise InvalidStructure(f"counts hold {bad:g}; give whole numbers from 0 on.")
    table = numbers.astype(np.int64)
    table.setflags(write=False)
    return table
