"""q(t) and the radius of a confidence interval: mean ± q(t) · sigma / sqrt(n).

q(t) = sqrt(2 alpha log t) is computed as sqrt(alpha) · sqrt(2 log max(t, 2)), so that kernels
compute the second factor once per round. The functions marked ``inline`` are for compiled code; the
others give Python the same numbers.
"""

from __future__ import annotations

import math

from structuredbandits._compiled import inline


@inline
def log_time(t: int) -> float:
    """log(max(t, 2)): log t would be undefined at 0 and zero at 1."""
    return math.log(max(t, 2))


@inline
def unit_width(log_t: float) -> float:
    """q(t) for alpha = 1, from `log_time`."""
    return math.sqrt(2.0 * log_t)


@inline
def multiplier(root_alpha: float, width: float) -> float:
    """q(t), from sqrt(alpha) and `unit_width`."""
    return root_alpha * width


@inline
def scale_of(sigma: float, count: float) -> float:
    """Radius of a mean of ``count`` rewards in units of q(t)."""
    return sigma / math.sqrt(count)


def q_at(alpha: float, t: int) -> float:
    """q(t) = sqrt(2 alpha log max(t, 2)).

    Examples
    --------
    >>> round(q_at(3.0, 100), 4), q_at(3.0, 0) == q_at(3.0, 2)
    (5.2565, True)
    """
    width: float = unit_width.py_func(log_time.py_func(t))
    return math.sqrt(alpha) * width
