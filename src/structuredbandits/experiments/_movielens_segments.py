"""The MovieLens experiments: the four segments of the paper, and all segments."""

from __future__ import annotations

import numpy as np
import pandas as pd

from structuredbandits.experiments._claims import at, smaller, smallest
from structuredbandits.experiments._simulated_experiment import settings_of, simulated
from structuredbandits.experiments.experiment import Claim, ExperimentRequest, Outcome
from structuredbandits.plots import regret_plot, regret_spread_plot, structure_plot
from structuredbandits.problems import load_problem

_OUTPERFORMS = "ts-c outperforms ucb-c and ucb-s {}"
_POLICIES = ["ucb", "ucb-s", "ucb-c", "ts", "ts-c"]
_RUNS_OF_ALL = 20


def movielens(request: ExperimentRequest) -> Outcome:
    """The four segments of the paper, and the distribution over all segments."""
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
    claims += [
        smallest(four, "ts-c", place, _OUTPERFORMS.format(at(four, place)), ["ucb-c", "ucb-s"])
        for place in range(len(four.thetas))
    ]
    claims += [_each_sometimes(everybody.policies, final)]
    claims += [_in_every_segment(everybody.policies, final, base) for base in ("ucb", "ts")]
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


def _each_sometimes(policies: tuple[str, ...], final: np.ndarray) -> Claim:
    """UCB-C beats UCB-S for some θ*, and the other way round."""
    better = int((final[policies.index("ucb-c")] < final[policies.index("ucb-s")]).sum())
    return Claim(
        "there are θ* for which ucb-c is better than ucb-s, and vice versa",
        0 < better < final.shape[1],
        f"ucb-c has the smaller mean regret in {better} of {final.shape[1]} segments",
    )


def _in_every_segment(policies: tuple[str, ...], final: np.ndarray, base: str) -> Claim:
    ratio = final[policies.index(f"{base}-c")] / final[policies.index(base)]
    fewer = int((ratio < 1).sum())
    return Claim(
        f"the improvement of {base}-c over {base} applies to other θ* as well",
        fewer == ratio.size,
        f"smaller mean regret in {fewer} of {ratio.size} segments; {ratio.mean():.2f} of {base}'s "
        f"on average, {ratio.max():.2f} in the worst: the learned map is wrong by sampling error, "
        "which these policies ignore",
    )


def movielens_informative(request: ExperimentRequest) -> Outcome:
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
    figures = {"regret": regret_plot(results), "functions": structure_plot(problem.structure)}
    return Outcome(figures, results.summary(), claims, settings_of(results))
