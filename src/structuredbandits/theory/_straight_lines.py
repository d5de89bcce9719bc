"""The landscape of arms over an interval that are linear between knots and may jump at them.

Crossings are computed, not searched for on a grid, and at a jump both one-sided limits count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structuredbandits.structure import FloatArray, PiecewiseLinear, Structure
from structuredbandits.theory._landscape import Divergence, Landscape, Rivals, Truth
from structuredbandits.theory._spans import BoolArray, Spans

# Halvings of a segment until only rounding is left.
_HALVINGS = 50


class Knots(NamedTuple):
    """The ends of the linear pieces, and the arms' rewards there."""

    theta: FloatArray
    """(knots,), increasing."""
    left: FloatArray
    """(knots, arms): the limits from the left."""
    right: FloatArray
    """(knots, arms): the values, which are the limits from the right."""


class StraightLines(Landscape):
    """Straight lines between knots; on each line the best arm is constant."""

    def __init__(self, structure: Structure, knots: Knots, exact: bool, note: str) -> None:
        super().__init__(structure)
        self.exact, self.note = exact, note
        self.knots = _with_crossings(knots, self.tolerance)
        self.start, self.end = self.knots.right[:-1], self.knots.left[1:]
        self._on_piece = self._optimal((self.start + self.end) / 2)
        self._at_left = self._optimal(self.knots.left)
        self._at_right = self._optimal(self.knots.right)

    def _optimal(self, means: FloatArray) -> BoolArray:
        flags: BoolArray = means >= means.max(axis=1, keepdims=True) - self.tolerance
        return flags

    @property
    def optimal_on_pieces(self) -> BoolArray:
        """(pieces, arms): which arms are optimal between two neighbouring knots."""
        return self._on_piece

    def reach(self, best: int, arm: int) -> Spans:
        """Return the values of one arm's mean over all θ at which another is optimal."""
        pieces = self._on_piece[:, arm]
        ends = np.stack([self.start[pieces, best], self.end[pieces, best]])
        spans = Spans.closed(ends.min(axis=0), ends.max(axis=0))
        for limits, flags in (
            (self.knots.left, self._at_left),
            (self.knots.right, self._at_right),
        ):
            values = limits[flags[:, arm], best]
            spans = spans.joined(Spans.closed(values, values))
        return spans

    def beaten(self, best: int, arm: int) -> Spans:
        """Return the values of one arm's mean where another is optimal and it is not."""
        pieces = self._on_piece[:, arm] & ~self._on_piece[:, best]
        ends = np.stack([self.start[pieces, best], self.end[pieces, best]])
        low, high = ends.min(axis=0), ends.max(axis=0)
        # A rising or falling line does not take the values of its ends between them.
        sloped = high - low > 4 * self.tolerance
        points = self.knots.right[self._at_right[:, arm] & ~self._at_right[:, best], best]
        return Spans(low, high, sloped, sloped).joined(Spans.closed(points, points))

    def rivals(self, truth: Truth) -> Rivals | None:
        """Return the rivals of a θ; None if there are none."""
        known = np.flatnonzero(truth.optimal)
        wanted, near = truth.means[known], 2 * self.tolerance
        start, change = self.start[:, known], (self.end - self.start)[:, known]
        flat = (np.abs(change) <= near).all(axis=1)
        alike = (np.abs(start - wanted) <= near).all(axis=1)
        whole = flat & alike & ~self._on_piece[:, known].any(axis=1)
        # On a piece where some best arm is not flat, at most one point can look like θ.
        steepest = np.abs(change).argmax(axis=1)
        each = np.arange(len(steepest))
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (wanted[steepest] - start[each, steepest]) / change[each, steepest]
        single = np.flatnonzero(~flat & (share > 0) & (share < 1))
        inner = self.start[single] + share[single, np.newaxis] * (self.end - self.start)[single]
        points = np.concatenate([inner, self.knots.right])
        fits = (np.abs(points[:, known] - wanted) <= near).all(axis=1)
        points = points[fits & (points.max(axis=1) > truth.best + self.tolerance)]
        start = np.concatenate([self.start[whole], points])
        if not len(start):
            return None
        flags = np.concatenate([self._on_piece[whole], self._optimal(points)])
        best = np.asarray(flags.any(axis=0))
        end = np.concatenate([self.end[whole], points])
        return _SegmentRivals(start, end, truth, self.divergence, best)


