"""All segments of MovieLens, several random splits, every policy: the value of a learned map.

Means are learned from one half of the ratings and rewards come from the other half, so the map has
sampling errors.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from structuredbandits.experiments.experiment import HERE, Claim, ExperimentRequest, Outcome
from structuredbandits.plots import style
from structuredbandits.policies.structured.hierarchical_model import reward_variance
from structuredbandits.problems import Problem, load_problem
from structuredbandits.structure import Structure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPLITS = 5
BASE, ESTIMATED, LIMIT = "ts", "ts (estimated sigma)", "posterior (true map)"
BEST = "hierarchical-index"
POLICIES = (
    "ucb",
    "ucb-s",
    "ucb-c",
    "kl-ucb",
    "kl-ucb-c",
    "ts",
    "ts-c",
    "posterior",
    "hierarchical",
    "hierarchical-c",
    "hierarchical-index",
    "hierarchical-index(robust=1)",
)


def movielens_all(request: ExperimentRequest) -> Outcome:
    """Mean, median and worst regret over all segments, and ratios to Thompson sampling's."""
    rows = regret_by_segment(request)
    table = summary(rows)
    settings = {"splits": SPLITS, "runs": request.runs, "seed": request.seed, "horizon": 5_000}
    return Outcome({"all segments": spread_figure(rows)}, table, claims(table), settings)


def regret_by_segment(
    request: ExperimentRequest, policies: tuple[str, ...] = POLICIES, splits: int = SPLITS
) -> pd.DataFrame:
    """Return the mean final regret by policy, split and segment.

    Thompson sampling with the noise estimated from the known half, and posterior sampling with the
    true means of the other half (the limit), are added to the named policies.
    """
    tables = []
    for split in range(splits):
        problem = load_problem("movielens", split_seed=split)
        tables.append(_simulated(request, problem, list(policies), split))
        estimated = _with(problem, with_noise(problem.structure))
        tables.append(_simulated(request, estimated, [BASE], split, ESTIMATED))
        limit = _with(problem, true_map(problem))
        tables.append(_simulated(request, limit, ["posterior"], split, LIMIT))
    return pd.concat(tables, ignore_index=True)


def with_noise(structure: Structure) -> Structure:
    """Return the structure with sigma estimated from its counts and standard errors."""
    return structure.with_(sigma=np.sqrt(reward_variance(structure)))


def true_map(problem: Problem) -> Structure:
    """Return the true structure: the means of the half that rewards come from."""
    known = problem.structure
    environment: Any = problem.environment
    return Structure.from_table(
        environment.means, known.parameters, known.arms, sigma=np.sqrt(reward_variance(known))
    )


def _with(problem: Problem, structure: Structure) -> Problem:
    return dataclasses.replace(problem, structure=structure)


def _simulated(
    request: ExperimentRequest,
    problem: Problem,
    policies: list[str],
    split: int,
    label: str | None = None,
) -> pd.DataFrame:
    parameters = problem.structure.parameters
    segments = [parameters[i] for i in range(len(parameters))]
    results = request.simulate(
        problem,
        policies,
        segments,
        runs=request.runs,
        seed=request.seed + split,
        n_jobs=request.n_jobs,
        checkpoints=1,
        progress="off",
    )
    final = results.mean()[..., -1]
    names = [parameters.label(i) for i in range(len(parameters))]
    return pd.DataFrame(
        {
            "policy": np.repeat([label or name for name in results.policies], len(names)),
            "split": split,
            "segment": np.tile(names, len(results.policies)),
            "regret": final.ravel(),
        }
    )


def by_segment(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the regret by segment (row) and policy (column), over the splits with the segment."""
    return rows.pivot_table("regret", "segment", "policy", aggfunc="mean", sort=False)


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per policy: mean, median and largest regret, and ratios to other policies."""
    table = by_segment(rows)
    shares = table.div(table[BASE], axis=0)
    means = table.mean()
    return pd.DataFrame(
        {
            "policy": table.columns,
            "mean": means.to_numpy(),
            "median": table.median().to_numpy(),
            "largest": table.max().to_numpy(),
            "of_ts": (means / means[BASE]).to_numpy(),
            "of_ts_c": (means / means["ts-c"]).to_numpy(),
            "of_ts_estimated": (means / means[ESTIMATED]).to_numpy(),
            "of_limit": (means / means[LIMIT]).to_numpy(),
            "worst_of_ts": shares.max().to_numpy(),
        }
    ).sort_values("mean", ignore_index=True)


def claims(table: pd.DataFrame) -> tuple[Claim, ...]:
    """Return the claims about a policy that uses the standard errors of its map."""
    best = table["policy"] == BEST

    def at_most(column: str, limit: float, text: str) -> Claim:
        value = float(table[column].to_numpy(dtype=float)[best.to_numpy()][0])
        return Claim(f"{BEST} has {text}", value <= limit, f"{value:.2f} (at most {limit:g})", HERE)

    return (
        at_most("of_ts", 0.25, "at most a quarter of the mean regret of ts"),
        at_most("of_ts_c", 0.40, "at most 0.4 of the mean regret of ts-c"),
        at_most("of_ts_estimated", 0.50, "at most half that of ts with the estimated noise"),
        at_most("worst_of_ts", 1.0, "in no segment more regret than ts"),
        at_most("of_limit", 2.0, "at most twice the mean regret of a policy with the true map"),
    )


def spread_figure(rows: pd.DataFrame) -> Figure:
    """Draw the regret of every segment divided by that of ts: one dot per segment, median bars."""
    table = by_segment(rows)
    shares = table.div(table[BASE], axis=0)
    order = shares.median().sort_values(ascending=False).index
    drawn = style.figure(7.6, 1.2 + 0.36 * len(order))
    axes = drawn.add_axes((0.32, 0.12, 0.65, 0.80))
    generator = np.random.default_rng(0)
    for row, policy in enumerate(order):
        values = shares[policy].to_numpy()
        height = row + generator.uniform(-0.22, 0.22, size=values.size)
        colour = style.look_of(policy.split(" ")[0]).colour
        axes.scatter(values, height, s=8, color=colour, alpha=0.5, linewidths=0)
        axes.plot([np.median(values)] * 2, [row - 0.33, row + 0.33], color=style.INK, linewidth=2)
    axes.axvline(1.0, color=style.INK, linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_yticks(range(len(order)), list(order))
    axes.set_xlabel(f"mean regret divided by that of {BASE} (dot: one segment, bar: median)")
    medians = shares.drop(columns=LIMIT).median()
    style.title(
        axes,
        f"{medians.idxmin()} has the lowest median: {medians.min():.2g} times the regret of {BASE}",
    )
    return drawn
