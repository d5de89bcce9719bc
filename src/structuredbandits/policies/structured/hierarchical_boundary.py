"""How much more than its mean an uncertain arm is worth, when some rounds are still to come.

This room knows one optimal stopping problem: a normal arm beside one of known value, in continuous
time. It must not know structures or policies.
"""

from __future__ import annotations

import math

import numpy as np

from structuredbandits._compiled import inline

# The largest disadvantage, in standard deviations of the belief, at which it still pays to try a
# normal arm, at s = 10^-2, 10^(-2 + 1/6), ..., 10^6. Solved by backward induction in log s; a test
# solves it again in another way.
# fmt: off
_BOUNDARY = np.array([
    0.0634, 0.0768, 0.0930, 0.1125, 0.1361, 0.1644, 0.1984, 0.2389, 0.2872, 0.3444,
    0.4111, 0.4881, 0.5755, 0.6733, 0.7807, 0.8967, 1.0201, 1.1493, 1.2829, 1.4196,
    1.5580, 1.6972, 1.8361, 1.9740, 2.1103, 2.2444, 2.3762, 2.5052, 2.6312, 2.7543,
    2.8744, 2.9914, 3.1054, 3.2165, 3.3248, 3.4304, 3.5334, 3.6340, 3.7322, 3.8282,
    3.9221, 4.0139, 4.1040, 4.1922, 4.2787, 4.3637, 4.4471, 4.5292, 4.6098,
])
# fmt: on
_FIRST, _LAST = 1e-2, 1e6
_PER_E = 6.0 / math.log(10.0)  # knots for each factor e of s


@inline
def worth_of_doubt(s: float) -> float:
    """Standard deviations to add to the mean: the finite-horizon Gittins index of a normal arm.

    ``s`` is (rounds to come) · (variance of the belief) / (variance of one reward). For small s it
    is 0.639 √s, for large s √(2 log s − log log s − log 16π), as Chernoff and Ray showed.
    """
    if s <= _FIRST:
        return float(_BOUNDARY[0]) * math.sqrt(s / _FIRST)
    if s >= _LAST:
        log_s = math.log(s)
        far = 2.0 * log_s - math.log(log_s) - math.log(16.0 * math.pi)
        return max(float(_BOUNDARY[_BOUNDARY.size - 1]), math.sqrt(far))
    place = math.log(s / _FIRST) * _PER_E
    knot = min(int(place), _BOUNDARY.size - 2)
    step = _BOUNDARY[knot + 1] - _BOUNDARY[knot]
    return float(_BOUNDARY[knot] + (place - knot) * step)
