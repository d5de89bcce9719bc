"""The tables of a structure that kernels read: sorted once and shared by all runs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from structuredbandits.confidence.divergence import limits_of, natural_parameters
from structuredbandits.errors import InvalidStructure

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


# A θ carries the number of positions that exclude it, two per arm, as 16 bits.
_MOST_ARMS = 16_383

#: In place of the one optimal arm of a θ that has several.
SEVERAL = 65535


class SortedTables(NamedTuple):
    """Everything that the event-driven set reads.

    Side 0 holds the lower means and the last side the upper means; exact means have one side
    that serves as both. Costs are negated, so kernels always maximise. Intervals of Gaussian
    rewards are compared with the means, those of limited rewards with their natural parameters,
    see `divergence`.
    """

    bounds: np.ndarray  # (sides, parameters, arms)
    points: np.ndarray  # (sides, parameters, arms) bounds, or their natural parameters
    values: np.ndarray  # (sides, arms, parameters + 2) points, ascending, from -inf to inf
    orders: np.ndarray  # (sides, arms, parameters) uint32: which θ stands at each position
    only_optimal: np.ndarray  # (parameters,) uint16: the arm that alone is optimal, or SEVERAL
    optimal_start: np.ndarray  # (parameters + 1,) int32 into optimal_arms
    optimal_arms: np.ndarray  # ragged lists of the arms that are (possibly) optimal at each θ
    support: np.ndarray  # (arms,) number of θ at which each arm is (possibly) optimal
    tolerance: float
    limits: Any  # GainLimits, or None if rewards are Gaussian
    cumulants: np.ndarray  # (sides, arms, parameters + 2) log(1 + e^value); empty likewise


def gains(structure: Structure) -> np.ndarray:
    """Bounds of what is to be maximised: (sides, parameters, arms)."""
    if structure.exact:
        return np.ascontiguousarray(structure.sign * structure.means)[None]
    low, high = structure.lower, structure.upper
    if structure.minimize:
        low, high = -high, -low
    return np.ascontiguousarray(np.stack([low, high]))


def points_of(structure: Structure, bounds: np.ndarray) -> np.ndarray:
    """What intervals are compared with: (sides, parameters, arms)."""
    limits = limits_of(structure)
    return bounds if limits is None else natural_parameters(structure, limits, bounds)


@lru_cache(maxsize=8)
def sorted_tables(structure: Structure) -> SortedTables:
    """Tables of a structure, made once and kept for the last few structures.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> tables = sorted_tables(Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0))
    >>> tables.values.shape, tables.optimal_arms.tolist()
    ((1, 2, 4), [0, 1])
    """
    if structure.n_arms > _MOST_ARMS:
        raise InvalidStructure(
            f"the structure has {structure.n_arms:,} arms, and a confidence set can keep "
            f"{_MOST_ARMS:,}; leave out arms, or use a classical policy."
        )
    bounds = gains(structure)
    points = points_of(structure, bounds)
    by_arm = np.ascontiguousarray(np.swapaxes(points, 1, 2))
    orders = np.argsort(by_arm, axis=2, kind="stable")
    values = np.empty((*orders.shape[:2], orders.shape[2] + 2))
    values[..., 1:-1] = np.take_along_axis(by_arm, orders, axis=2)
    values[..., 0], values[..., -1] = -np.inf, np.inf  # ends need no check of their own
    optimal = structure.optimal
    start = np.zeros(len(optimal) + 1, dtype=np.int32)
    np.cumsum(optimal.sum(axis=1), out=start[1:])
    arms = np.nonzero(optimal)[1].astype(np.int32)
    only = np.where(np.diff(start) == 1, optimal.argmax(axis=1), SEVERAL).astype(np.uint16)
    support = optimal.sum(axis=0).astype(np.int64)
    return SortedTables(
        bounds,
        points,
        values,
        orders.astype(np.uint32),
        only,
        start,
        arms,
        support,
        structure.tolerance,
        limits_of(structure),
        np.logaddexp(0.0, values) if structure.rewards.limited else np.empty((0, 0, 0)),
    )


@lru_cache(maxsize=8)
def order_of_means(structure: Structure) -> np.ndarray:
    """The θ in ascending order of each arm's upper mean: (arms, parameters) uint32."""
    order = np.argsort(gains(structure)[-1].T, axis=1, kind="stable").astype(np.uint32)
    return np.ascontiguousarray(order)


@lru_cache(maxsize=8)
def ranks(structure: Structure) -> np.ndarray:
    """Position of each θ in each arm's `order_of_means`: (parameters, arms) int32."""
    orders = order_of_means(structure)
    n_arms, n_parameters = orders.shape
    result = np.empty((n_parameters, n_arms), dtype=np.int32)
    for arm in range(n_arms):
        result[orders[arm], arm] = np.arange(n_parameters, dtype=np.int32)
    return result
