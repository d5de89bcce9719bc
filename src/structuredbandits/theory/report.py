"""What is known about one θ before any pull, gathered in one object.

This module knows results and how they follow from the rest of the room. It must not know how
they are drawn or typed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structuredbandits.errors import InvalidInput
from structuredbandits.structure import Theta
from structuredbandits.structure.theta import FloatArray, show_theta
from structuredbandits.theory import bounds
from structuredbandits.theory.bounds import PullsBound, RegretBound, ThompsonBound
from structuredbandits.theory.competitive import competition_at, count_within
from structuredbandits.theory.landscape import Landscape, Truth
from structuredbandits.theory.lower_bound import lower_bound_at


@dataclass(frozen=True, repr=False)
class Analysis:
    """What follows for one θ from the structure alone; `analyze` makes it.

    With bounds instead of means, `means` and `gaps` come from the middle of the bounds (or from
    the functions behind them), and everything else takes the side that rules out less.
    """

    theta: Theta
    arms: tuple[str, ...]
    means: dict[str, float]
    """Arm → mean reward at θ, or mean cost."""
    optimal_arm: str
    """The best arm; the first of them on a tie."""
    optimal_arms: tuple[str, ...]
    competitive_arms: tuple[str, ...]
    """The best arms, and all that are the best at some θ' which the best arm's rewards cannot
    tell from θ."""
    C: int
    """The number of competitive arms."""
    C_tilde: int
    """One more than the number of arms that are better than the best arm at some θ' that it
    cannot tell from θ at all. It differs from C only in corner cases."""
    gaps: dict[str, float]
    """Arm → Δ: how much worse its mean is than the best."""
    epsilon: dict[str, float]
    """Arm → ε: how far the best arm's mean is from its values where this arm is the best. 0 for
    competitive arms, ∞ for arms that are never the best."""
    lower_bound: float
    """L: the regret of every good policy grows at least like L · log T."""
    exploration_rates: dict[str, float]
    """Arm → η: it must be pulled about η · log T times to attain the lower bound."""
    exact: bool
    """Whether C is exact."""
    note: str
    """Why it is, or on which side of the truth it errs."""
    alpha: float
    """The α of UCB-C for which the upper bounds hold."""
    horizon: int | None = None
    """The number of rounds for which bounds are printed."""
    C_epsilon: dict[float, int] = field(default_factory=dict)
    """ε → the number of arms that are the best somewhere within ε of θ, for the ε asked for."""
    structure_name: str | None = None
    _sigma: tuple[float, ...] = field(default=())
    _least_gaps: tuple[float, ...] = field(default=())
    _most_gaps: tuple[float, ...] = field(default=())

    @property
    def unique(self) -> bool:
        """Whether only one arm is the best."""
        return len(self.optimal_arms) == 1

    @property
    def bounded_regret_possible(self) -> bool:
        """Whether a good policy can have a regret that does not grow for ever."""
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
            but at most T; then it is vacuous.
        """
        rounds = bounds.check_horizon(horizon)
        worse = [k for k, arm in enumerate(self.arms) if arm not in self.optimal_arms]
        least = min((self._least_gaps[k] for k in worse), default=0.0)
        found = {}
        for k in worse:
            arm, number = self.arms[k], len(self.arms)
            any_arm = bounds.competitive_pulls(
                rounds, number, self._least_gaps[k], self.alpha, self._sigma[k]
            )
            special = math.inf
            if self.epsilon[arm] > 0:
                special = bounds.non_competitive_pulls(
                    rounds, number, self.epsilon[arm], least, self.alpha, max(self._sigma)
                )
            pulls, theorem = min((special, "2"), (any_arm, "3"))
            if math.isinf(pulls):
                theorem = "2" if self.epsilon[arm] > 0 else "3"
            found[arm] = PullsBound(min(pulls, float(rounds)), pulls >= rounds, theorem)
        return found

    def regret_bound(self, horizon: int) -> RegretBound:
        """Return Theorem 1's bound on the expected regret of UCB-C: gaps times bounds on pulls.

        Parameters
        ----------
        horizon
            The number of rounds, T.
        """
        pulls = self.pulls_bound(horizon)
        worst = max(self._most_gaps) * horizon
        gaps = list(zip(self.arms, self._least_gaps, self._most_gaps, strict=True))
        # With bounds that overlap even the best arm is not known, and any regret is possible.
        unsure = any(arm in pulls and least <= 0 for arm, least, _ in gaps)
        total = sum(most * pulls[arm].pulls for arm, _, most in gaps if arm in pulls)
        vacuous = worst > 0 and (unsure or total >= worst)
        return RegretBound(worst if vacuous else total, vacuous)

    def thompson_bound(self, horizon: int) -> dict[str, ThompsonBound]:
        """Return what is known of the bound on the pulls of the worse arm by TS-C.

        It is for two arms with rewards 0 and 1 and a Beta prior.

        Parameters
        ----------
        horizon
            The number of rounds, T.
        """
        rounds = bounds.check_horizon(horizon)
        means = self.means.values()
        if len(self.arms) != 2 or min(means) < 0 or max(means) > 1:
            raise InvalidInput(
                f"the bound for Thompson sampling is for two arms with means from 0 to 1, and here "
                f"are {len(self.arms)} with means from {min(means):g} to {max(means):g}; use "
                "pulls_bound."
            )
        return {
            arm: bounds.thompson_pulls(rounds, gap, self.epsilon[arm], self.alpha)
            for arm, gap in zip(self.arms, self._least_gaps, strict=True)
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
        return plain

    @property
    def label(self) -> str:
        """θ as short text."""
        return show_theta(self.theta)

    def __repr__(self) -> str:
        return f"<Analysis of θ = {self.label}: best arm {self.optimal_arm!r}, C = {self.C}>"

    def __str__(self) -> str:
        from structuredbandits.theory.display import analysis_text

        return analysis_text(self)

    def _repr_html_(self) -> str:
        from structuredbandits.theory.display import analysis_html

        return analysis_html(self)


def report_at(
    landscape: Landscape,
    theta: object,
    *,
    alpha: float,
    horizon: int | None,
    radii: tuple[float, ...],
) -> Analysis:
    """Return the analysis of one θ from a description of the arms that was made before."""
    structure = landscape.structure
    truth = landscape.truth(theta)
    found = competition_at(landscape, truth)
    bound = lower_bound_at(landscape, truth)
    epsilon = found.epsilon[0]
    least, most = _gap_bounds(landscape, truth)

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
        _sigma=tuple(structure.sigma.tolist()),
        _least_gaps=tuple(least.tolist()),
        _most_gaps=tuple(most.tolist()),
    )


def _gap_bounds(landscape: Landscape, truth: Truth) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest gaps (arms,) that are possible at θ."""
    structure = landscape.structure
    if structure.exact or structure.model is not None:
        gaps = np.where(truth.optimal, 0.0, truth.best - truth.means)
        return gaps, gaps
    first = int(np.argmax(truth.optimal))
    least = np.maximum(truth.low[first] - truth.high, 0.0)
    most = np.maximum(truth.high.max() - truth.low, 0.0)
    return np.where(truth.optimal, 0.0, least), np.where(truth.optimal, 0.0, most)
