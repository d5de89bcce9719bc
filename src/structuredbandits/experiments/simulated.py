"""What simulated figures share: a problem, its policies, its pictures and its table."""

from __future__ import annotations

from typing import Any

import pandas as pd

from structuredbandits.experiments.experiment import PAPER, Claim, Outcome, Request
from structuredbandits.plots import regions_plot, regret_plot
from structuredbandits.problems import Problem
from structuredbandits.simulation import Results
from structuredbandits.structure import Structure
from structuredbandits.structure.theta import show_theta
from structuredbandits.theory import analyze


def simulated(
    request: Request, problem: Problem | str, policies: list[str], **options: Any
) -> Results:
    """Simulate as the request says, at the problem's own θ and horizon unless told otherwise."""
    return request.simulate(
        problem,
        policies,
        runs=request.runs,
        seed=request.seed,
        n_jobs=request.n_jobs,
        progress="off",
        **options,
    )


def settings_of(results: Results, **more: Any) -> dict[str, Any]:
    """What it takes to do it again."""
    return {
        "problem": results.problem,
        "policies": list(results.policies),
        "theta": [str(theta) for theta in results.thetas],
        "horizon": results.horizon,
        "runs": results.runs,
        "seed": results.seed,
        **more,
    }


def counts_of(structure: Structure, results: Results, said: list[int], of: str = PAPER) -> Claim:
    """The number of competitive arms at every θ* that was tried is what is said of it."""
    found = [analyze(structure, theta=theta).C for theta in results.thetas]
    pairs = zip(results.thetas, said, strict=True)
    return Claim(
        ", ".join(f"C({show_theta(theta).strip('()')}) = {count}" for theta, count in pairs),
        found == said,
        f"computed exactly: {', '.join(map(str, found))}",
        of,
    )


def with_functions(structure: Structure, results: Results, claims: list[Claim]) -> Outcome:
    """The regret of all policies beside the reward functions."""
    return Outcome(
        {"regret": regret_plot(results), "functions": regions_plot(analyze(structure))},
        results.summary(),
        tuple(claims),
        settings_of(results),
    )


def joined(tables: dict[str, pd.DataFrame], column: str) -> pd.DataFrame:
    """Several tables as one, with a column that says which."""
    return pd.concat([table.assign(**{column: name}) for name, table in tables.items()])
