"""A lower bound for any simulator, compiled: draw noise and find the largest index per round."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit


@njit(nogil=True)  # type: ignore[untyped-decorator]
def _rounds(index: np.ndarray, horizon: int, generator: np.random.Generator) -> float:
    total = 0.0
    for _ in range(horizon):
        best = 0
        for arm in range(1, index.size):
            if index[arm] > index[best]:
                best = arm
        z = generator.standard_normal()
        total += z
        index[best] = z
    return total


def floor(n_arms: int, horizon: int) -> Callable[[], object]:
    """A run of `rounds` rounds without a meaningful policy."""
    index = np.zeros(n_arms)
    generator = np.random.default_rng(0)
    return lambda: _rounds(index, horizon, generator)
