"""How often a mean regret in a table is within 1.96 of its standard errors of the true mean."""

from __future__ import annotations

from typing import Any

import structuredbandits as sb

HORIZON, RUNS, POLICIES = 200, 100, ("ucb", "ts", "ucb-c", "ts-c")


def measure(tables: int = 1000) -> list[dict[str, Any]]:
    """Tables of 100 runs each, against the mean of all their runs."""
    found: dict[str, list[tuple[float, float]]] = {policy: [] for policy in POLICIES}
    for seed in range(tables):
        results = sb.simulate(
            "three-arms", POLICIES, 1.5, horizon=HORIZON, runs=RUNS, seed=seed, progress="off"
        )
        for row in results.summary().itertuples():
            found[row.policy].append((row.regret, row.standard_error))
    rows = []
    for policy, pairs in found.items():
        truth = sum(regret for regret, _ in pairs) / len(pairs)
        inside = [abs(regret - truth) <= 1.96 * error for regret, error in pairs]
        share = sum(inside) / len(inside)
        rows.append({"case": policy, "runs": tables, "promised": 0.95, "measured": share})
    return rows
