"""Rules of identification: which arm to pull next, which arm seems best, and how certain that is.

Each rule is a compiled, deterministic function of the evidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from structuredbandits._compiled import by_type, inline
from structuredbandits._compiled.lazy_rows import LazyRows, fill_row
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.joint_set import JointTables, best_fit, fill_misfits
from structuredbandits.policies.structured.belief import exponentiate

_Function = TypeVar("_Function", bound=Callable[..., Any])
_HALVINGS = 60
# Terms below e^-40 do not change a sum of which one term is 1.
_NEGLIGIBLE = -40.0


class Verdict(NamedTuple):
    """The answer of a rule, given the rewards so far."""

    pull: int  # the arm to pull next
    answer: int  # the arm that seems best
    log_doubt: float  # log of the smallest delta for which it may stop now


class Track(NamedTuple):
    """Pull in the proportions that distinguish the estimated θ from its rivals soonest."""

    joint: JointTables
    optimal: np.ndarray  # (parameters, arms) bool
    weights: LazyRows  # (parameters, arms)


class RoundRobin(NamedTuple):
    """Pull in turn the arms whose means still vary over the plausible θ."""

    joint: JointTables
    optimal: np.ndarray  # (parameters, arms) bool
    log_delta: float
    tolerance: float


class LUCB(NamedTuple):
    """Pull the leader or its strongest challenger; does not use the structure."""

    log_delta: float
    sigma: float


class TrackAndStop(NamedTuple):
    """Pull in the proportions that are best for the empirical means; does not use the structure."""

    log_delta: float
    sigma: float


def examine(rule: Any, floats: np.ndarray, evidence: Evidence, t: int) -> Verdict:
    """The verdict of a rule after t rewards; for compiled code."""
    raise TypeError("examine is for compiled code")


_RULES: dict[type, Callable[..., Any]] = {}


def rule_for(kind: type) -> Callable[[_Function], _Function]:
    """Register what `examine` does for a class of rules."""

    def register(function: _Function) -> _Function:
        _RULES[kind] = function
        return function

    return register


@by_type(examine)
def _examine(rule: Any, floats: Any, evidence: Any, t: Any) -> Any:
    return _RULES.get(getattr(rule, "instance_class", type(None)))


# -- rules that know the structure -----------------------------------------------------------------


@inline
def _most_certain_arm(optimal: np.ndarray, misfits: np.ndarray, estimate: int) -> tuple[int, float]:
    """The best arm at the estimate, and by how much all θ that contradict it fit worse.

    Where several arms are best at the estimate, the one that is contradicted least.
    """
    n_parameters, n_arms = optimal.shape
    answer, largest = -1, -math.inf
    for arm in range(n_arms):
        if optimal[estimate, arm]:
            gap = math.inf
            for parameter in range(n_parameters):
                if not optimal[parameter, arm]:
                    gap = min(gap, misfits[parameter] - misfits[estimate])
            if gap > largest or answer < 0:
                answer, largest = arm, gap
    return answer, largest


@inline
def _log_threshold(misfits: np.ndarray, weights: np.ndarray, n_parameters: int) -> float:
    """By how much more than log(1/delta) a θ must fit worse than the estimate to be ruled out.

    The mean over Θ of the likelihood ratios against the true θ is a supermartingale that starts at
    1, so by Ville's inequality it ever reaches 1/delta with probability at most delta. Many θ that
    fit about as well as the estimate make the mean larger, and the threshold smaller. ``weights``
    is overwritten with the likelihood ratios against the estimate.
    """
    for parameter in range(n_parameters):
        weights[parameter] = -misfits[parameter]
    return math.log(n_parameters / exponentiate(weights, n_parameters, _NEGLIGIBLE))


@rule_for(Track)
def _track(rule: Any, floats: Any, evidence: Any, t: Any) -> Any:
    misfits, n_parameters = floats[0], rule.joint.lower.shape[1]
    fill_misfits(rule.joint, evidence, misfits)
    estimate = best_fit(misfits, n_parameters)
    answer, gap = _most_certain_arm(rule.optimal, misfits, estimate)
    if not rule.weights.filled[estimate]:
        fill_row(rule.weights.address, estimate)
        if not rule.weights.filled[estimate]:
            raise ArithmeticError("the best shares of pulls could not be computed")
    weights = rule.weights.values[estimate]
    pull, lag = 0, -math.inf
    for arm in range(weights.size):
        behind = (t + 1) * weights[arm] - evidence.counts[arm]
        if weights[arm] > 0.0 and behind > lag:
            pull, lag = arm, behind
    return Verdict(pull, answer, _log_threshold(misfits, floats[1], n_parameters) - gap)


@rule_for(RoundRobin)
def _round_robin(rule: Any, floats: Any, evidence: Any, t: Any) -> Any:
    misfits, n_parameters = floats[0], rule.joint.lower.shape[1]
    fill_misfits(rule.joint, evidence, misfits)
    estimate = best_fit(misfits, n_parameters)
    answer, gap = _most_certain_arm(rule.optimal, misfits, estimate)
    threshold = _log_threshold(misfits, floats[1], n_parameters)
    limit = misfits[estimate] + threshold - rule.log_delta
    pull, fewest = -1, math.inf
    for arm in range(rule.optimal.shape[1]):
        values = rule.joint.lower[arm]
        varies = False
        for parameter in range(n_parameters):
            if misfits[parameter] < limit:
                varies = varies or abs(values[parameter] - values[estimate]) > rule.tolerance
        if varies and evidence.counts[arm] < fewest:
            pull, fewest = arm, evidence.counts[arm]
    if pull < 0:  # all plausible θ agree on all means, so any arm will do
        pull = answer
    return Verdict(pull, answer, threshold - gap)


# -- rules that do not -----------------------------------------------------------------------------


@inline
def _unseen_arm(evidence: Evidence) -> int:
    for arm in range(evidence.counts.size):
        if evidence.counts[arm] == 0.0:
            return arm
    return -1


@inline
def _leader(evidence: Evidence) -> int:
    best = 0
    for arm in range(1, evidence.counts.size):
        if evidence.means[arm] > evidence.means[best]:
            best = arm
    return best


@rule_for(LUCB)
def _lucb(rule: Any, floats: Any, evidence: Any, t: Any) -> Any:
    unseen, n_arms = _unseen_arm(evidence), evidence.counts.size
    leader = _leader(evidence)
    if unseen >= 0:
        return Verdict(unseen, leader, 0.0)
    exploration = math.log(1.25 * n_arms) + 4.0 * math.log(t) - rule.log_delta
    challenger, highest = -1, -math.inf
    for arm in range(n_arms):
        bound = evidence.means[arm] + rule.sigma * math.sqrt(
            2.0 * exploration / evidence.counts[arm]
        )
        if arm != leader and bound > highest:
            challenger, highest = arm, bound
    lowest = evidence.means[leader]
    lowest -= rule.sigma * math.sqrt(2.0 * exploration / evidence.counts[leader])
    pull = leader if evidence.counts[leader] <= evidence.counts[challenger] else challenger
    return Verdict(pull, leader, -math.inf if lowest > highest else 0.0)


@inline
def _fill_shares(means: np.ndarray, leader: int, shares: np.ndarray) -> None:
    """The best proportions for Gaussian arms of these means, up to a factor.

    Relative to the leader arm a gets x_a = y / (Δ_a²/2 − y), with y such that Σ x_a² = 1.
    """
    n_arms = means.size
    smallest = math.inf
    for arm in range(n_arms):
        if arm != leader:
            smallest = min(smallest, 0.5 * (means[leader] - means[arm]) ** 2)
    low, high = 0.0, smallest
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        total = 0.0
        for arm in range(n_arms):
            if arm != leader:
                x = middle / (0.5 * (means[leader] - means[arm]) ** 2 - middle)
                total += x * x
        if total < 1.0:
            low = middle
        else:
            high = middle
    total = 0.0
    for arm in range(n_arms):
        shares[arm] = 1.0
        if arm != leader and smallest > 0.0:
            shares[arm] = low / (0.5 * (means[leader] - means[arm]) ** 2 - low)
        total += shares[arm]
    for arm in range(n_arms):
        shares[arm] /= total


@rule_for(TrackAndStop)
def _track_and_stop(rule: Any, floats: Any, evidence: Any, t: Any) -> Any:
    unseen, n_arms = _unseen_arm(evidence), evidence.counts.size
    leader = _leader(evidence)
    if unseen >= 0:
        return Verdict(unseen, leader, 0.0)
    shares, counts = floats[1], evidence.counts
    _fill_shares(evidence.means, leader, shares)
    evidence_against = math.inf
    fewest, pull = 0, 0
    for arm in range(n_arms):
        if arm != leader:
            gap = (evidence.means[leader] - evidence.means[arm]) / rule.sigma
            pooled = counts[leader] * counts[arm] / (counts[leader] + counts[arm])
            evidence_against = min(evidence_against, 0.5 * pooled * gap * gap)
        if counts[arm] < counts[fewest]:
            fewest = arm
        if (t + 1) * shares[arm] - counts[arm] > (t + 1) * shares[pull] - counts[pull]:
            pull = arm
    if counts[fewest] < math.sqrt(t) - 0.5 * n_arms:
        pull = fewest
    threshold = math.log(1.0 + math.log(t)) - rule.log_delta
    return Verdict(pull, leader, -math.inf if evidence_against > threshold else 0.0)
