"""Synthetic decision logs: a policy serves simulated subjects, and its decisions are logged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from structuredbandits.errors import InvalidInput
from structuredbandits.evaluation._target_policy import AlgorithmTarget, fixed_target
from structuredbandits.learning.synthetic_survey import draw_rewards
from structuredbandits.policies.registry import make_algorithm
from structuredbandits.problems import Problem, load_problem

if TYPE_CHECKING:
    import pandas as pd


def simulate_log(
    problem: str | Problem = "movielens",
    policy: Any = "uniform",
    *,
    subjects: int = 100,
    rounds: int = 20,
    seed: int = 0,
    reveal: bool = False,
) -> pd.DataFrame:
    """Simulate a policy that serves subjects, and return its log in the form that `evaluate` reads.

    Parameters
    ----------
    problem
        An embedded name or a `Problem`. Each subject's θ is drawn from the prior.
    policy
        "uniform", "always NAME", or an algorithm or its name. For useful estimates it
        should give every arm a positive probability, as in "ts-c(floor=0.2)".
    subjects, rounds
        The number of subjects, and of decisions per subject.
    seed
        Equal seeds give equal logs.
    reveal
        True to add a column "theta" with the number of the hidden θ.

    Returns
    -------
    DataFrame
        Columns subject, decision, arm, reward, probability.

    Examples
    --------
    >>> log = simulate_log("movielens", "ucb-c(floor=0.5)", subjects=2, rounds=3, seed=7)
    >>> list(log.columns), len(log)
    (['subject', 'decision', 'arm', 'reward', 'probability'], 6)
    """
    import pandas as pd

    for what, number in (("subjects", subjects), ("rounds", rounds)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise InvalidInput(f"{what} = {number!r}; give a whole number from 1.")
    source = load_problem(problem) if isinstance(problem, str) else problem
    structure = source.structure
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    fixed = fixed_target(policy, structure.arms) if isinstance(policy, str) else None
    run = None
    if fixed is None:
        run = AlgorithmTarget(make_algorithm(policy), structure, rounds)
    prior = structure.prior if structure.prior is not None else structure.parameters.weights
    hidden = generator.choice(structure.n_parameters, size=subjects, p=prior)
    chosen = np.empty((subjects, rounds), dtype=np.int64)
    rewards, probabilities = np.empty((2, subjects, rounds))
    everything = np.arange(structure.n_arms)
    for i in range(subjects):
        theta = structure.parameters[int(hidden[i])]
        if run is not None:
            run.start()
        for t in range(rounds):
            shares = fixed.shares if fixed is not None else None
            if run is not None:
                shares = run.choice_probabilities(everything)
            arm = int(generator.choice(structure.n_arms, p=shares))
            reward = float(draw_rewards(source, theta, np.array([arm]), generator)[0])
            if run is not None:
                run.learn(arm, reward)
            assert shares is not None
            chosen[i, t], rewards[i, t], probabilities[i, t] = arm, reward, shares[arm]
    columns = {
        "subject": np.repeat(np.arange(subjects), rounds),
        "decision": np.tile(np.arange(rounds), subjects),
        "arm": np.array(structure.arms, dtype=object)[chosen.ravel()],
        "reward": rewards.ravel(),
        "probability": probabilities.ravel(),
    }
    return pd.DataFrame(columns | ({"theta": np.repeat(hidden, rounds)} if reveal else {}))
