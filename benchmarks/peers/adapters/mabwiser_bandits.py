from importlib.metadata import version

import numpy as np
from mabwiser.mab import MAB, LearningPolicy
from mabwiser.simulator import Simulator

VERSION = version("mabwiser")


def make(policy, n_arms, sigma, seed):
    arms = list(range(n_arms))
    rules = {
        # Its index is mean + alpha * sqrt(2 log(t) / n).
        "ucb": lambda: LearningPolicy.UCB1(alpha=sigma),
        "ts-beta": LearningPolicy.ThompsonSampling,
    }
    agent = MAB(arms, rules[policy](), seed=seed)
    waiting = list(arms)  # fit must precede predict, so each arm is pulled once

    def pull():
        return waiting[0] if waiting else agent.predict()

    seen = ([], [])

    def update(arm, reward):
        if waiting:
            waiting.pop(0)
            seen[0].append(arm)
            seen[1].append(reward)
            if not waiting:
                agent.fit(np.array(seen[0]), np.array(seen[1]))
        else:
            agent.partial_fit([arm], [reward])

    return pull, update


def simulator(n_arms, horizon):
    """Its replay of logged decisions, in one batch."""
    generator = np.random.default_rng(0)
    decisions = generator.integers(n_arms, size=2 * horizon)
    rewards = generator.normal(size=2 * horizon)
    agent = MAB(list(range(n_arms)), LearningPolicy.UCB1(alpha=1.0), seed=0)
    replay = Simulator([("ucb", agent)], decisions, rewards, test_size=0.5, batch_size=0,
                       is_quick=True, seed=0)  # fmt: skip
    replay.logger.disabled = True
    replay.run()
