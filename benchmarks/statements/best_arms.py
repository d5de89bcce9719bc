"""How often `identify` certifies a wrong arm, on the grid and between its points."""

from __future__ import annotations

import warnings
from typing import Any

import structuredbandits as sb

DELTA = 0.05
LINES = {"rising": [(0, 1.55), (6, 7.55)], "falling": [(0, 4.45), (6, -1.55)]}


def measure(runs: int = 2000) -> list[dict[str, Any]]:
    """Shares of runs with a wrong arm and the promised confidence."""
    points = sb.Structure.from_breakpoints(LINES, sigma=0.3, points=13)
    sound = sb.Structure.from_breakpoints(LINES, sigma=0.3, points=13, sound=True)
    rates = [[0.4, 0.1, 0.2], [0.1, 0.4, 0.2], [0.3, 0.1, 0.4], [0.2, 0.2, 0.3]]
    clicks = sb.Structure.from_table(rates, rewards="bernoulli")
    cases: list[tuple[str, Any, Any]] = [
        ("`three-arms`, θ = 1.5 on the grid", sb.load_problem("three-arms").structure, 1.5),
        ("13 points, θ = 1.41 between them", points, 1.41),
        ("13 sound cells, θ = 1.41", sound, 1.41),
        ("13 sound cells, θ = 0.77", sound, 0.77),
        ("clicks of 10 to 40 %, 4 visitor types", clicks, 2),
    ]
    rows = []
    for case, structure, theta in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sb.StructureWarning)
            found = sb.identify(structure, theta, delta=DELTA, runs=runs, max_rounds=2000, seed=9)
        assert found.correct is not None
        wrong = float((found.finished & ~found.correct).mean())
        rows.append(
            {
                "case": case,
                "runs": runs,
                "promised": DELTA,
                "measured": wrong,
                "certified": float(found.finished.mean()),
            }
        )
    return rows
