"""`Analysis`: everything that a structure implies for one θ before any pull."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structuredbandits.errors import InvalidInput
from structuredbandits.structure import FloatArray, Structure, Theta, show_theta
from structuredbandits.theory import _bounds as bounds
from structuredbandits.theory._bounds import PullsBound, RegretBound, Situation, ThompsonBound
from structuredbandits.theory._competitive_arms import Competition, competition_at, count_within
from structuredbandits.theory._landscape import Landscape
from structuredbandits.theory.lower_bound import lower_bound_at


@dataclass(frozen=True, repr=False)
class Analysis:
    """What a structure implies for one θ; made by `analyze`.

    With bounds instead of means, `means` and `gaps` come from the middle of the bounds (or from
    the functions behind them), and everything else is conservative: it excludes less.
    """

    theta: Theta
    arms: tuple[str, ...]
    means: dict[str, float]
    """Arm → mean reward at θ, or mean cost."""
    optimal_arm: str
    """The best arm; the first of them on a tie."""
    optimal_arms: tuple[str, ...]
    competitive_arms: tuple[str, ...]
    """The best arms, and every arm that is best at some θ' which the best arm's rewards cannot
    distinguish from θ."""
    C: int
    """The number of competitive arms."""
    C_tilde: int
    """One plus the number of arms that are better than the best arm at some θ' at which the best
    arm has the same mean. It differs from C only in corner cases."""
    gaps: dict[str, float]
    """Arm → Δ: how much worse its mean is than the best."""
    epsilon: dict[str, float]
    """Arm → ε: the distance of the best arm's mean from its values where this arm is best. 0 for
    competitive arms, ∞ for arms that are never best."""
    lower_bound: float
    """L: the regret of every good policy grows at least like L · log T."""
    exploration_rates: dict[str, float]
    """Arm → η: the lower bound is attained with about η · log T pulls of the arm."""
    exact: bool
    """Whether C is exact."""
    note: str
    """Why C is exact, or in which direction it errs."""
    alpha: float
    """The α of UCB-C for which the upper bounds hold."""
    situation: Situation
    """The quantities that the theorems use."""
    horizon: int | None = None
    """The number of rounds for which bounds are printed."""
    C_epsilon: dict[float, int] = field(default_factory=dict)
    """ε → the number of arms that are best somewhere within ε of θ, for each requested ε."""
    structure_name: str | None = None

    @property
    def unique(self) -> bool:
        """Whether only one arm is the best."""
        return len(self.optimal_arms) == 1

    @property
    def bounded_regret_possible(self) -> bool:
        """Whether a good policy can have bounded regret."""
        return self.C_tilde == 1

    def pulls_bound(self, horizon: int) -> dict[str, PullsBound]:
        """Return bounds on the expected pulls by UCB-C of each arm that is not the best.

        Parameters
        ----------
        horizon
            The number of rounds, T.

        Returns
        -------
        dict
            Arm → the smaller of Theorem 2's bound (for a non-competitive arm) and Theorem 3's,
            limited to T; a bound of T is vacuous.
        """
        rounds = bounds.check_horizon(horizon)
        found = bounds.pulls_bounds(self.situation, rounds, self.alpha)
        return {self.arms[k]: bound for k, bound in found.items()}

    def regret_bound(self, horizon: int) -> RegretBound:
        """Return Theorem 1's bound on the expected regret of UCB-C: gaps times bounds on pulls.

        Parameters
        ----------
        horizon
            The number of rounds, T.
        """
        rounds = bounds.check_horizon(horizon)
        return bounds.regret_bound(self.situation, rounds, self.alpha)

    @property
    def fits_thompson_bound(self) -> bool:
        """Whether there are two arms with means from 0 to 1."""
        return len(self.arms) == 2 and all(0 <= mean <= 1 for mean in self.means.values())

    def thompson_bound(self, horizon: int) -> dict[str, ThompsonBound]:
        """Return the known part of the bound on the pulls of the worse arm by TS-C.

        It holds for two arms with rewards 0 and 1 and a Beta prior.

        Parameters
        ----------
        horizon
            The number of rounds, T.
        """
        rounds = bounds.check_horizon(horizon)
        if not self.fits_thompson_bound:
            means = self.means.values()
            raise InvalidInput(
                f"the bound for Thompson sampling needs two arms with means from 0 to 1, but there "
                f"are {len(self.arms)} with means from {min(means):g} to {max(means):g}; use "
                "pulls_bound."
            )
        return {
            arm: bounds.thompson_pulls(rounds, gap, self.epsilon[arm], self.alpha)
            for arm, gap in zip(self.arms, self.situation.least_gaps, strict=True)
            if arm not in self.optimal_arms and gap > 0
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; an infinite ε becomes None."""
        plain: dict[str, Any] = {
            "structure": self.structure_name,
            "theta": list(self.theta) if isinstance(self.theta, tuple) else self.theta,
            "optimal_arm": self.optimal_arm,
            "optimal_arms": list(self.optimal_arms),
            "unique": self.unique,
            "competitive_arms": list(self.competitive_arms),
            "C": self.C,
            "C_tilde": self.C_tilde,
            "C_epsilon": [{"epsilon": e, "C": c} for e, c in self.C_epsilon.items()],
            "means": dict(self.means),
            "gaps": dict(self.gaps),
            "epsilon": {k: v if math.isfinite(v) else None for k, v in self.epsilon.items()},
            "bounded_regret_possible": self.bounded_regret_possible,
            "lower_bound": self.lower_bound,
            "exploration_rates": dict(self.exploration_rates),
            "exact": self.exact,
            "note": self.note,
            "alpha": self.alpha,
        }
        if self.horizon is not None:
            pulls = self.pulls_bound(self.horizon)
            plain["horizon"] = self.horizon
            plain["pulls_bound"] = {arm: bound._asdict() for arm, bound in pulls.items()}
            plain["regret_bound"] = self.regret_bound(self.horizon)._asdict()
            if self.fits_thompson_bound:
                thompson = self.thompson_bound(self.horizon)
                plain["thompson_bound"] = {arm: b._asdict() for arm, b in thompson.items()}
        return plain

    @property
    def label(self) -> str:
        """θ as short text."""
        return show_theta(self.theta)

    def __repr__(self) -> str:
        return f"<Analysis of θ = {self.label}: best arm {self.optimal_arm!r}, C = {self.C}>"

    def __str__(self) -> str:
        from structuredbandits.theory.analysis_text import analysis_text

        return analysis_text(self)

    def _repr_html_(self) -> str:
        from structuredbandits.theory.analysis_text import analysis_html

        return analysis_html(self)


