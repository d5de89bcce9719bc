"""The landscape of a finite Θ or of a grid: one row of means, or of bounds, per θ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from structuredbandits.structure import FloatArray, Structure
from structuredbandits.theory._landscape import Divergence, Landscape, Rivals, Truth, oriented
from structuredbandits.theory._spans import BoolArray, Spans


class Tabulated(Landscape):
    """Means or bounds at each θ of a list.

    With bounds every definition excludes less: an arm is optimal at θ if it may be optimal, and
    two θ look alike if their bounds overlap.
    """

    def __init__(self, structure: Structure, exact: bool, note: str) -> None:
        super().__init__(structure)
        self.exact, self.note = exact, note
        self._low, self._high = oriented(structure)

    def reach(self, best: int, arm: int) -> Spans:
        """Return the values of one arm's mean over all θ at which another is optimal."""
        return self._spans(best, self.structure.optimal[:, arm])

    def beaten(self, best: int, arm: int) -> Spans:
        """Return the values of one arm's mean where another is optimal and it is not."""
        optimal = self.structure.optimal
        if self.structure.exact:
            return self._spans(best, optimal[:, arm] & ~optimal[:, best])
        may_be_better = self._high[:, arm] > self._low[:, best] + self.tolerance
        return self._spans(best, optimal[:, arm] & may_be_better)

    def _spans(self, best: int, rows: BoolArray) -> Spans:
        return Spans.closed(self._low[rows, best], self._high[rows, best])

    def rivals(self, truth: Truth) -> Rivals | None:
        """Return the rivals of a θ; None if there are none."""
        known = np.flatnonzero(truth.optimal)
        alike = np.logical_and(
            self._low[:, known] <= truth.means[known] + self.tolerance,
            self._high[:, known] >= truth.means[known] - self.tolerance,
        ).all(axis=1)
        rows = np.flatnonzero(alike)
        better = (self._high[rows] > truth.best + self.tolerance) & ~truth.optimal
        rows, better = rows[better.any(axis=1)], better[better.any(axis=1)]
        if not rows.size:
            return None
        best = np.asarray((self.structure.optimal[rows] & better).any(axis=0))
        return _TabulatedRivals(
            self._low[rows], self._high[rows], better, truth, self.divergence, best
        )


class _TabulatedRivals(Rivals):
    """Rivals as rows of bounds; in each row some arm is better than the best at θ.

    The means may lie anywhere between the bounds, so the information of an arm is the divergence
    to the nearest allowed value; for the better arm, to the nearest value above the best at θ.
    """

    # This many of the hardest rivals are returned at once, which saves linear programs.
    _AT_ONCE = 16

    def __init__(
        self,
        low: FloatArray,
        high: FloatArray,
        better: BoolArray,
        truth: Truth,
        divergence: Divergence,
        best: BoolArray,
    ) -> None:
        self.arms = tuple(np.flatnonzero(best).tolist())
        self._any = divergence.between(truth.means, _nearest(truth.means, low, high))
        raised = np.maximum(low, truth.best)
        self._above = divergence.between(truth.means, _nearest(truth.means, raised, high))
        self._better = better

    def hardest(self, rates: FloatArray) -> FloatArray:
        """Return the information about the rivals for which these pulls are least informative."""
        total = (self._any @ rates)[:, np.newaxis] + (self._above - self._any) * rates
        total = np.where(self._better, total, np.inf)
        arm = total.argmin(axis=1)
        least = total[np.arange(len(arm)), arm]
        rows: NDArray[np.intp] = np.argsort(least, kind="stable")[: self._AT_ONCE]
        found = self._any[rows].copy()
        found[np.arange(len(rows)), arm[rows]] = self._above[rows, arm[rows]]
        return found


def _nearest(value: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the value in an interval that is nearest to a given one."""
    return np.minimum(np.maximum(value, low), high)
