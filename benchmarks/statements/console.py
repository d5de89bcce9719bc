"""How far the console's figures may be believed: the mean reward ± its standard error."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.statements.synthetic_logs import draw_logs


def measure(logs: int = 1000) -> list[dict[str, Any]]:
    """Share of logs whose mean ± 1.96 standard errors, as the console shows it, covers.

    The truth is what the logging policy earns on average with new subjects.
    """
    rows = []
    generator = np.random.default_rng(6)
    for case, gaussian in (("0/1 rewards", False), ("normal rewards", True)):
        truth = float(draw_logs(generator, 1, 400_000, 0.1, gaussian, True).rewards.mean())
        drawn = draw_logs(generator, logs, 1000, 0.1, gaussian, True)
        means = drawn.rewards.mean(axis=1)
        errors = drawn.rewards.std(axis=1, ddof=1) / np.sqrt(drawn.rewards.shape[1])
        covered = np.abs(means - truth) <= 1.96 * errors
        rows.append(
            {
                "case": f"{case}, 100 subjects of 10 decisions",
                "runs": logs,
                "promised": 0.95,
                "measured": float(covered.mean()),
            }
        )
    return rows
