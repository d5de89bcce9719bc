"""How well a run's rewards fit its structure, in numbers that a person can act on.

This room compares rewards with what each θ says. It must not know how arms are chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from structuredbandits.confidence.tables import gains
from structuredbandits.policies.robust import Robust
from structuredbandits.policies.structured.hierarchical_model import reward_variance

if TYPE_CHECKING:
    from structuredbandits.policies.policy import Policy

_DOUBTFUL = 0.01
_REFUTING_ALPHA = 1.0


@dataclass(frozen=True)
class Diagnostics:
    """How plausible a structure still is, after the rewards of one run.

    Attributes
    ----------
    rewards
        Rewards received.
    best_fit
        The θ (as text) that explains them best, None before the first reward.
    surprise
        Probability that rewards at that θ would fit as badly as these or worse (chi-square over the
        arms seen, with the noise of rewards and the map's own standard errors); 1 before the first
        reward. It is cautious: the best θ was chosen to fit.
    worst_arm, worst_distance
        The arm that fits worst at that θ, and by how many standard deviations.
    empty_rounds, empty_share
        Decisions made while the confidence set was empty, and their share of all decisions; 0 for
        policies without one.
    refuted
        Whether at every θ some arm is more than √(2 log 2K + 2 alpha log t) standard deviations
        off: the test of `Robust`, with its alpha, or alpha = 1 for other policies.
    """

    rewards: int
    best_fit: str | None
    surprise: float
    worst_arm: str | None
    worst_distance: float
    empty_rounds: int
    empty_share: float
    refuted: bool

    @property
    def verdict(self) -> str:
        """One sentence for a person."""
        if self.best_fit is None:
            return "No reward has come yet, so the structure is untested."
        off = f"arm {self.worst_arm!r} is {self.worst_distance:.1f} standard deviations off"
        if self.refuted:
            return (
                f"The structure is refuted: even at θ = {self.best_fit}, {off}. Learn it anew, or "
                "serve an unstructured policy."
            )
        if self.surprise < _DOUBTFUL or self.empty_share > 0.5:
            return (
                f"The structure is doubtful: rewards that fit as badly have probability "
                f"{self.surprise:.2g} at the best θ = {self.best_fit}, where {off}."
            )
        return (
            f"The structure fits: θ = {self.best_fit} explains the rewards "
            f"(probability {self.surprise:.2g}), and {off} at most."
        )


def diagnose(policy: Policy) -> Diagnostics:
    """Compare a run's rewards with its structure.

    Examples
    --------
    >>> from structuredbandits.policies.classical.ucb import UCB
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], arms=["a", "b"], sigma=0.5)
    >>> policy = UCB().start(known, seed=7)
    >>> policy.update("a", 1.2)
    >>> diagnose(policy).verdict
    "The structure fits: θ = 0 explains the rewards (probability 0.69), and arm 'a' is
    0.4 standard deviations off at most."
    """
    empty_share = policy.empty_rounds / max(policy.decided, 1)
    squares = _squared_distances(policy)
    if squares is None:
        return Diagnostics(0, None, 1.0, None, 0.0, policy.empty_rounds, empty_share, False)
    from scipy.special import gammaincc

    totals = squares.sum(axis=1)
    best = int(np.argmin(totals))
    seen = int((policy.block[0] > 0).sum())
    worst = int(np.argmax(squares[best]))
    algorithm = policy.algorithm
    alpha = algorithm.alpha if isinstance(algorithm, Robust) else _REFUTING_ALPHA
    limit = 2.0 * (math.log(2.0 * squares.shape[1]) + alpha * math.log(max(policy.received, 2)))
    return Diagnostics(
        policy.received,
        policy.structure.label(best),
        float(gammaincc(0.5 * seen, 0.5 * totals[best])),
        policy.structure.arms[worst],
        math.sqrt(float(squares[best, worst])),
        policy.empty_rounds,
        empty_share,
        bool((squares.max(axis=1) >= limit).all()),
    )


def _squared_distances(policy: Policy) -> np.ndarray | None:
    """(parameters, arms): squared standard distances of the mean rewards, None before any."""
    structure, counts = policy.structure, policy.block[0]
    if not (counts > 0).any():
        return None
    bounds, errors = gains(structure), structure.standard_errors
    means = policy.block[3]
    distances = np.maximum(np.maximum(bounds[0] - means, means - bounds[-1]), 0.0)
    with np.errstate(divide="ignore"):
        sampling = reward_variance(structure) / counts
    variances = sampling + (0.0 if errors is None else errors**2)
    return np.where(counts > 0, distances**2 / np.where(counts > 0, variances, 1.0), 0.0)
