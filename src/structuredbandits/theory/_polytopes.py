"""The landscape of linear and max-linear arms over a box, computed by small linear programs.

The set on which an arm is best is a union of polytopes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from structuredbandits.errors import StructuredBanditsError
from structuredbandits.structure import FloatArray, Structure
from structuredbandits.theory._landscape import Landscape, Rivals, Truth
from structuredbandits.theory._max_linear import LinearPart, MaxLinear, linear_parts_of
from structuredbandits.theory._spans import Spans

# The finest that the solver offers; its default would blur the borders of competitiveness.
_ACCURACY = 1e-10
_INFEASIBLE = 2
# A point found by descent may miss a polytope by this much, in units of the box.
_FEASIBLE = 1e-8
# Slopes closer than this, relative to the largest, are equal up to rounding.
_PARALLEL = 1e-11


class Polytope(NamedTuple):
    """{θ in [−1, 1]^dimension : limits · θ ≤ ends, equal · θ = values}."""

    limits: FloatArray
    ends: FloatArray
    equal: FloatArray
    values: FloatArray

    def within(self, equal: FloatArray, values: FloatArray) -> Polytope:
        """Return the part in which further products of θ have given values."""
        size = np.abs(equal).max(axis=1)
        size = np.where(size > 0, size, 1.0)
        return self._replace(
            equal=np.concatenate([self.equal, equal / size[:, np.newaxis]]),
            values=np.append(self.values, values / size),
        )

    def highest(self, direction: FloatArray) -> FloatArray | None:
        """Return the θ with the largest product with a direction; None if there is no θ."""
        from scipy.optimize import linprog

        done = linprog(
            -direction / (np.abs(direction).max() or 1.0),
            A_ub=self.limits if len(self.limits) else None,
            b_ub=self.ends if len(self.limits) else None,
            A_eq=self.equal if len(self.equal) else None,
            b_eq=self.values if len(self.equal) else None,
            bounds=(-1.0, 1.0),
            method="highs",
            options={"primal_feasibility_tolerance": _ACCURACY},
        )
        if done.status == _INFEASIBLE:
            return None
        if done.x is None:
            raise StructuredBanditsError(
                f"a linear program over Θ could not be solved ({done.message}); rescale the means."
            )
        return np.asarray(done.x)


class Polytopes(Landscape):
    """Arms that are linear in each of a few parts of a box, through an optional link."""

    def __init__(self, structure: Structure, arms: Sequence[MaxLinear], note: str) -> None:
        super().__init__(structure)
        self.exact, self.note = True, note
        self._arms = tuple(arms)
        axes = structure.parameters.axes
        self._middle = np.array([(axis[0] + axis[-1]) / 2 for axis in axes])
        self._half = np.array([(axis[-1] - axis[0]) / 2 for axis in axes])
        self._parts = [self._scaled(part) for part in linear_parts_of(self._arms)]
        # Linear programs are slow, and a table needs the same ones for many θ.
        self._polytope = cache(partial(_where_best, self._parts))
        self._ends, self._empty = cache(self._find_ends), cache(self._is_empty)
        self._reach, self._beaten = cache(self._find_reach), cache(self._find_beaten)

    def _scaled(self, part: LinearPart) -> LinearPart:
        """Return a part over [−1, 1]^dimension, with rewards instead of costs."""
        sign = self.structure.sign
        return LinearPart(
            sign * part.slopes * self._half,
            sign * (part.slopes @ self._middle + part.intercepts),
            part.limits * self._half,
            part.ends - part.limits @ self._middle,
        )

    def rewards(self, points: FloatArray) -> FloatArray:
        """Return the rewards (points, arms) at any points (points, dimension) of Θ."""
        sign = self.structure.sign
        return self.through_link(np.stack([sign * arm.at(points) for arm in self._arms], axis=1))

    def through_link(self, products: FloatArray) -> FloatArray:
        """Apply the increasing link to products of features and θ."""
        if self.structure.link is None:
            return products
        sign = self.structure.sign
        return sign * 0.5 * (1.0 + np.tanh(sign * 0.5 * products))

    def link_slope(self, products: FloatArray) -> FloatArray:
        """Return the derivative of `through_link`."""
        if self.structure.link is None:
            return np.ones_like(products)
        return np.asarray(0.25 * (1.0 - np.square(np.tanh(0.5 * products))))

    def reach(self, best: int, arm: int) -> Spans:
        """Return the values of one arm's mean over all θ at which another is optimal."""
        return self._reach(best, arm)

    def beaten(self, best: int, arm: int) -> Spans:
        """Return the values of one arm's mean where another is optimal and it is not."""
        return self._beaten(best, arm)

    def _find_ends(self, i: int, best: int, arm: int) -> FloatArray | None:
        """Return two θ of a part at which one arm is the best and another least and greatest."""
        polytope = self._polytope(i, arm)
        if self._empty(i, arm):
            return None
        slope = self._parts[i].slopes[best]
        low, high = polytope.highest(-slope), polytope.highest(slope)
        return None if low is None or high is None else np.stack([low, high])

    def _is_empty(self, i: int, arm: int) -> bool:
        polytope = self._polytope(i, arm)
        return polytope.highest(np.zeros(polytope.limits.shape[1])) is None

    def _find_reach(self, best: int, arm: int) -> Spans:
        found = [(part, self._ends(i, best, arm)) for i, part in enumerate(self._parts)]
        values = [
            self.through_link(part.slopes[best] @ ends.T + part.intercepts[best])
            for part, ends in found
            if ends is not None
        ]
        return Spans.closed([v.min() for v in values], [v.max() for v in values])

    def _find_beaten(self, best: int, arm: int) -> Spans:
        """Find the values at which an arm leads.

        The largest lead at a given value of the best arm's mean is a concave function of that
        value. So it is positive everywhere between the ends of the reach, if it is anywhere, and
        only the ends themselves need to be checked.
        """
        spans = Spans.empty()
        for i, part in enumerate(self._parts):
            ends = self._ends(i, best, arm)
            if ends is None:
                continue
            polytope, lead = self._polytope(i, arm), part.slopes[arm] - part.slopes[best]
            leads = [self._leads(part, best, arm, end) for end in ends]
            if not any(leads) and not self._leads(part, best, arm, polytope.highest(lead)):
                continue
            for k, end in enumerate(ends):
                if not leads[k]:  # another θ with the same value may still lead
                    face = polytope.within(part.slopes[[best]], part.slopes[[best]] @ end)
                    leads[k] = self._leads(part, best, arm, face.highest(lead))
            low, high = self.through_link(part.slopes[best] @ ends.T + part.intercepts[best])
            narrow = high - low <= 4 * self.tolerance
            open_ends = [np.array([not narrow and not flag]) for flag in leads]
            spans = spans.joined(Spans(np.array([low]), np.array([high]), *open_ends))
        return spans

    def _leads(self, part: LinearPart, best: int, arm: int, theta: FloatArray | None) -> bool:
        """Return whether an arm is better than another at a θ of a part."""
        if theta is None:
            return False
        means = self.through_link(part.slopes @ theta + part.intercepts)
        return bool(means[arm] > means[best] + self.tolerance)

    def rivals(self, truth: Truth) -> Rivals | None:
        """Return the rivals of a θ; None if there are none."""
        known = np.flatnonzero(truth.optimal)
        theta = (np.atleast_1d(np.array(truth.theta, dtype=float)) - self._middle) / self._half
        here = self._products_at(theta)
        found: list[_RivalPolytope] = []
        for i, part in enumerate(self._parts):
            for arm in np.flatnonzero(~truth.optimal).tolist():
                if self._empty(i, arm):
                    continue
                wanted = here[known] - part.intercepts[known]
                patch = self._polytope(i, arm).within(part.slopes[known], wanted)
                top = patch.highest(part.slopes[arm])
                if top is not None and self._leads(part, int(known[0]), arm, top):
                    found.append(_RivalPolytope(arm, part, patch, top))
        return _PolytopeRivals(self, truth, found) if found else None

    def _products_at(self, theta: FloatArray) -> FloatArray:
        """Return the rewards (arms,) before the link at a θ in [−1, 1]^dimension."""
        inside = [float(np.max(part.limits @ theta - part.ends, initial=0)) for part in self._parts]
        part = self._parts[int(np.argmin(inside))]
        return part.slopes @ theta + part.intercepts


