"""`AnalysisTable`: what a structure implies for every θ before any pull, one row per θ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from structuredbandits.errors import InvalidInput
from structuredbandits.structure import FloatArray, Structure
from structuredbandits.theory._analysis import Analysis, report_at, situations
from structuredbandits.theory._bounds import RegretBound, check_horizon, regret_bound
from structuredbandits.theory._competitive_arms import (
    Competition,
    competition_everywhere,
    count_within,
    landscape_of,
)
from structuredbandits.theory._landscape import Landscape, oriented
from structuredbandits.theory._regions import PlaneMap, Region, plane_map, regions_of
from structuredbandits.theory._spans import BoolArray
from structuredbandits.theory.lower_bound import lower_bound_at

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class AnalysisTable:
    """What a structure implies for every θ; made by `analyze`.

    Examples
    --------
    >>> from structuredbandits.theory import analyze
    >>> two = {"a": [(0, 1), (2, 3), (5, 3), (6, 5)], "b": [(0, 4), (2, 4), (5, 1), (6, 0)]}
    >>> table = analyze(Structure.from_breakpoints(two, sigma=2, points=7))
    >>> table.C.tolist()
    [1, 1, 1, 2, 2, 2, 1]
    >>> table.regions[1]
    Region(low=3.0, high=5.0, arms=('a',), C=2)
    """

    structure: Structure
    competition: Competition
    """Which arms compete at each θ."""
    alpha: float
    horizon: int | None
    radii: tuple[float, ...]
    """The ε for which C_ε is computed."""
    landscape: Landscape

    @property
    def C(self) -> NDArray[np.int64]:
        """(parameters,): the number of competitive arms."""
        return self.competition.C

    @property
    def C_tilde(self) -> NDArray[np.int64]:
        """(parameters,): one plus the number of arms that force logarithmic regret."""
        return self.competition.C_tilde

    @property
    def epsilon(self) -> FloatArray:
        """(parameters, arms): the degrees of non-competitiveness."""
        return self.competition.epsilon

    @property
    def competitive(self) -> BoolArray:
        """(parameters, arms): whether an arm is competitive."""
        flags: BoolArray = self.competition.epsilon == 0
        return flags

    @property
    def optimal(self) -> BoolArray:
        """(parameters, arms): whether an arm is the best, by the middle of any bounds."""
        return self.competition.optimal

    @property
    def unique(self) -> BoolArray:
        """(parameters,): whether only one arm is the best."""
        flags: BoolArray = self.optimal.sum(axis=1) == 1
        return flags

    @property
    def bounded_regret_possible(self) -> BoolArray:
        """(parameters,): whether a good policy can have bounded regret."""
        flags: BoolArray = self.C_tilde == 1
        return flags

    @cached_property
    def gaps(self) -> FloatArray:
        """(parameters, arms): how much worse each arm is than the best."""
        rewards = self.structure.sign * self.structure.means
        return np.where(self.optimal, 0.0, rewards.max(axis=1, keepdims=True) - rewards)

    @property
    def exact(self) -> bool:
        """Whether C is exact."""
        return self.landscape.exact

    @property
    def note(self) -> str:
        """Why C is exact, or in which direction it errs."""
        return self.landscape.note

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """The regions with equal best arms and equal C, for a Θ of numbers; otherwise empty."""
        parameters = self.structure.parameters
        if parameters.points is None or parameters.dimension != 1 or len(parameters) < 2:
            return ()
        return regions_of(self.landscape, self.competition)

    def map(self, points: int = 241) -> PlaneMap:
        """Return a map of a box in the plane, finer than the grid where the arms are known there.

        Parameters
        ----------
        points
            The number of points per side.
        """
        parameters = self.structure.parameters
        if len(parameters.axes) != 2:
            raise InvalidInput(
                f"a map needs a box in the plane, but this Θ has {parameters.dimension} dimensions "
                "or no sides; use regions or to_frame."
            )
        return plane_map(self.landscape, self.competition, points)

    def C_epsilon(self, radius: float) -> NDArray[np.int64]:
        """Return (parameters,): the number of arms that are best somewhere within ε of each θ."""
        return count_within(self.epsilon, radius, self.landscape.tolerance)

    def at(self, theta: object) -> Analysis:
        """Return everything about one θ, on or off the grid."""
        return report_at(
            self.landscape, theta, alpha=self.alpha, horizon=self.horizon, radii=self.radii
        )

    def lower_bounds(self) -> FloatArray:
        """Return (parameters,): L at each θ, by one linear program wherever L is not 0."""
        values = np.zeros(len(self))
        for i in np.flatnonzero(~self.bounded_regret_possible).tolist():
            truth = self.landscape.truth(self.structure.parameters[i])
            values[i] = lower_bound_at(self.landscape, truth).value
        return values

    def regret_bounds(self, horizon: int) -> list[RegretBound]:
        """Return Theorem 1's bound on the expected regret of UCB-C at each θ."""
        rounds = check_horizon(horizon)
        structure = self.structure
        rewards = structure.sign * structure.means
        bounds = oriented(structure)
        rows = situations(structure, self.competition, rewards, *bounds, known=structure.exact)
        return [regret_bound(row, rounds, self.alpha) for row in rows]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per θ.

        The columns are the best arm, whether it is unique, C, C̃, whether bounded regret is
        possible, the competitive arms as text, the smallest gap, the smallest ε of an arm
        that is not competitive, C_ε for each requested ε, and with a horizon the bound on the
        regret of UCB-C and whether it is vacuous.
        """
        from structuredbandits.theory.analysis_text import table_frame

        return table_frame(self)

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        # Solved programs cannot be pickled, and solving them again is fast.
        return _rebuild_table, (self.structure, self.alpha, self.horizon, self.radii)

    def __len__(self) -> int:
        return self.structure.n_parameters

    def __repr__(self) -> str:
        return f"<AnalysisTable of {self.structure!r}: C from {self.C.min()} to {self.C.max()}>"

    def __str__(self) -> str:
        from structuredbandits.theory.analysis_text import table_text

        return table_text(self)

    def _repr_html_(self) -> str:
        from structuredbandits.theory.analysis_text import table_html

        return table_html(self)


def _rebuild_table(
    structure: Structure, alpha: float, horizon: int | None, radii: tuple[float, ...]
) -> AnalysisTable:
    return table_of(landscape_of(structure), alpha=alpha, horizon=horizon, radii=radii)


def table_of(
    landscape: Landscape, *, alpha: float, horizon: int | None, radii: tuple[float, ...]
) -> AnalysisTable:
    """Return the table, given the landscape of the structure."""
    competition = competition_everywhere(landscape)
    for radius in radii:  # an invalid ε raises now, not when the table is shown
        count_within(competition.epsilon, radius, landscape.tolerance)
    for array in competition:
        array.setflags(write=False)
    return AnalysisTable(landscape.structure, competition, alpha, horizon, radii, landscape)
