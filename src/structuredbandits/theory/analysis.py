"""The questions that a user asks before any pull.

This module knows how to read a question. It must not know how the answers are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from structuredbandits.errors import InvalidInput
from structuredbandits.structure import Structure
from structuredbandits.structure.theta import as_number
from structuredbandits.theory.bounds import check_alpha, check_horizon
from structuredbandits.theory.competitive import competition_at, count_within, landscape_of
from structuredbandits.theory.report import Analysis, report_at
from structuredbandits.theory.table import AnalysisTable, table_of


@overload
def analyze(
    structure: Structure,
    theta: None = None,
    *,
    horizon: int | None = None,
    alpha: float = 3.0,
    epsilon: float | Sequence[float] | None = None,
) -> AnalysisTable: ...
@overload
def analyze(
    structure: Structure,
    theta: object,
    *,
    horizon: int | None = None,
    alpha: float = 3.0,
    epsilon: float | Sequence[float] | None = None,
) -> Analysis: ...
def analyze(
    structure: Structure,
    theta: object | None = None,
    *,
    horizon: int | None = None,
    alpha: float = 3.0,
    epsilon: float | Sequence[float] | None = None,
) -> Analysis | AnalysisTable:
    """Say what a structure allows before any pull: which arms compete, and what regret to expect.

    Parameters
    ----------
    structure
        What is known.
    theta
        The hidden parameter to assume, on or off the grid; None for all of Θ at once.
    horizon
        The number of rounds for which bounds are printed.
    alpha
        The α of UCB-C for which the upper bounds are meant.
    epsilon
        One ε or several, all above 0: C_ε is counted for them, too. On a Θ learned from data C
        itself is almost always 1, since no two learned means are equal.

    Returns
    -------
    Analysis or AnalysisTable
        For one θ, or with a row for each.

    Examples
    --------
    >>> structure = Structure.from_breakpoints(
    ...     {
    ...         "1": [(0, 6.5), (2, 5), (6, 2)],
    ...         "2": [(0, 2), (2, 5), (4, 5), (6, 8)],
    ...         "3": [(0, 1), (3, 2), (5, 6.5), (6, 9)],
    ...     },
    ...     sigma=2.0,
    ... )
    >>> report = analyze(structure, theta=3)
    >>> report.optimal_arm, report.competitive_arms, report.C, report.epsilon["3"]
    ('2', ('1', '2'), 2, 1.5)
    >>> report.bounded_regret_possible, report.lower_bound
    (True, 0.0)
    >>> [(region.low, region.high, region.C) for region in analyze(structure).regions][:2]
    [(0.0, 2.0, 1), (2.0, 4.0, 2)]
    """
    landscape = landscape_of(structure)
    rounds = None if horizon is None else check_horizon(horizon)
    radii = _read_radii(epsilon)
    if theta is None:
        return table_of(landscape, alpha=check_alpha(alpha), horizon=rounds, radii=radii)
    return report_at(landscape, theta, alpha=check_alpha(alpha), horizon=rounds, radii=radii)


def C_epsilon(structure: Structure, theta: object, epsilon: float) -> int:
    """Return how many arms are the best at some θ' within ε of θ.

    Parameters
    ----------
    structure
        What is known.
    theta
        The hidden parameter to assume, on or off the grid.
    epsilon
        How far the best arm's mean at θ' may be from that at θ; above 0.

    Examples
    --------
    >>> learned = Structure.from_table([[4.0, 3.0], [3.9, 4.1]], sigma=2.0)
    >>> C_epsilon(learned, 0, 0.05), C_epsilon(learned, 0, 0.2)
    (1, 2)
    """
    landscape = landscape_of(structure)
    found = competition_at(landscape, landscape.truth(theta))
    return int(count_within(found.epsilon, _read_radii(epsilon)[0], landscape.tolerance)[0])


def _read_radii(epsilon: object) -> tuple[float, ...]:
    if epsilon is None:
        return ()
    many = isinstance(epsilon, Sequence) and not isinstance(epsilon, str)
    values: Any = epsilon if many else [epsilon]
    radii = []
    for value in values:
        number = as_number(value)
        if number is None or not number > 0:
            raise InvalidInput(f"epsilon = {value!r} is not a finite number above 0.")
        radii.append(float(number))
    return tuple(radii)
