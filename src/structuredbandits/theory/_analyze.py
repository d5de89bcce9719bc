"""`analyze` and `C_epsilon`: what a structure implies before any pull."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from structuredbandits.errors import InvalidInput
from structuredbandits.structure import Structure, as_number
from structuredbandits.theory._analysis import Analysis, report_at
from structuredbandits.theory._analysis_table import AnalysisTable, table_of
from structuredbandits.theory._bounds import check_alpha, check_horizon
from structuredbandits.theory._competitive_arms import competition_at, count_within, landscape_of


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
    """Compute what a structure implies before any pull: competitive arms and regret bounds.

    Parameters
    ----------
    structure
        The structure.
    theta
        The hidden parameter to assume, on or off the grid; None for all of Θ at once.
    horizon
        The number of rounds for which bounds are printed.
    alpha
        The α of UCB-C in the upper bounds.
    epsilon
        One ε or several, all above 0, for which C_ε is computed as well. On a Θ learned from data
        C itself is almost always 1, since no two learned means are equal.

    Returns
    -------
    Analysis or AnalysisTable
        For one θ, or for all θ with one row each.

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
    """Return the number of arms that are best at some θ' within ε of θ.

    Parameters
    ----------
    structure
        The structure.
    theta
        The hidden parameter to assume, on or off the grid.
    epsilon
        The largest distance between the best arm's means at θ' and at θ; above 0.

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
            raise InvalidInput(f"epsilon = {value!r} is not a finite number above 0; give one.")
        radii.append(float(number))
    return tuple(radii)
