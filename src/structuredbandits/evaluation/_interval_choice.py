"""Which interval an estimate gets: the normal one, one by betting, or none.

The normal interval of a weighted mean is right if many units (subjects, or decisions) determine it.
If few do, it is far too short: three decisions that all earned 1 have no spread at all. How many do
is measured by the degrees of freedom of the estimated variance. The limits below were chosen on
random logs other than those of the recorded benchmark.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from structuredbandits.errors import InvalidInput, InvalidReward
from structuredbandits.evaluation._betting import (
    Bets,
    bets_on_dr,
    bets_on_ips,
    bets_on_snips,
    betting_interval,
    cautious_interval,
)
from structuredbandits.structure.parameters import FloatArray

IntervalKind = Literal["normal", "betting", "bootstrap", "none"]

#: From this many degrees of freedom on, bounded rewards get the normal interval.
ENOUGH = 200.0
#: Below this many, rewards without known limits get no interval.
TOO_FEW = 4.0
# If the sum of weights is this many standard errors below its expectation, the policy's choices
# had hardly any chance in some decisions. With few units a smaller distance is suspicious.
_LOST, _LOST_BY_FEW = -4.0, -2.5


class Choice(NamedTuple):
    """An interval, and why it is this one."""

    low: float
    high: float
    kind: IntervalKind
    reason: str


class Influence(NamedTuple):
    """How much each unit determines a ratio of sums."""

    value: float
    standard_error: float
    freedom: float
    """Degrees of freedom of the squared standard error."""
    effective_units: float


class Units(NamedTuple):
    """Sums over the decisions of each independent unit: (units,)."""

    top: FloatArray
    """The estimate is Σ top / Σ bottom."""
    bottom: FloatArray
    weights: FloatArray
    sizes: FloatArray
    balanced: bool
    """Whether weights and sizes have the same expectation."""
    limits: tuple[float, float] | None
    """Of the rewards, if they have any."""
    gains: FloatArray | None = None
    """Sums of weight × reward, with rewards scaled to [0, 1]; None without limits."""
    bets: Bets | None = None


class Predictions(NamedTuple):
    """What a structure predicts of each decision, on the scale of the rewards: (decisions,)."""

    chosen: FloatArray
    """The reward of the arm that was shown."""
    policy: FloatArray
    """The expected reward of the policy in question."""


def sum_by_unit(
    method: str,
    rewards: FloatArray,
    weights: FloatArray,
    clusters: np.ndarray,
    limits: tuple[float, float] | None,
    predictions: Predictions | None = None,
    clipped: Predictions | None = None,
) -> Units:
    """Add up decisions by unit.

    Parameters
    ----------
    method
        "ips", "dr", or anything whose estimate is the weighted mean of the rewards.
    rewards, weights, clusters
        (decisions,).
    limits
        Of the rewards; None if there are none.
    predictions, clipped
        For "dr", and the same within the limits.
    """

    def total(terms: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(clusters, weights=terms), dtype=float)

    sizes, heavy, weighted = total(np.ones(len(rewards))), total(weights), total(weights * rewards)
    top, bottom = (weighted, sizes) if method == "ips" else (weighted, heavy)
    if method == "dr" and predictions is not None:
        top, bottom = total(predictions.policy + weights * (rewards - predictions.chosen)), sizes
    balanced = method in ("ips", "snips", "dr")
    if limits is None:
        return Units(top, bottom, heavy, sizes, balanced, limits)
    least, span = limits[0], limits[1] - limits[0]
    gains = (weighted - least * heavy) / span
    if method == "dr" and clipped is not None:
        chosen, policy = (clipped.chosen - least) / span, (clipped.policy - least) / span
        values = total(policy) + gains - total(weights * chosen)
        bets = bets_on_dr(values, total(weights * chosen), total(policy), heavy, sizes)
    elif method == "ips":
        bets = bets_on_ips(gains, heavy, sizes)
    else:
        bets = bets_on_snips(gains, heavy)
    return Units(top, bottom, heavy, sizes, balanced, limits, gains, bets)


def reward_limits(
    rewards: FloatArray, limits: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Return the limits of the rewards: those given, (0, 1) for 0/1 rewards, or None.

    Examples
    --------
    >>> reward_limits(np.array([1.0, 0.0]), None), reward_limits(np.array([1.0, 2.5]), None)
    ((0.0, 1.0), None)
    """
    if limits is None:
        return (0.0, 1.0) if bool(np.isin(rewards, (0.0, 1.0)).all()) else None
    try:
        low, high = (float(number) for number in limits)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidInput(f"limits = {limits!r} are not a pair (low, high); give (1, 5) or so.")
    outside = (rewards < low) | (rewards > high)
    if outside.any():
        raise InvalidReward(
            f"the log has a reward {rewards[int(np.argmax(outside))]:g}, which is not within the "
            f"limits {low:g} to {high:g}; correct the log or the limits."
        )
    return low, high


