"""The first 50 interactions, and 5,000: what visitor types are worth against one genre for all.

Segments are weighted by their shares of the ratings, as visitors arrive. Every policy uses the same
σ, the noise of single ratings, and knows the number of interactions of its panel.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from structuredbandits.experiments._movielens_all import with_noise
from structuredbandits.experiments.experiment import HERE, Claim, ExperimentRequest, Outcome
from structuredbandits.plots import style
from structuredbandits.problems import load_problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BASELINE, DEFAULT = "always", "value-of-information"
POLICIES = (BASELINE, "ts", "ts-c", "prior-index", DEFAULT)
SHORT, LONG = 50, 5_000
# A short visit is simulated this many times as often: it takes little time, and chance counts more.
_MORE = 50


def first_interactions(request: ExperimentRequest) -> Outcome:
    """Regret per interaction over a short and a long visit, on MovieLens by shares."""
    return compare_visits(request, (SHORT, LONG))


def compare_visits(request: ExperimentRequest, horizons: tuple[int, int]) -> Outcome:
    """Compare policies in visits of two lengths."""
    tables = [_regret(request, horizon) for horizon in horizons]
    table = pd.concat(tables, ignore_index=True)
    settings = {
        "runs": [request.runs * _MORE, request.runs],
        "seed": request.seed,
        "horizons": list(horizons),
    }
    figures = {"first interactions": _figure(table, horizons)}
    return Outcome(figures, table, _claims(table, horizons), settings)


def _regret(request: ExperimentRequest, horizon: int) -> pd.DataFrame:
    """Return the mean regret per interaction so far, by policy and round."""
    problem = load_problem("movielens")
    known = with_noise(problem.structure)
    assert known.prior is not None  # learned structures have shares
    segments = [known.parameters[place] for place in range(known.n_parameters)]
    results = request.simulate(
        dataclasses.replace(problem, structure=known),
        list(POLICIES),
        segments,
        horizon=horizon,
        runs=request.runs * (_MORE if horizon <= SHORT else 1),
        seed=request.seed,
        n_jobs=request.n_jobs,
        checkpoints=horizon if horizon <= SHORT else "log",
        progress="off",
    )
    by_round = np.einsum("ptr,t->pr", results.mean(), known.prior) / results.rounds
    return pd.DataFrame(
        {
            "interactions": horizon,
            "policy": np.repeat(results.policies, len(results.rounds)),
            "round": np.tile(results.rounds, len(results.policies)),
            "regret_per_interaction": by_round.ravel(),
        }
    )


def _last(table: pd.DataFrame, horizon: int) -> dict[str, float]:
    """Return the regret per interaction of each policy at the end of a visit."""
    rows = table[(table["interactions"] == horizon) & (table["round"] == horizon)]
    return dict(zip(rows["policy"], rows["regret_per_interaction"], strict=True))


def _claims(table: pd.DataFrame, horizons: tuple[int, int]) -> tuple[Claim, ...]:
    claims = []
    for horizon, limit in zip(horizons, (1.02, 1.0), strict=True):
        last = _last(table, horizon)
        rival = min((BASELINE, "prior-index"), key=lambda name: last[name])
        ratio = last[DEFAULT] / last[rival]
        claims.append(
            Claim(
                f"with {horizon:,} interactions the default loses at most {limit:g} times what "
                f"the better of {BASELINE} and prior-index loses",
                ratio <= limit,
                f"{ratio:.2f} times {rival}",
                HERE,
            )
        )
    return tuple(claims)


def _figure(table: pd.DataFrame, horizons: tuple[int, int]) -> Figure:
    """Draw regret per interaction against the interactions so far, for both visits."""
    drawn = style.figure(9.6, 4.0, arranged=True)
    for place, horizon in enumerate(horizons):
        axes = drawn.add_subplot(1, 2, place + 1)
        part = table[table["interactions"] == horizon]
        for policy in POLICIES:
            rows = part[part["policy"] == policy]
            look = style.look_of(policy)
            axes.plot(
                rows["round"],
                rows["regret_per_interaction"],
                color=look.colour,
                linestyle=look.line,
                label="default" if policy == DEFAULT else policy,
            )
        axes.set_ylim(bottom=0.0)
        axes.set_xlabel("interactions of a visitor so far")
        axes.set_ylabel("stars lost per interaction")
        if place == 1:
            axes.set_xscale("log")
            axes.legend(frameon=False, fontsize=style.SMALL_SIZE, loc="upper right")
        style.title(axes, _finding(table, horizon))
    return drawn


def _finding(table: pd.DataFrame, horizon: int) -> str:
    last = _last(table, horizon)
    share = 1.0 - last[DEFAULT] / last[BASELINE]
    change = f"loses {abs(share):.0%} {'less' if share >= 0 else 'more'}"
    return f"{horizon:,} interactions: the default {change}\nthan one genre for everybody"