class _SegmentRivals(Rivals):
    """Rivals as straight segments, or points, in the space of mean rewards."""

    _AT_ONCE = 16

    def __init__(
        self,
        start: FloatArray,
        end: FloatArray,
        truth: Truth,
        divergence: Divergence,
        best: BoolArray,
    ) -> None:
        self.arms = tuple(np.flatnonzero(best & ~truth.optimal).tolist())
        self._start, self._change = start, end - start
        self._means, self._divergence = truth.means, divergence

    def hardest(self, rates: FloatArray) -> FloatArray:
        """Return the information about the rivals for which these pulls are least informative.

        Along a segment the information is convex; for Gaussian rewards it is a parabola, whose
        minimum is known in closed form.
        """
        shares = self._shares_of_parabola(rates)
        if not self._divergence.gaussian:
            shares = self._shares_by_bisection(rates)
        nearest = self._start + shares[:, np.newaxis] * self._change
        found = self._divergence.between(self._means, nearest)
        return found[np.argsort(found @ rates, kind="stable")[: self._AT_ONCE]]

    def _shares_of_parabola(self, rates: FloatArray) -> FloatArray:
        """Return where on each segment the information of Gaussian rewards is least."""
        weight = rates / self._divergence.variance(self._means)
        curvature = np.square(self._change) @ weight
        slope = (self._change * (self._means - self._start)) @ weight
        share = np.divide(slope, curvature, out=np.zeros_like(slope), where=curvature > 0)
        return np.clip(share, 0.0, 1.0)

    def _shares_by_bisection(self, rates: FloatArray) -> FloatArray:
        """Return where on each segment the information is least, from the sign of its slope."""
        low, high = np.zeros(len(self._start)), np.ones(len(self._start))
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            means = self._start + middle[:, np.newaxis] * self._change
            slopes = (means - self._means) / self._divergence.variance(means)
            rises = (slopes * self._change) @ rates > 0
            low, high = np.where(rises, low, middle), np.where(rises, middle, high)
        return 0.5 * (low + high)


def knots_of_pieces(pieces: Sequence[PiecewiseLinear], sign: float) -> Knots:
    """Return the knots of exact piecewise-linear functions, costs with a minus sign."""
    theta = np.unique(np.concatenate([piece.theta for piece in pieces]))
    left = np.stack([piece.left_limit(theta) for piece in pieces], axis=1)
    right = np.stack([piece(theta) for piece in pieces], axis=1)
    return Knots(theta, sign * left, sign * right)


def knots_of_grid(structure: Structure) -> Knots:
    """Return grid points as knots: the means between them are interpolated."""
    means = structure.sign * structure.means
    return Knots(structure.parameters.axes[0], means, means)


def _with_crossings(knots: Knots, tolerance: float) -> Knots:
    """Insert a knot wherever two arms cross and are the best."""
    start, end = knots.right[:-1], knots.left[1:]
    found_piece, found_share = [], []
    for arm in range(start.shape[1] - 1):
        before = start[:, arm + 1 :] - start[:, [arm]]
        after = end[:, arm + 1 :] - end[:, [arm]]
        piece, other = np.nonzero(before * after < 0)
        share = before[piece, other] / (before[piece, other] - after[piece, other])
        means = start[piece] + share[:, np.newaxis] * (end - start)[piece]
        top = means[:, arm] >= means.max(axis=1, initial=-np.inf) - tolerance
        found_piece.append(piece[top])
        found_share.append(share[top])
    piece, share = np.concatenate(found_piece), np.concatenate(found_share)
    theta = knots.theta[piece] + share * np.diff(knots.theta)[piece]
    theta, first = np.unique(theta, return_index=True)
    piece, share = piece[first], share[first]
    # Rounding may put a crossing onto a knot, which then stands for both.
    new = (theta > knots.theta[piece]) & (theta < knots.theta[piece + 1])
    theta, piece, share = theta[new], piece[new], share[new]
    means = start[piece] + share[:, np.newaxis] * (end - start)[piece]
    order = np.argsort(np.concatenate([knots.theta, theta]), kind="stable")
    return Knots(
        np.concatenate([knots.theta, theta])[order],
        np.concatenate([knots.left, means])[order],
        np.concatenate([knots.right, means])[order],
    )
