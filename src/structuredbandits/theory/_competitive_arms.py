"""The competitive arms at each θ, and the degrees of non-competitiveness of the others.

An arm is competitive at θ if it is best at some θ' that the best arm's rewards cannot distinguish
from θ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structuredbandits.errors import InvalidInput
from structuredbandits.structure import FloatArray, Interval, Structure
from structuredbandits.theory._landscape import Landscape, Truth, oriented
from structuredbandits.theory._max_linear import linear_arms, recognise
from structuredbandits.theory._polytopes import Polytopes
from structuredbandits.theory._spans import BoolArray
from structuredbandits.theory._straight_lines import StraightLines, knots_of_grid, knots_of_pieces
from structuredbandits.theory._tabulated import Tabulated


class Competition(NamedTuple):
    """The competitive arms at each of some θ."""

    optimal: BoolArray
    """(θ, arms): the best arms."""
    epsilon: FloatArray
    """(θ, arms): the degree of non-competitiveness; 0 for competitive arms, ∞ for arms that are
    never best."""
    C: NDArray[np.int64]
    """(θ,): the number of competitive arms, the best ones included."""
    C_tilde: NDArray[np.int64]
    """(θ,): one plus the number of arms that force logarithmic regret."""

    def taken(self, rows: NDArray[np.intp]) -> Competition:
        """Return some rows in a given order."""
        return Competition(self.optimal[rows], self.epsilon[rows], self.C[rows], self.C_tilde[rows])


def landscape_of(structure: Structure) -> Landscape:
    """Return the most exact landscape that a structure allows."""
    if not isinstance(structure, Structure):
        raise InvalidInput(
            f"{structure!r} is not a Structure; load one with load_structure, or make one."
        )
    number = f"{structure.n_parameters:,}"
    if not structure.exact:
        note = (
            f"C and C̃ are upper bounds, from bounds on the means at {number} θ: the true means "
            "may exclude more arms."
        )
        return Tabulated(structure, exact=False, note=note)
    if not structure.parameters.continuous:
        note = f"C is exact: Θ has {number} members."
        if structure.counts is not None or structure.standard_errors is not None:
            note += (
                " But the means are learned and hardly any two are equal, so C is mostly 1; "
                "C_ε with ε > 0 says more, and published values for such data use one."
            )
        return Tabulated(structure, True, note)
    if isinstance(structure.parameters, Interval):
        return _on_interval(structure, number)
    return _on_box(structure, number)


def _on_interval(structure: Structure, number: str) -> Landscape:
    if structure.pieces is not None:
        knots = knots_of_pieces(structure.pieces, structure.sign)
        note = "C is exact: breakpoints and crossings of the reward functions are computed."
        return StraightLines(structure, knots, True, note)
    if structure.features is not None and structure.link is not None:
        return Polytopes(structure, linear_arms(structure.features), "C is exact: Θ is a line.")
    if structure.model is None or structure.features is not None:
        note = f"C is exact for the straight lines between the {number} points of the grid."
        return StraightLines(structure, knots_of_grid(structure), True, note)
    note = (
        f"C is approximate: the reward functions are interpolated between {number} grid points, so "
        "a finer grid is more accurate."
    )
    return StraightLines(structure, knots_of_grid(structure), False, note)


def _on_box(structure: Structure, number: str) -> Landscape:
    if structure.features is not None:
        note = "C is exact: the means are linear in θ, and linear programs are solved."
        return Polytopes(structure, linear_arms(structure.features), note)
    arms = recognise(structure.parameters, structure.means)
    if arms is not None:
        note = (
            f"C is exact if the means are maxima of linear functions everywhere, as they are at "
            f"all {number} grid points; linear programs are solved."
        )
        return Polytopes(structure, arms, note)
    note = (
        f"C is computed at the {number} grid points and may be larger between them; give Lipschitz "
        "constants for an upper bound."
    )
    return Tabulated(structure, exact=False, note=note)


def competition_at(landscape: Landscape, truth: Truth) -> Competition:
    """Return which arms compete at one θ, on or off the grid; arrays of one row."""
    rows = (truth.means, truth.low, truth.high)
    means, low, high = (row[np.newaxis] for row in rows)
    found = competition_of(landscape, means, low, high)
    _untie(landscape, found, 0, truth)
    return found


def competition_everywhere(landscape: Landscape) -> Competition:
    """Return which arms compete at every grid point or member of Θ."""
    structure = landscape.structure
    low, high = oriented(structure)
    found = competition_of(landscape, structure.sign * structure.means, low, high)
    for row in np.flatnonzero(found.optimal.sum(axis=1) > 1).tolist():
        _untie(landscape, found, row, landscape.truth(structure.parameters[row]))
    return found


def competition_of(
    landscape: Landscape, means: FloatArray, low: FloatArray, high: FloatArray
) -> Competition:
    """Return which arms compete where the rewards are known; C̃ still needs `_untie` on ties.

    Parameters
    ----------
    landscape
        The arms over Θ.
    means, low, high
        (θ, arms): the rewards at some θ and bounds on them.
    """
    optimal: BoolArray = means >= means.max(axis=1, keepdims=True) - landscape.tolerance
    epsilon = np.full(means.shape, np.inf)
    beaten = np.zeros(means.shape, dtype=bool)
    for best in range(means.shape[1]):
        rows = np.flatnonzero(optimal[:, best])
        for arm in range(means.shape[1]) if rows.size else ():
            query = low[rows, best], high[rows, best]
            distance = landscape.reach(best, arm).distance(*query)
            # On a tie any of the best arms may be pulled most, so an arm is excluded only if
            # each of them excludes it.
            epsilon[rows, arm] = np.minimum(epsilon[rows, arm], distance)
            if arm != best:
                beaten[rows, arm] |= landscape.beaten(best, arm).holds(*query, landscape.tolerance)
    epsilon[optimal | (epsilon <= landscape.tolerance)] = 0.0
    return Competition(optimal, epsilon, (epsilon == 0).sum(axis=1), 1 + beaten.sum(axis=1))


def _untie(landscape: Landscape, found: Competition, row: int, truth: Truth) -> None:
    """Correct C̃ where several arms are best: pulling any of them costs nothing and informs on θ."""
    if truth.optimal.sum() > 1:
        rivals = landscape.rivals(truth)
        found.C_tilde[row] = 1 if rivals is None else 1 + len(rivals.arms)


def count_within(epsilon: FloatArray, radius: float, tolerance: float) -> NDArray[np.int64]:
    """Return C_ε: the number of arms that are best at some θ' within a radius of θ.

    Parameters
    ----------
    epsilon
        (θ, arms): degrees of non-competitiveness.
    radius
        The distance between the best arm's means at θ' and at θ is below this.
    tolerance
        Numbers at most this far apart are equal.

    Examples
    --------
    >>> count_within(np.array([[0.0, 0.2, 1.5, np.inf]]), 1.5, 1e-9)
    array([2])
    """
    if not radius > 0:
        raise InvalidInput(
            f"epsilon = {radius:g} is not above 0; give one that is: C itself is the limit at 0."
        )
    near: BoolArray = (epsilon == 0) | (epsilon < radius - tolerance)
    return np.asarray(near.sum(axis=1))
