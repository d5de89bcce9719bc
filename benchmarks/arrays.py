"""NumPy baselines: UCB vectorised over many runs, and one run of Algorithm-C with UCB.

The library is compared with the fastest of several array layouts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Choose = Callable[[np.ndarray, np.ndarray, float], np.ndarray]
ALPHA = 3.0


def batched_ucb(means: np.ndarray, sigma: float, horizon: int, runs: int, seed: int = 0) -> None:
    """UCB1 in all runs at once, one vectorised step per round."""
    generator = np.random.default_rng(seed)
    shape = (runs, means.size)
    counts, sums = np.zeros(shape), np.zeros(shape)
    each = np.arange(runs)
    for t in range(horizon):
        if t < means.size:
            arms = np.full(runs, t)
        else:
            index = sums / counts + np.sqrt(2 * ALPHA * sigma**2 * np.log(t) / counts)
            arms = index.argmax(axis=1)
        counts[each, arms] += 1
        sums[each, arms] += means[arms] + sigma * generator.standard_normal(runs)


class Dense:
    """The paper's step 1 as written: every θ against every arm, in arrays that are reused."""

    def __init__(self, table: np.ndarray) -> None:
        self._table = np.ascontiguousarray(table.T)  # (arms, parameters)
        self._best = self._table.argmax(axis=0)
        self._distance = np.empty_like(self._table)
        self._inside = np.empty(self._table.shape, dtype=bool)

    def competitive(self, means: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """(arms,) flags."""
        np.subtract(self._table, means[:, None], out=self._distance)
        np.abs(self._distance, out=self._distance)
        np.less(self._distance, radius[:, None], out=self._inside)
        return np.bincount(self._best[self._inside.all(axis=0)], minlength=means.size) > 0


class Narrowing:
    """Tests the arms in order of pulls, most pulled first; later arms test only the remaining θ."""

    def __init__(self, table: np.ndarray) -> None:
        self._table = np.ascontiguousarray(table.T)
        self._best = self._table.argmax(axis=0)

    def competitive(self, means: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """(arms,) flags."""
        left: np.ndarray | None = None
        for arm in np.argsort(radius):
            if radius[arm] == np.inf:
                break
            values = self._table[arm] if left is None else self._table[arm, left]
            inside = np.flatnonzero(np.abs(values - means[arm]) < radius[arm])
            left = inside if left is None else left[inside]
        best = self._best if left is None else self._best[left]
        return np.bincount(best, minlength=means.size) > 0


class Sorted:
    """Two binary searches per arm give a range of θ; counting arms finds the θ in all ranges."""

    def __init__(self, table: np.ndarray) -> None:
        columns = np.ascontiguousarray(table.T)
        self._best = columns.argmax(axis=0)
        self._order = np.argsort(columns, axis=1, kind="stable")
        self._values = np.take_along_axis(columns, self._order, axis=1)

    def competitive(self, means: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """(arms,) flags; the arm with the fewest θ is tested first, as in `Narrowing`."""
        ends = [
            (
                np.searchsorted(values, mean - r, side="right"),
                np.searchsorted(values, mean + r, side="left"),
            )
            for values, mean, r in zip(self._values, means, radius, strict=True)
        ]
        inside = np.zeros(self._best.size, dtype=np.int32)
        whole = 0
        for order, (low, high) in zip(self._order, ends, strict=True):
            if low == 0 and high == self._best.size:
                whole += 1
            else:
                inside[order[low:high]] += 1
        left = inside == means.size - whole
        return np.bincount(self._best[left], minlength=means.size) > 0


LAYOUTS: dict[str, type[Dense] | type[Narrowing] | type[Sorted]] = {
    "dense": Dense,
    "narrowing": Narrowing,
    "sorted": Sorted,
}


def run_ucb_c(
    layout: Dense | Narrowing | Sorted, truth: np.ndarray, sigma: float, horizon: int, seed: int = 0
) -> np.ndarray:
    """One run of UCB-C; returns the pulls of each arm."""
    generator = np.random.default_rng(seed)
    counts, sums = np.zeros(truth.size), np.zeros(truth.size)
    means, scale = np.zeros(truth.size), np.full(truth.size, np.inf)
    noise = generator.standard_normal(horizon)
    for t in range(horizon):
        radius = np.sqrt(2 * ALPHA * np.log(max(t, 2))) * scale
        competitive = layout.competitive(means, radius)
        if not competitive.any():
            competitive[:] = True
        arm = int(np.where(competitive, means + radius, -np.inf).argmax())
        counts[arm] += 1
        sums[arm] += truth[arm] + sigma * noise[t]
        means[arm] = sums[arm] / counts[arm]
        scale[arm] = sigma / np.sqrt(counts[arm])
    return counts
