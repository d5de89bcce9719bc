"""The number of runs that a configuration needs for a given precision of its mean regret.

The next number of runs depends on the regrets so far only, by exactly rounded sums, so that every
machine and every resumed sweep decides the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def relative_error(regrets: Sequence[float]) -> float:
    """Standard error of the mean as a share of it; 0 if all are equal.

    Examples
    --------
    >>> relative_error([9.0, 11.0]), relative_error([0.0, 0.0])
    (0.1, 0.0)
    """
    n = len(regrets)
    mean = math.fsum(regrets) / n
    variance = math.fsum((regret - mean) ** 2 for regret in regrets) / (n - 1)
    if variance == 0.0:
        return 0.0
    return math.inf if mean == 0.0 else math.sqrt(variance / n) / abs(mean)


def next_total(regrets: Sequence[float], share: float, batch: int, cap: int) -> int:
    """The number of runs a configuration should have next; unchanged if it is precise enough.

    The error is assumed to fall with the square root of the number of runs. The result is rounded
    up to whole batches and at most doubles the runs, since a small sample predicts badly.

    Examples
    --------
    >>> next_total([9.0, 11.0] * 50, share=0.02, batch=100, cap=1000)
    100
    >>> next_total([9.0, 11.0] * 50, share=0.005, batch=100, cap=1000)
    200
    """
    total = len(regrets)
    error = relative_error(regrets)
    if error <= share or total >= cap:
        return total
    needed = 2.0 * total if math.isinf(error) else total * (error / share) ** 2
    batches = math.ceil(min(needed, 2.0 * total) / batch)
    return min(cap, max(total + batch, batches * batch))