class _RivalPolytope(NamedTuple):
    """A polytope of rivals at which one arm is the best."""

    arm: int
    part: LinearPart
    polytope: Polytope
    corner: FloatArray
    """One of its members, from which a search may start."""


class _PolytopeRivals(Rivals):
    """Rivals as polytopes; the minimal information in each is found by descent."""

    def __init__(self, landscape: Polytopes, truth: Truth, patches: list[_RivalPolytope]) -> None:
        self.arms = tuple(sorted({patch.arm for patch in patches}))
        self._landscape, self._truth, self._patches = landscape, truth, patches

    def hardest(self, rates: FloatArray) -> FloatArray:
        """Return the information about the rivals for which these pulls are least informative.

        Without a link the search minimises a convex function and finds its minimum. With a link it
        may miss the minimum; the lower bound is then smaller than possible, but still valid.
        """
        found = np.stack([self._nearest(patch, rates) for patch in self._patches])
        return found[np.argsort(found @ rates, kind="stable")]

    def _means(self, part: LinearPart, theta: FloatArray) -> FloatArray:
        return self._landscape.through_link(part.slopes @ theta + part.intercepts)

    def _information(self, part: LinearPart, theta: FloatArray) -> FloatArray:
        means = self._means(part, theta)
        return self._landscape.divergence.between(self._truth.means, means)

    def _gradient(self, part: LinearPart, theta: FloatArray, rates: FloatArray) -> FloatArray:
        means = self._means(part, theta)
        missing = means - self._truth.means
        steepness = self._landscape.link_slope(part.slopes @ theta + part.intercepts)
        weight = rates * missing * steepness / self._landscape.divergence.variance(means)
        return np.asarray(weight @ part.slopes)

    def _nearest(self, patch: _RivalPolytope, rates: FloatArray) -> FloatArray:
        from scipy.optimize import LinearConstraint, minimize

        part, polytope = patch.part, patch.polytope
        at_corner = self._information(part, patch.corner)
        scale = float(at_corner @ rates) or 1.0
        constraints = [LinearConstraint(polytope.equal, polytope.values, polytope.values)]
        if len(polytope.limits):
            constraints.append(LinearConstraint(polytope.limits, -np.inf, polytope.ends))

        def cost(theta: FloatArray, *_: object) -> float:
            return float(self._information(part, theta) @ rates) / scale

        def slope(theta: FloatArray, *_: object) -> FloatArray:
            return self._gradient(part, theta, rates) / scale

        done = minimize(
            cost,
            patch.corner,
            jac=slope,
            bounds=[(-1.0, 1.0)] * len(patch.corner),
            constraints=constraints,
            method="SLSQP",
            tol=1e-14,
        )
        theta = np.clip(np.asarray(done.x), -1.0, 1.0)
        excess = np.max(polytope.limits @ theta - polytope.ends, initial=0.0)
        missed = np.max(np.abs(polytope.equal @ theta - polytope.values), initial=0.0)
        found = self._information(part, theta)
        good = max(excess, missed) <= _FEASIBLE and found @ rates <= at_corner @ rates
        return found if good else at_corner


def _where_best(parts: Sequence[LinearPart], i: int, arm: int) -> Polytope:
    """Return the part of a part in which an arm is the best."""
    part = parts[i]
    others = np.arange(len(part.intercepts)) != arm
    limits = np.concatenate([part.limits, part.slopes[others] - part.slopes[arm]])
    ends = np.append(part.ends, part.intercepts[arm] - part.intercepts[others])
    size = float(np.abs(part.slopes).max()) or 1.0
    limits, ends = limits / size, ends / size
    # Two arms that differ by a constant give a row of zeros: it holds everywhere or nowhere.
    bites = np.abs(limits).max(axis=1) > _PARALLEL
    none = np.empty((0, limits.shape[1]))
    if (ends[~bites] < -_PARALLEL).any():
        return Polytope(np.zeros((1, limits.shape[1])), np.array([-1.0]), none, np.empty(0))
    return Polytope(limits[bites], ends[bites], none, np.empty(0))
