"""Ratings of segments of users: the paper's four, and all of them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from structuredbandits.experiments.claims import smaller
from structuredbandits.experiments.experiment import Claim, Outcome, Request
from structuredbandits.experiments.simulated import settings_of, simulated
from structuredbandits.plots import regret_plot, regret_spread_plot, structure_plot
from structuredbandits.problems import load_problem

_POLICIES = ["ucb", "ucb-s", "ucb-c", "ts", "ts-c"]
_RUNS_OF_ALL = 5


def movielens(request: Request) -> Outcome:
    """The paper's four segments, and the spread over all segments."""
    problem = load_problem("movielens")
    four = simulated(request, problem, _POLICIES)
    segments = [problem.environment.parameters[i] for i in range(problem.structure.n_parameters)]
    few = request._replace(runs=min(request.runs, _RUNS_OF_ALL))
    everybody = simulated(few, problem, _POLICIES, theta=segments, checkpoints=1)
    final = everybody.mean()[..., -1]
    claims = [
        smaller(four, f"{base}-c", base, place)
        for base in ("ucb", "ts")
        for place in range(len(four.thetas))
    ]
    claims += [_always_best(everybody.policies, final), _worst(everybody.policies, final)]
    spread = pd.DataFrame(
        {
            "policy": everybody.policies,
            "theta": "all segments",
            "regret": final.mean(axis=1),
            "median": np.median(final, axis=1),
            "worst": final.max(axis=1),
        }
    )
    figures = {
        "regret": regret_plot(four),
        "all segments": regret_spread_plot(everybody, "ts"),
        "functions": structure_plot(problem.structure),
    }
    table = pd.concat([four.summary(), spread])
    more = {"segments": len(segments), "runs_of_all": everybody.runs}
    return Outcome(figures, table, tuple(claims), settings_of(four, **more))


def _always_best(policies: tuple[str, ...], final: np.ndarray) -> Claim:
    best = int((final.argmin(axis=0) == policies.index("ts-c")).sum())
    return Claim(
        "ts-c always outperforms ucb-c and ucb-s",
        best == final.shape[1],
        f"it has the smallest mean regret in {best} of {final.shape[1]} segments",
    )


def _worst(policies: tuple[str, ...], final: np.ndarray) -> Claim:
    ratio = final[policies.index("ts-c")] / final[policies.index("ts")]
    return Claim(
        "ts-c has smaller regret than ts in every segment",
        bool((ratio < 1).all()),
        f"its regret is {ratio.mean():.2f} of ts's on average, {ratio.max():.2f} in the worst "
        "segment: the learned map is wrong by sampling error, which exact-means policies ignore",
    )


def movielens_informative(request: Request) -> Outcome:
    """Informative pulls on the learned map."""
    problem = load_problem("movielens")
    results = simulated(request, problem, ["ucb-c", "ucb-c-kl", "ucb-c-entropy", "ucb-c-random"])
    final = results.mean()[..., -1]
    change = final[1:] / final[0] - 1.0
    claims = (
        Claim(
            "informative pulls change little here",
            bool((np.abs(change) < 0.25).all()),
            f"mean regret changes by {change.min():+.0%} to {change.max():+.0%}",
        ),
    )
    return Outcome(
        {"regret": regret_plot(results)}, results.summary(), claims, settings_of(results)
    )
