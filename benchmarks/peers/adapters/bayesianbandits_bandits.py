from importlib.metadata import version

import numpy as np
from bayesianbandits import (
    Agent,
    Arm,
    DirichletClassifier,
    NormalRegressor,
    ThompsonSampling,
    UpperConfidenceBound,
)

VERSION = version("bayesianbandits")


def make(policy, n_arms, sigma, seed):
    if policy == "ts-beta":
        learners = [
            DirichletClassifier({0: 1.0, 1: 1.0}, random_state=seed + k) for k in range(n_arms)
        ]
        arms = [Arm(k, lambda x: x[..., 1], learner) for k, learner in enumerate(learners)]
        rule = ThompsonSampling()
    else:
        # A nearly flat prior, and the precision of the noise.
        arms = [
            Arm(k, learner=NormalRegressor(alpha=1e-6, beta=1 / sigma**2, random_state=seed + k))
            for k in range(n_arms)
        ]
        rule = {"ts": ThompsonSampling, "ucb": UpperConfidenceBound}[policy]()
    agent = Agent(arms, rule, random_seed=seed)

    def pull():
        return agent.pull()[0]

    def update(arm, reward):
        agent.select_for_update(arm).update(
            np.array([int(reward) if policy == "ts-beta" else reward])
        )

    return pull, update