def report_at(
    landscape: Landscape,
    theta: object,
    *,
    alpha: float,
    horizon: int | None,
    radii: tuple[float, ...],
) -> Analysis:
    """Return the analysis of one θ, given the landscape of the structure."""
    structure = landscape.structure
    truth = landscape.truth(theta)
    found = competition_at(landscape, truth)
    bound = lower_bound_at(landscape, truth)
    epsilon = found.epsilon[0]
    rows = truth.means[np.newaxis], truth.low[np.newaxis], truth.high[np.newaxis]

    def named(values: FloatArray) -> dict[str, float]:
        return dict(zip(structure.arms, values.tolist(), strict=True))

    def chosen(flags: np.ndarray[Any, np.dtype[np.bool_]]) -> tuple[str, ...]:
        return tuple(arm for arm, flag in zip(structure.arms, flags, strict=True) if flag)

    return Analysis(
        theta=truth.theta,
        arms=structure.arms,
        means=named(structure.sign * truth.means),
        optimal_arm=chosen(truth.optimal)[0],
        optimal_arms=chosen(truth.optimal),
        competitive_arms=chosen(epsilon == 0),
        C=int(found.C[0]),
        C_tilde=int(found.C_tilde[0]),
        gaps=named(np.where(truth.optimal, 0.0, truth.best - truth.means)),
        epsilon=named(epsilon),
        lower_bound=bound.value,
        exploration_rates=named(bound.rates),
        exact=landscape.exact,
        note=landscape.note,
        alpha=alpha,
        horizon=horizon,
        C_epsilon={
            radius: int(count_within(found.epsilon, radius, landscape.tolerance)[0])
            for radius in radii
        },
        structure_name=structure.name,
        situation=situations(
            structure, found, *rows, known=structure.exact or structure.model is not None
        )[0],
    )


def situations(
    structure: Structure,
    competition: Competition,
    means: FloatArray,
    low: FloatArray,
    high: FloatArray,
    *,
    known: bool,
) -> list[Situation]:
    """Return the quantities that the theorems use, one entry per θ.

    Parameters
    ----------
    structure
        What is known.
    competition
        Which arms compete at these θ.
    means, low, high
        (θ, arms): the rewards there and bounds on them.
    known
        Whether `means` are the true means, not the middle of their bounds.
    """
    gaps = means.max(axis=1, keepdims=True) - means
    least = most = gaps
    if not known:
        first = competition.optimal.argmax(axis=1)
        best = np.take_along_axis(low, first[:, np.newaxis], axis=1)
        least = np.maximum(best - high, 0.0)
        most = np.maximum(high.max(axis=1, keepdims=True) - low, 0.0)
    optimal, sigma = competition.optimal, tuple(structure.sigma.tolist())
    least, most = np.where(optimal, 0.0, least), np.where(optimal, 0.0, most)
    return [
        Situation(tuple(flags), tuple(epsilon), tuple(smallest), tuple(largest), sigma)
        for flags, epsilon, smallest, largest in zip(
            optimal.tolist(),
            competition.epsilon.tolist(),
            least.tolist(),
            most.tolist(),
            strict=True,
        )
    ]
