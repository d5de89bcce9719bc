"""How often a confidence set loses the true θ, on the grid and between its points."""

from __future__ import annotations

from typing import Any

import numpy as np

import structuredbandits as sb

ALPHA, SIGMA = 3.0, 0.5
MOMENTS = (10, 100, 1000)
CURVES = {
    "a": [(0, 3), (3, 3), (6, 6.5)],
    "b": [(0, 6), (1, 4.5), (2.5, 2.5), (6, 2)],
    "c": [(0, 3), (1, 4.5), (2.5, 3), (6, 1.5)],
}


def measure(runs: int = 1000) -> list[dict[str, Any]]:
    """UCB-C at a θ of the grid, and at one between the points of a coarse grid with sound cells."""
    fine = sb.Structure.from_breakpoints(CURVES, sigma=SIGMA)
    coarse = sb.Structure.from_breakpoints(CURVES, sigma=SIGMA, points=7, sound=True)
    rows = []
    for case, structure, theta in (("on the grid", fine, 1.6), ("sound cells", coarse, 1.6)):
        lost = _times_lost(structure, theta, runs)
        for moment, times in zip(MOMENTS, lost, strict=True):
            bound = min(1.0, 2 * len(CURVES) * moment ** (1 - ALPHA))
            rows.append(
                {
                    "case": f"{case}, t = {moment}",
                    "runs": runs,
                    "promised": bound,
                    "measured": times / runs,
                }
            )
    return rows


def _times_lost(structure: sb.Structure, theta: float, runs: int) -> list[int]:
    means = dict(zip(structure.arms, structure.means_at(theta).tolist(), strict=True))
    place, lost = structure.parameters.nearest(theta), dict.fromkeys(MOMENTS, 0)
    noise = np.random.default_rng(1).normal(0.0, SIGMA, (runs, MOMENTS[-1]))
    for run in range(runs):
        policy = sb.Competitive(sb.UCB(alpha=ALPHA), alpha=ALPHA).start(structure, seed=run)
        for t, deviation in enumerate(noise[run].tolist(), start=1):
            arm = policy.pull()
            policy.update(arm, means[arm] + deviation)
            if t in lost:
                lost[t] += not policy.confidence_set.mask[place]
    return list(lost.values())
