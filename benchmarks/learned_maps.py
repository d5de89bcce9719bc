"""Six kinds of random maps, learned from data, that were not used to choose any setting.

For each kind several true maps are drawn; each is learned from a sample, and the policies are
simulated at some θ with rewards from the true map.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

import structuredbandits as sb

POLICIES = ("ts", "ts-c", "posterior", "hierarchical", "hierarchical-c", "hierarchical-index")
LIMIT = "posterior (true map)"
HORIZON = 5_000


@dataclass(frozen=True)
class Kind:
    """A kind of map: numbers of arms and θ, noise of the rewards, and amount of data per mean."""

    name: str
    arms: int
    thetas: int
    spread: float  # of an arm's mean over θ
    noise: float  # standard deviation of one reward; 0: rewards are clicks, 0 or 1
    counts: Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


def _each(number: int) -> Callable[[np.random.Generator, tuple[int, int]], np.ndarray]:
    return lambda generator, shape: np.full(shape, number)


KINDS = (
    Kind("few arms", 5, 20, 0.5, 1.0, _each(30)),
    Kind("many arms", 40, 60, 0.3, 1.0, _each(100)),
    Kind("noisy rewards", 10, 50, 0.5, 3.0, _each(200)),
    Kind("scarce data", 10, 50, 0.5, 1.0, _each(5)),
    Kind(
        "uneven data",
        18,
        80,
        0.4,
        1.0,
        lambda generator, shape: (
            (3 * (1 + generator.pareto(0.8, shape))).clip(3, 2_000).astype(int)
        ),
    ),
    Kind("clicks", 12, 40, 0.12, 0.0, _each(300)),
)


def draw_map(kind: Kind, seed: int) -> tuple[sb.Structure, sb.Structure]:
    """A true map, and the map learned from a sample of it."""
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(len(kind.name),)))
    shape = (kind.thetas, kind.arms)
    means = kind.spread * (
        0.7 * generator.standard_normal(kind.arms) + generator.standard_normal(shape)
    )
    counts = kind.counts(generator, shape)
    if kind.noise > 0:
        variance = np.full(shape, kind.noise**2)
        learned = means + generator.standard_normal(shape) * np.sqrt(variance / counts)
    else:
        means = (0.3 + means).clip(0.02, 0.98)
        variance = means * (1 - means)
        learned = generator.binomial(counts, means) / counts
    # A learner knows the noise only pooled over all cells, as `learn_structure` does.
    sigma = float(np.sqrt((variance * counts).sum() / counts.sum()))
    known = sb.Structure.from_table(
        learned, sigma=sigma, counts=counts, standard_errors=sigma / np.sqrt(counts)
    )
    return sb.Structure.from_table(means, known.parameters, known.arms, sigma=sigma), known


def regrets(kind: Kind, maps: int, thetas: int, runs: int) -> pd.DataFrame:
    """Mean regret by policy (columns) for each map and θ (rows)."""
    rows = []
    for seed in range(maps):
        truth, known = draw_map(kind, seed)
        environment = sb.Gaussian(truth) if kind.noise > 0 else sb.Bernoulli(truth)
        chosen = np.random.default_rng(seed).choice(kind.thetas, thetas, replace=False).tolist()
        settings = {
            "horizon": HORIZON,
            "runs": runs,
            "seed": seed,
            "environment": environment,
            "checkpoints": 1,
            "progress": "off",
            "n_jobs": 1,
        }
        results = sb.simulate(known, list(POLICIES), chosen, **settings)
        limit = sb.simulate(truth, ["posterior"], chosen, **settings)
        table = pd.DataFrame(results.mean()[..., -1].T, columns=list(results.policies))
        table[LIMIT] = limit.mean()[0, :, -1]
        rows.append(table)
    return pd.concat(rows, ignore_index=True)


def shares(maps: int = 8, thetas: int = 10, runs: int = 20) -> pd.DataFrame:
    """One row per kind and policy: mean regret relative to others, and the worst ratio to ts."""
    rows = []
    for kind in KINDS:
        table = regrets(kind, maps, thetas, runs)
        means = table.mean()
        worst = table.div(table["ts"], axis=0).max()
        rows += [
            {
                "map": kind.name,
                "policy": policy,
                "mean": means[policy],
                "of_ts": means[policy] / means["ts"],
                "of_ts_c": means[policy] / means["ts-c"],
                "of_limit": means[policy] / means[LIMIT],
                "worst_of_ts": worst[policy],
            }
            for policy in table.columns
        ]
    return pd.DataFrame(rows)
