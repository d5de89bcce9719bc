"""Comparisons of regret, each with the statistic that decides it.

Policies meet the same luck in a run, so differences are taken run by run. A claim of an order holds
if the 95 % interval of the mean difference lies on its side; "no worse" holds unless the interval
lies wholly on the other side.
"""

from __future__ import annotations

import math

import numpy as np

from structuredbandits.experiments.experiment import Claim
from structuredbandits.simulation import Results

_NORMAL_95 = 1.959963984540054


def difference(results: Results, first: str, second: str, theta: int = 0) -> tuple[float, float]:
    """Mean of the first's final regret minus the second's, and half its 95 % interval."""
    final = results.regret[:, theta, :, -1]
    gap = final[results.policies.index(first)] - final[results.policies.index(second)]
    half = _NORMAL_95 * gap.std(ddof=1) / math.sqrt(gap.size) if gap.size > 1 else math.inf
    return float(gap.mean()), half


def _statistic(first: str, second: str, mean: float, half: float) -> str:
    return f"{first} − {second} = {mean:.4g} ± {half:.2g}"


def smaller(results: Results, first: str, second: str, theta: int = 0, text: str = "") -> Claim:
    """The first policy's regret is smaller than the second's."""
    mean, half = difference(results, first, second, theta)
    where = f" at θ* = {results.thetas[theta]}"
    said = text or f"{first} has smaller regret than {second}{where}"
    return Claim(said, mean + half < 0, _statistic(first, second, mean, half))


def no_worse(results: Results, first: str, second: str, theta: int = 0, text: str = "") -> Claim:
    """The first policy's regret is not larger than the second's."""
    mean, half = difference(results, first, second, theta)
    where = f" at θ* = {results.thetas[theta]}"
    said = text or f"{first} is no worse than {second}{where}"
    return Claim(said, mean - half <= 0, _statistic(first, second, mean, half))


def smallest(results: Results, first: str, theta: int = 0, text: str = "") -> Claim:
    """The policy has the smallest regret of all: the hardest rival decides."""
    rivals = [policy for policy in results.policies if policy != first]
    outcomes = [smaller(results, first, rival, theta) for rival in rivals]
    said = text or f"{first} has the smallest regret at θ* = {results.thetas[theta]}"
    worst = max(rivals, key=lambda rival: sum(difference(results, first, rival, theta)))
    mean, half = difference(results, first, worst, theta)
    return Claim(said, all(o.held for o in outcomes), _statistic(first, worst, mean, half))


def settles(results: Results, policy: str, theta: int = 0) -> Claim:
    """Regret is bounded: the second half of the rounds adds next to nothing."""
    curve = results.regret[results.policies.index(policy), theta].mean(axis=0)
    middle = float(curve[np.searchsorted(results.rounds, results.horizon // 2)])
    late = float(curve[-1]) - middle
    return Claim(
        f"the regret of {policy} stays bounded at θ* = {results.thetas[theta]}",
        late <= 0.05 * float(curve[-1]),
        f"the second half of the rounds adds {late:.3g} to {middle:.4g}",
    )
