"""How well a run's rewards fit its structure, in numbers that a person can act on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from structuredbandits.confidence.refutation import LEVEL, least_evidence, level_of, refutation_test
from structuredbandits.confidence.sorted_tables import gains
from structuredbandits.policies.structured.hierarchical_model import reward_variance

if TYPE_CHECKING:
    from structuredbandits.policies.run import Run

_DOUBTFUL = 0.01


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
        Whether the evidence against every θ is at least 1/level: the test of `Robust`, with its
        level 0.01^alpha, or 0.01 for other policies. A true structure is ever called refuted with
        probability at most the level, however often it is asked; see `confidence.refutation`.
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
                f"The structure is refuted: even at θ = {self.best_fit}, {off}. Re-learn it, or "
                "use an unstructured policy."
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


def diagnose(run: Run) -> Diagnostics:
    """Compare a run's rewards with its structure.

    Examples
    --------
    >>> from structuredbandits.policies.classical.ucb import UCB
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], arms=["a", "b"], sigma=0.5)
    >>> policy = UCB().start(known, seed=7)
    >>> policy.update("a", 1.2)
    >>> diagnose(policy.run).verdict
    "The structure fits: θ = 0 explains the rewards (probability 0.69), and arm 'a' is
    0.4 standard deviations off at most."
    """
    empty_share = run.empty_rounds / max(run.decided, 1)
    squares = _squared_distances(run)
    if squares is None:
        return Diagnostics(0, None, 1.0, None, 0.0, run.empty_rounds, empty_share, False)
    from scipy.special import gammaincc

    totals = squares.sum(axis=1)
    best = int(np.argmin(totals))
    seen = int((run.evidence.counts > 0).sum())
    worst = int(np.argmax(squares[best]))
    alpha = run.algorithm.refutation_alpha
    test = refutation_test(run.structure, LEVEL if alpha is None else level_of(alpha))
    return Diagnostics(
        run.received,
        run.structure.label(best),
        float(gammaincc(0.5 * seen, 0.5 * totals[best])),
        run.structure.arms[worst],
        math.sqrt(float(squares[best, worst])),
        run.empty_rounds,
        empty_share,
        least_evidence(test, run.block) >= test.limit,
    )


def _squared_distances(run: Run) -> np.ndarray | None:
    """(parameters, arms): squared standard distances of the mean rewards, None before any."""
    structure, counts = run.structure, run.evidence.counts
    if not (counts > 0).any():
        return None
    bounds, errors = gains(structure), structure.standard_errors
    means = run.evidence.means
    distances = np.maximum(np.maximum(bounds[0] - means, means - bounds[-1]), 0.0)
    with np.errstate(divide="ignore"):
        sampling = reward_variance(structure) / counts
    variances = sampling + (0.0 if errors is None else errors**2)
    return np.where(counts > 0, distances**2 / np.where(counts > 0, variances, 1.0), 0.0)