def influence_of(top: FloatArray, bottom: FloatArray, weights: FloatArray) -> Influence:
    """Return a ratio Σ top / Σ bottom over independent units, with its degrees of freedom.

    The squared standard error is a sum of squares of the units' influences ψ. Its degrees of
    freedom are 2 E² / Var (Satterthwaite), estimated from Σψ² and Σψ⁴: n for n normal values, few
    if few units are large. They are at most the effective number of units minus 1.

    Parameters
    ----------
    top, bottom, weights
        (units,): sums over the decisions of each unit.

    Examples
    --------
    >>> one = influence_of(np.array([1.0, 2.0, 6.0]), np.ones(3), np.ones(3))
    >>> round(one.value, 3), round(one.standard_error, 3), round(one.freedom, 3)
    (3.0, 1.528, 2.0)
    """
    number, total = len(top), float(bottom.sum())
    value = float(top.sum()) / total
    psi = top - value * bottom
    squares = np.square(psi - psi.mean())
    spread = float(squares.sum())
    error = math.sqrt(spread * number / (number - 1)) / total
    heavy = float(np.square(weights).sum())
    units = float(weights.sum()) ** 2 / heavy if heavy > 0.0 else 0.0
    excess = float(np.square(squares).sum()) - spread * spread / number
    freedom = 2.0 * spread * spread / excess if excess > 0.0 else math.inf
    if spread <= 1e-24 * float(np.square(top).sum()):
        freedom = 0.0  # units that are all equal do not show how much they vary
    return Influence(value, error, min(freedom, units - 1.0, number - 1.0), units)


def has_lost_weight(weights: FloatArray, sizes: FloatArray, freedom: float) -> bool:
    """Tell whether the weights sum to less than the decisions, beyond chance.

    Their expectations are equal. A log whose probabilities were nearly 0 for what the policy
    would have shown lacks the decisions with enormous weights that restore the balance.

    Examples
    --------
    >>> has_lost_weight(np.full(30, 0.5), np.ones(30), freedom=29.0)
    True
    """
    missing = weights - sizes
    spread = math.sqrt(float(np.square(missing).sum()))
    limit = _LOST if freedom >= ENOUGH else _LOST_BY_FEW
    return spread > 0.0 and float(missing.sum()) < limit * spread


def student_interval(influence: Influence, level: float) -> tuple[float, float]:
    """Student's interval with the degrees of freedom of the influences.

    The variance of few effective units is widened as a sample variance is: by k / (k − 1).
    """
    from scipy.special import stdtrit

    units = influence.effective_units
    error = influence.standard_error * math.sqrt(units / (units - 1.0))
    reach = float(stdtrit(influence.freedom, 0.5 + 0.5 * level)) * error
    return influence.value - reach, influence.value + reach


def choose_interval(units: Units, level: float, *, always_bet: bool = False) -> Choice:
    """Return the interval of an estimate.

    Bounded rewards get the normal interval if many units determine the estimate, and one by
    betting otherwise, which holds for any number of units. Rewards without limits get Student's
    interval with honest degrees of freedom, or none if there are too few of them.

    Examples
    --------
    >>> ones = np.ones(3)
    >>> three = sum_by_unit("snips", ones, ones, np.arange(3), limits=(0.0, 1.0))
    >>> low, high, kind, _ = choose_interval(three, level=0.95)
    >>> round(low, 2), high, kind
    (0.28, 1.0, 'betting')
    """
    influence = influence_of(units.top, units.bottom, units.weights)
    freedom = max(influence.freedom, 0.0)
    lost = units.balanced and has_lost_weight(units.weights, units.sizes, freedom)
    if units.bets is None or units.gains is None or units.limits is None:
        return _without_limits(influence, freedom, lost, level)
    if freedom >= ENOUGH and not lost and not always_bet:
        low, high = student_interval(influence, level)
        return Choice(low, high, "normal", _many(freedom))
    if lost:
        low, high = cautious_interval(units.gains, units.weights, units.sizes, level)
        why = "some choices of the policy had hardly any chance in the log"
    else:
        low, high = betting_interval(units.bets, level)
        few = "few " if freedom < ENOUGH else ""
        why = f"{few}units determine the estimate ({freedom:,.0f} degrees of freedom)"
    least, span = units.limits[0], units.limits[1] - units.limits[0]
    low, high = least + span * low, least + span * high
    # An estimate outside its interval would look like a mistake; a wider interval stays valid.
    return Choice(min(low, influence.value), max(high, influence.value), "betting", why)


def _without_limits(influence: Influence, freedom: float, lost: bool, level: float) -> Choice:
    if lost:
        why = (
            "some choices of the policy had hardly any chance in the log; log with a floor, or "
            "give the limits of the rewards"
        )
        return Choice(-math.inf, math.inf, "none", why)
    if freedom < TOO_FEW:
        why = (
            f"too few units determine the estimate ({freedom:.1f} degrees of freedom); log more "
            "decisions, or give the limits of the rewards"
        )
        return Choice(-math.inf, math.inf, "none", why)
    low, high = student_interval(influence, level)
    return Choice(low, high, "normal", _many(freedom))


def _many(freedom: float) -> str:
    return f"{freedom:,.0f} degrees of freedom"
