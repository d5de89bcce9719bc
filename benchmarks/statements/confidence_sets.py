"""How often a confidence set loses the true θ: on the grid, between its points, and of clicks."""

from __future__ import annotations

from typing import Any

import structuredbandits as sb
from structuredbandits.environments import default_environment

ALPHA, SIGMA = 3.0, 0.5
MOMENTS = (10, 100, 1000)
CURVES = {
    "a": [(0, 3), (3, 3), (6, 6.5)],
    "b": [(0, 6), (1, 4.5), (2.5, 2.5), (6, 2)],
    "c": [(0, 3), (1, 4.5), (2.5, 3), (6, 1.5)],
}


def measure(runs: int = 1000) -> list[dict[str, Any]]:
    """UCB-C at a θ of the grid, at one between points with sound cells, and on limited rewards."""
    fine = sb.Structure.from_breakpoints(CURVES, sigma=SIGMA)
    coarse = sb.Structure.from_breakpoints(CURVES, sigma=SIGMA, points=7, sound=True)
    rows = []
    low = {arm: [(x, mean / 80) for x, mean in points] for arm, points in CURVES.items()}
    clicks = sb.Structure.from_breakpoints(low, rewards="bernoulli")
    stars = sb.Structure.from_breakpoints(CURVES, rewards="bounded", limits=(1, 7), noise=1.0)
    cases = (
        ("on the grid", fine, 1.6),
        ("sound cells", coarse, 1.6),
        ("clicks of 4 to 5 %", clicks, 1.6),
        ("1 to 7 stars", stars, 1.6),
    )
    for case, structure, theta in cases:
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
    world = default_environment(structure)
    place, lost = structure.parameters.nearest(theta), dict.fromkeys(MOMENTS, 0)
    for run in range(runs):
        policy = sb.Competitive(sb.UCB(alpha=ALPHA), alpha=ALPHA).start(structure, seed=run)
        rewards = world.rewards(theta, 1, run)
        for t in range(1, MOMENTS[-1] + 1):
            arm = policy.pull()
            policy.update(arm, rewards.draw(arm))
            if t in lost:
                lost[t] += not policy.confidence_set.mask[place]
    return list(lost.values())
