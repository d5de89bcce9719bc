"""Shared parts of simulated experiments: simulation, settings, claims, figures and tables."""

from __future__ import annotations

from typing import Any

import pandas as pd

from structuredbandits.experiments.experiment import PAPER, Claim, ExperimentRequest, Outcome
from structuredbandits.plots import regions_plot, regret_plot
from structuredbandits.problems import Problem
from structuredbandits.simulation import Results
from structuredbandits.structure import Structure, show_theta
from structuredbandits.theory import analyze


def simulated(
    request: ExperimentRequest, problem: Problem | str, policies: list[str], **options: Any
) -> Results:
    """Simulate with the arguments of the request, by default at the problem's θ and horizon."""
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
    """Return the settings that reproduce the results."""
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
    """Claim the number of competitive arms at every simulated θ*."""
    found = [analyze(structure, theta=theta).C for theta in results.thetas]
    pairs = zip(results.thetas, said, strict=True)
    return Claim(
        ", ".join(f"C({show_theta(theta).strip('()')}) = {count}" for theta, count in pairs),
        found == said,
        f"computed exactly: {', '.join(map(str, found))}",
        of,
    )


def with_functions(structure: Structure, results: Results, claims: list[Claim]) -> Outcome:
    """Return the outcome with the regret of all policies and the reward functions."""
    return Outcome(
        {"regret": regret_plot(results), "functions": regions_plot(analyze(structure))},
        results.summary(),
        tuple(claims),
        settings_of(results),
    )


def joined(tables: dict[str, pd.DataFrame], column: str) -> pd.DataFrame:
    """Join tables, with a column that names their source."""
    return pd.concat([table.assign(**{column: name}) for name, table in tables.items()])
