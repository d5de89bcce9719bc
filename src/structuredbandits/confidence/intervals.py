"""The interval of an arm: of Gaussian rewards here, of limited ones in `intervals_of_rates`.

Which of the two a kernel contains follows from the type of the tables' limits, so that Gaussian
rewards do not pay for the others, in no round and not in compile time.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from numba import types

from structuredbandits._compiled import by_type
from structuredbandits.confidence import intervals_of_rates as of_rates
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.memory import (
    HEAD_IN,
    HEAD_OUT,
    NEXT_Q,
    TAIL_IN,
    TAIL_OUT,
    ConfidenceState,
)
from structuredbandits.confidence.sorted_tables import SortedTables

# Sums such as mu_hat + q s are rounded, so an arm may admit a θ a few ulps before the computed q.
# Events fire this much early, relative to the numbers added; an exact comparison then decides.
_EARLY = 2.0**-50


def for_families(
    operation: Callable[..., Any], gaussian: Callable[..., Any], limited: Callable[..., Any]
) -> None:
    """Define an operation on some tables, its first argument, for both families of rewards."""

    def choice(tables: Any, *_: Any) -> Callable[..., Any]:
        limits = tables.types[tables.fields.index("limits")]
        return gaussian if isinstance(limits, types.NoneType) else limited

    choice.__signature__ = inspect.signature(gaussian)  # type: ignore[attr-defined]  # Numba compares it
    by_type(operation)(choice)


# -- what an interval does ---------------------------------------------------------------------


def frame_value(
    tables: SortedTables, state: ConfidenceState, arm: int, column: int, side: int, place: int
) -> None:
    """Keep one value as a column of the arm's frame."""
    raise TypeError("frame_value is for compiled code")


def mean_among_values(tables: SortedTables, evidence: Evidence, arm: int) -> float:
    """The mean of the arm's rewards, on the scale of the sorted values."""
    raise TypeError("mean_among_values is for compiled code")


def interval_of(
    tables: SortedTables, evidence: Evidence, state: ConfidenceState, arm: int, q: float
) -> tuple[float, float]:
    """The ends of the arm's interval, or values outside with no θ between."""
    raise TypeError("interval_of is for compiled code")


def foresee(tables: SortedTables, evidence: Evidence, state: ConfidenceState, arm: int) -> None:
    """Compute the q at which the arm's interval next admits a θ."""
    raise TypeError("foresee is for compiled code")


def stays_in_frame(
    tables: SortedTables, evidence: Evidence, state: ConfidenceState, arm: int, q: float
) -> bool:
    """Whether the ends of the latest arm's interval surely are within its frame."""
    raise TypeError("stays_in_frame is for compiled code")


def keep_latest(tables: SortedTables, state: ConfidenceState, arm: int) -> None:
    """Keep what else is needed of the latest arm's frame."""
    raise TypeError("keep_latest is for compiled code")


# -- Gaussian rewards --------------------------------------------------------------------------


def _frame_value(
    tables: SortedTables, state: ConfidenceState, arm: int, column: int, side: int, place: int
) -> None:
    state.frames[arm, column] = tables.values[side, arm, place]


def _mean_among_values(tables: SortedTables, evidence: Evidence, arm: int) -> float:
    return evidence.means[arm]  # type: ignore[no-any-return]  # an element of an array


def _interval_of(
    tables: SortedTables, evidence: Evidence, state: ConfidenceState, arm: int, q: float
) -> tuple[float, float]:
    radius = q * evidence.scales[arm]
    return evidence.means[arm] - radius, evidence.means[arm] + radius


def _foresee(tables: SortedTables, evidence: Evidence, state: ConfidenceState, arm: int) -> None:
    mean = evidence.means[arm]
    above, below = state.frames[arm, TAIL_OUT], state.frames[arm, HEAD_OUT]
    nearest = math.inf
    if above < math.inf:
        nearest = (above - mean) - _EARLY * (abs(above) + abs(mean))
    if below > -math.inf:
        nearest = min(nearest, (mean - below) - _EARLY * (abs(below) + abs(mean)))
    state.frames[arm, NEXT_Q] = nearest / evidence.scales[arm]


def _stays_in_frame(
    tables: SortedTables, evidence: Evidence, state: ConfidenceState, arm: int, q: float
) -> bool:
    frame, radius = state.latest, q * evidence.scales[arm]
    upper_end, lower_end = evidence.means[arm] + radius, evidence.means[arm] - radius
    return bool(
        frame[TAIL_IN] < upper_end <= frame[TAIL_OUT]
        and frame[HEAD_OUT] <= lower_end < frame[HEAD_IN]
    )


def _keep_latest(tables: SortedTables, state: ConfidenceState, arm: int) -> None:
    pass


for_families(frame_value, _frame_value, of_rates.frame_value)
for_families(mean_among_values, _mean_among_values, of_rates.mean_among_values)
for_families(interval_of, _interval_of, of_rates.interval_of)
for_families(foresee, _foresee, of_rates.foresee)
for_families(stays_in_frame, _stays_in_frame, of_rates.stays_in_frame)
for_families(keep_latest, _keep_latest, of_rates.keep_latest)
