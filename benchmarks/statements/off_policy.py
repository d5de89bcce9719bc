"""How often the intervals of `evaluate` cover the value, on adaptive logs with rare arms."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy.special import stdtrit

from benchmarks.statements.synthetic_logs import KINDS, PREDICTED, SHARES, Logs, draw_logs
from structuredbandits.evaluation._interval_choice import (
    Predictions,
    choose_interval,
    influence_of,
    sum_by_unit,
)

LEVEL = 0.95
TARGETS = ("rare arm", "uniform", "learning")
METHODS = ("ips", "snips", "dr")
CHUNK = 200


def _shares(target: str) -> np.ndarray | None:
    n_arms = KINDS.shape[1]
    if target == "learning":
        return None
    return np.eye(n_arms)[-1] if target == "rare arm" else np.full(n_arms, 1.0 / n_arms)


class Tally:
    """Counts of one setting."""

    def __init__(self) -> None:
        self.answers = self.covered = self.refused = self.betting = self.old_covered = 0
        self.empty = 0
        self.ratios: list[float] = []

    def add(
        self, logs: Logs, i: int, target: str, method: str, truth: float, bounded: bool
    ) -> None:
        shares = _shares(target)
        rewards, arms = logs.rewards[i], logs.arms[i]
        chosen = logs.target[i] if shares is None else shares[arms]
        weights = chosen / logs.probabilities[i]
        if weights.sum() <= 0.0:  # `evaluate` refuses: the arm was never shown
            self.empty += 1
            return
        expected = (
            logs.target_model[i] if shares is None else np.full(len(arms), shares @ PREDICTED)
        )
        model = Predictions(PREDICTED[arms], expected)
        limits = (0.0, 1.0) if bounded else None
        units = sum_by_unit(method, rewards, weights, logs.clusters, limits, model, model)
        influence = influence_of(units.top, units.bottom, units.weights)
        reach = float(stdtrit(len(units.top) - 1, 0.5 + 0.5 * LEVEL)) * influence.standard_error
        self.old_covered += abs(influence.value - truth) <= reach
        found = choose_interval(units, LEVEL)
        if found.kind == "none":
            self.refused += 1
            return
        self.answers += 1
        self.betting += found.kind == "betting"
        self.covered += found.low <= truth <= found.high
        if reach > 0.0:
            self.ratios.append((found.high - found.low) / (2.0 * reach))

    def row(self) -> dict[str, Any]:
        asked = self.answers + self.refused
        return {
            "logs": asked + self.empty,
            "coverage": self.covered / self.answers if self.answers else None,
            "coverage_before": self.old_covered / asked if asked else None,
            "width": float(np.median(self.ratios)) if self.ratios else None,
            "betting": self.betting / asked if asked else 0.0,
            "refused": (self.refused + self.empty) / (asked + self.empty),
        }


def measure_setting(
    n: int, floor: float, gaussian: bool, subjects: bool, logs: int, seed: int
) -> list[dict[str, Any]]:
    """Rows of one kind of log: one per target and method."""
    tallies = {key: Tally() for key in itertools.product(TARGETS, METHODS)}
    truth = _worth_of_learning(n, floor, gaussian, seed) if subjects else None
    generator = np.random.default_rng(seed)
    done = 0
    while done < logs:
        drawn = draw_logs(generator, min(CHUNK, logs - done), n, floor, gaussian, subjects)
        done += len(drawn.arms)
        for i in range(len(drawn.arms)):
            for (target, method), tally in tallies.items():
                shares = _shares(target)
                if shares is not None:
                    value = float((SHARES @ KINDS if subjects else KINDS[0]) @ shares)
                else:  # of a stream: what its choices were worth in this very log
                    value = truth if truth is not None else float(drawn.target_values[i].mean())
                tally.add(drawn, i, target, method, value, not gaussian)
    return [
        {
            "log": "subjects" if subjects else "stream",
            "rewards": "normal" if gaussian else "0/1",
            "n": n,
            "floor": floor,
            "target": target,
            "method": method,
            **tally.row(),
        }
        for (target, method), tally in tallies.items()
    ]


def _worth_of_learning(n: int, floor: float, gaussian: bool, seed: int) -> float:
    """What a policy that learns earns after the histories of such logs, from 40,000 subjects."""
    generator = np.random.default_rng(seed + 1)
    return float(draw_logs(generator, 1, 400_000, floor, gaussian, True).target_values.mean())


def measure(logs: int = 2000, sizes: tuple[int, ...] = (1000, 10_000)) -> list[dict[str, Any]]:
    """All settings."""
    rows = []
    settings = itertools.product(sizes, (0.02, 0.1), (False, True), (False, True))
    for seed, (n, floor, gaussian, subjects) in enumerate(settings):
        for row in measure_setting(n, floor, gaussian, subjects, logs, seed=1000 * (seed + 1)):
            print(
                f"{row['log']:8} {row['rewards']:6} n={row['n']:6} floor={row['floor']:.2f} "
                f"{row['target']:9} {row['method']:5} covers {row['coverage'] or 0:.3f} "
                f"(before {row['coverage_before'] or 0:.3f}) width x{row['width'] or 0:.2f} "
                f"betting {row['betting']:.0%} refused {row['refused']:.1%}",
                flush=True,
            )
            rows.append(row)
    return rows
