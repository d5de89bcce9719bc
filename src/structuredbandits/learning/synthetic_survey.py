"""Synthetic surveys: logs drawn at random from an embedded problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from structuredbandits.errors import InvalidInput
from structuredbandits.problems import Problem, load_problem

if TYPE_CHECKING:
    import pandas as pd


def simulate_survey(
    problem: str | Problem = "movielens", *, rows: int = 10_000, seed: int = 0
) -> pd.DataFrame:
    """Draw a survey: people of known segments, each asked about one arm.

    Segments are drawn with their shares, arms uniformly, and rewards from the problem's
    environment. No row comes from a real data set.

    Parameters
    ----------
    problem
        An embedded name or a `Problem`; its Θ are the segments.
    rows
        The number of people.
    seed
        Equal seeds give equal surveys.

    Returns
    -------
    DataFrame
        One column per part of θ, then "arm" and "reward".

    Examples
    --------
    >>> survey = simulate_survey("movielens", rows=2, seed=7)
    >>> list(survey.columns), len(survey)
    (['age', 'occupation', 'arm', 'reward'], 2)
    """
    import pandas as pd

    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise InvalidInput(
            f"rows = {rows!r} is not a number of people; give a whole number from 1."
        )
    source = load_problem(problem) if isinstance(problem, str) else problem
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    structure, parameters = source.structure, source.structure.parameters
    prior = structure.prior if structure.prior is not None else parameters.weights
    who = generator.choice(len(parameters), size=rows, p=prior)
    what = generator.integers(structure.n_arms, size=rows)
    rewards = np.empty(rows)
    for i in np.unique(who).tolist():
        theta = parameters[i]
        asked = np.flatnonzero(who == i)
        rewards[asked] = draw_rewards(source, theta, what[asked], generator)
    members = [parameters[i] for i in who.tolist()]
    parts = [member if isinstance(member, tuple) else (member,) for member in members]
    columns = {name: [part[place] for part in parts] for place, name in enumerate(parameters.names)}
    arms = np.array(structure.arms, dtype=object)[what]
    return pd.DataFrame({**columns, "arm": arms, "reward": rewards})


def draw_rewards(
    problem: Problem, theta: object, arms: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """Draw one reward per entry of `arms`, which holds positions, at a θ."""
    environment: Any = problem.environment
    if hasattr(environment, "quantile_table"):
        cumulative, values = environment.quantile_table(theta)
        uniform = generator.random(len(arms))
        places = (uniform[:, np.newaxis] >= cumulative[arms]).sum(axis=1)
        return np.asarray(values[places])
    if hasattr(environment, "location"):
        noise = generator.standard_normal(len(arms))
        return np.asarray(
            environment.location(theta)[arms] + environment.scale(theta)[arms] * noise
        )
    raise InvalidInput(
        f"rewards of a {type(environment).__name__} cannot be drawn as an array; give it a "
        "quantile_table, or location and scale."
    )
