"""The definitions, written as slowly and plainly as they read, and UCB-C in a few lines."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog

from structuredbandits.structure import Structure

TOLERANCE = 1e-9


def best_arms(structure: Structure, i: int) -> list[int]:
    rewards = structure.sign * structure.means[i]
    return [k for k, r in enumerate(rewards) if r >= rewards.max() - structure.tolerance]


def looks(structure: Structure, i: int, j: int, arm: int) -> float:
    """How far the bounds of one arm's mean at two θ are apart; 0 if they overlap."""
    low, high = structure.lower[:, arm], structure.upper[:, arm]
    return max(0.0, low[i] - high[j], low[j] - high[i])


def degrees(structure: Structure, i: int) -> list[float]:
    """ε of every arm at row i of a finite Θ."""
    result = []
    for arm in range(structure.n_arms):
        near = math.inf
        for best in best_arms(structure, i):
            for j in range(structure.n_parameters):
                if structure.optimal[j, arm]:
                    near = min(near, looks(structure, i, j, best))
        competitive = near <= structure.tolerance or arm in best_arms(structure, i)
        result.append(0.0 if competitive else near)
    return result


def rivals(structure: Structure, i: int) -> list[int]:
    """The rows that agree with row i on its best arms, none of which is the best there."""
    known = best_arms(structure, i)
    return [
        j
        for j in range(structure.n_parameters)
        if all(
            abs(structure.means[i, k] - structure.means[j, k]) <= structure.tolerance for k in known
        )
        and not any(structure.optimal[j, k] for k in known)
    ]


def c_tilde(structure: Structure, i: int) -> int:
    found = {
        k for j in rivals(structure, i) for k in range(structure.n_arms) if structure.optimal[j, k]
    }
    return 1 + len(found)


def least_regret(structure: Structure, i: int) -> float:
    """L at row i, with every constraint in one program."""
    rows = rivals(structure, i)
    if not rows:
        return 0.0
    rewards = structure.sign * structure.means
    worse = [k for k in range(structure.n_arms) if k not in best_arms(structure, i)]
    gaps = rewards[i].max() - rewards[i, worse]
    information = np.square(rewards[i, worse] - rewards[np.ix_(rows, worse)]) / (
        2 * np.square(structure.sigma[worse])
    )
    done = linprog(gaps, A_ub=-information, b_ub=-np.ones(len(rows)), method="highs")
    return float(done.fun)


def simulate_ucb_c(
    structure: Structure, i: int, horizon: int, runs: int, alpha: float, seed: int
) -> np.ndarray:
    """Pulls (runs, rounds, arms) of UCB-C with Gaussian rewards at row i of a finite Θ."""
    generator = np.random.Generator(np.random.PCG64(seed))
    means, sigma, arms = structure.means, structure.sigma, structure.n_arms
    history = np.zeros((runs, horizon, arms), dtype=np.int64)
    for run in range(runs):
        count, total = np.zeros(arms), np.zeros(arms)
        for t in range(horizon):
            with np.errstate(divide="ignore", invalid="ignore"):
                mean = np.where(count > 0, total / count, 0.0)
                radius = np.sqrt(2 * alpha * sigma**2 * math.log(max(t, 2)) / count)
            plausible = (np.abs(means - mean) < radius).all(axis=1)
            candidates = structure.optimal[plausible].any(axis=0)
            if not plausible.any():
                candidates = np.ones(arms, dtype=bool)
            arm = int(np.argmax(np.where(candidates, mean + radius, -np.inf)))
            count[arm] += 1
            total[arm] += means[i, arm] + sigma[arm] * generator.standard_normal()
            history[run, t] = count
    return history
