"""Comparisons of regret, each with the statistic that decides it.

All policies face identical simulated rewards in a run, so differences are paired by run. A claim
of an order holds if the 95 % interval of the mean difference lies on its side; "no worse" holds
unless the interval lies wholly on the other side. If one claim is about several θ, the intervals
are simultaneous 95 % intervals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from structuredbandits.experiments.experiment import HERE, PAPER, Claim
from structuredbandits.simulation import Results
from structuredbandits.structure import show_theta

__all__ = [
    "HERE",
    "PAPER",
    "at",
    "difference",
    "no_worse",
    "settles",
    "shown",
    "smaller",
    "smallest",
]


def difference(
    results: Results,
    first: str,
    second: str,
    theta: int = 0,
    together: int = 1,
    others: Results | None = None,
) -> tuple[float, float]:
    """Return the mean difference of final regrets, first minus second, and half its 95 % interval.

    Parameters
    ----------
    results
        The results with the first policy.
    first, second
        The names of the policies.
    theta
        The position of θ.
    together
        The number of simultaneous intervals (Bonferroni).
    others
        Results with the second policy on the same rewards, if it is not in `results`.
    """
    beside = results if others is None else others
    gaps = (
        results.regret[results.policies.index(first), theta, :, -1]
        - beside.regret[beside.policies.index(second), theta, :, -1]
    )
    width = NormalDist().inv_cdf(1.0 - 0.025 / together)
    half = width * gaps.std(ddof=1) / math.sqrt(gaps.size) if gaps.size > 1 else math.inf
    return float(gaps.mean()), float(half)


def shown(mean: float, half: float) -> str:
    """Return a number with its error, in as many digits as are significant.

    Examples
    --------
    >>> shown(-216.43, 10.2), shown(0.1234, 0.056), shown(-1380.7, 121.0)
    ('−216 ± 10', '0.123 ± 0.056', '−1,381 ± 121')
    """
    digits = 3 if not 0 < half < math.inf else min(6, max(0, 1 - math.floor(math.log10(half))))
    return f"{mean:,.{digits}f} ± {half:,.{digits}f}".replace("-", "−")


def at(results: Results, theta: int) -> str:
    """Return the θ of a comparison in words."""
    found = results.thetas[theta]
    parts = found if isinstance(found, tuple) else (found,)
    if any(isinstance(part, str) for part in parts):
        return f"for {show_theta(found)}"
    return f"at θ* = {show_theta(found)}"


def _statistic(first: str, second: str, mean: float, half: float) -> str:
    return f"{first} − {second} = {shown(mean, half)}"


def smaller(
    results: Results,
    first: str,
    second: str,
    theta: int = 0,
    text: str = "",
    of: str = PAPER,
    others: Results | None = None,
) -> Claim:
    """Claim that the first policy's regret is smaller than the second's."""
    mean, half = difference(results, first, second, theta, others=others)
    said = text or f"{first} has smaller regret than {second} {at(results, theta)}"
    close = f", not significant in {results.runs} runs" if abs(mean) <= half else ""
    return Claim(said, mean + half < 0, _statistic(first, second, mean, half) + close, of)


def no_worse(
    results: Results,
    first: str,
    second: str,
    theta: int = 0,
    text: str = "",
    together: int = 1,
    of: str = PAPER,
) -> Claim:
    """Claim that the first policy's regret is not larger than the second's."""
    mean, half = difference(results, first, second, theta, together)
    said = text or f"{first} is no worse than {second} {at(results, theta)}"
    return Claim(said, mean - half <= 0, _statistic(first, second, mean, half), of)


def smallest(
    results: Results,
    first: str,
    theta: int = 0,
    text: str = "",
    rivals: Sequence[str] = (),
    of: str = PAPER,
) -> Claim:
    """Claim that a policy has the smallest regret of all or some rivals; the best rival decides."""
    others = [policy for policy in rivals or results.policies if policy != first]
    worst = max(others, key=lambda rival: sum(difference(results, first, rival, theta)))
    said = text or f"{first} has the smallest regret {at(results, theta)}"
    hardest = smaller(results, first, worst, theta)
    return Claim(said, hardest.held, hardest.statistic, of)


def settles(results: Results, policy: str, theta: int = 0, of: str = PAPER) -> Claim:
    """Claim that regret is bounded: the second half of the rounds adds at most 5 %."""
    curve = results.regret[results.policies.index(policy), theta].mean(axis=0)
    middle = float(curve[np.searchsorted(results.rounds, results.horizon // 2)])
    late = float(curve[-1]) - middle
    return Claim(
        f"the regret of {policy} stays bounded {at(results, theta)}",
        late <= 0.05 * float(curve[-1]),
        f"the second half of the rounds adds {late:.3g} to {middle:.4g}",
        of,
    )
