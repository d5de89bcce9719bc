"""A structure as kernels want it: sorted once, shared by all runs, never written again."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structuredbandits.errors import InvalidStructure

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


# A θ carries the number of positions that exclude it, two an arm, as 16 bits.
_MOST_ARMS = 16_383

#: In place of the one optimal arm of a θ that has several.
SEVERAL = 65535


class BoxTables(NamedTuple):
    """Everything that the event-driven set reads.

    Side 0 holds the lower means and the last side the upper means; exact means have one side
    that serves as both. Costs are negated, so kernels always maximise.
    """

    bounds: np.ndarray  # (sides, parameters, arms)
    values: np.ndarray  # (sides, arms, parameters + 2), ascending, from -inf to inf
    orders: np.ndarray  # (sides, arms, parameters) uint32: which θ stands at each position
    only_optimal: np.ndarray  # (parameters,) uint16: the arm that alone is optimal, or SEVERAL
    optimal_start: np.ndarray  # (parameters + 1,) int32 into optimal_arms
    optimal_arms: np.ndarray  # ragged lists of the arms that are (possibly) optimal at each θ
    support: np.ndarray  # (arms,) number of θ at which each arm is (possibly) optimal
    tolerance: float


def gains(structure: Structure) -> np.ndarray:
    """Bounds of what is to be maximised: (sides, parameters, arms)."""
    if structure.exact:
        return np.ascontiguousarray(structure.sign * structure.means)[None]
    low, high = structure.lower, structure.upper
    if structure.minimize:
        low, high = -high, -low
    return np.ascontiguousarray(np.stack([low, high]))


@lru_cache(maxsize=8)
def box_tables(structure: Structure) -> BoxTables:
    """Tables of a structure, made once and kept for the last few structures.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> tables = box_tables(Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0))
    >>> tables.values.shape, tables.optimal_arms.tolist()
    ((1, 2, 4), [0, 1])
    """
    if structure.n_arms > _MOST_ARMS:
        raise InvalidStructure(
            f"the structure has {structure.n_arms:,} arms, and a confidence set can keep "
            f"{_MOST_ARMS:,}; leave out arms, or use a classical policy."
        )
    bounds = gains(structure)
    by_arm = np.ascontiguousarray(np.swapaxes(bounds, 1, 2))
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
    return BoxTables(
        bounds, values, orders.astype(np.uint32), only, start, arms, support, structure.tolerance
    )


@lru_cache(maxsize=8)
def ranks(structure: Structure) -> np.ndarray:
    """Position of each θ in each arm's upper order: (parameters, arms) int32 (UCB-S only)."""
    orders = box_tables(structure).orders[-1]
    n_arms, n_parameters = orders.shape
    result = np.empty((n_parameters, n_arms), dtype=np.int32)
    for arm in range(n_arms):
        result[orders[arm], arm] = np.arange(n_parameters, dtype=np.int32)
    return result
