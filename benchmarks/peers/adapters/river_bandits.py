from importlib.metadata import version

import gymnasium
from river import bandit, proba

VERSION = version("river")


def make(policy, n_arms, sigma, seed):
    arms = list(range(n_arms))
    if policy == "ucb":
        # River's index is mean + delta * sqrt(2 log(t) / n).
        agent = bandit.UCB(delta=sigma, seed=seed)
    elif policy == "ts":
        agent = bandit.ThompsonSampling(reward_obj=proba.Gaussian(seed=seed), seed=seed)
    elif policy == "ts-beta":
        agent = bandit.ThompsonSampling(reward_obj=proba.Beta(1, 1, seed=seed), seed=seed)
    else:
        raise KeyError(policy)
    return (lambda: agent.pull(arms)), agent.update


def simulator(n_arms, horizon):
    """One policy, one episode of `bandit.evaluate` on River's own environment."""
    policy = bandit.UCB(delta=1, seed=0)
    env = gymnasium.wrappers.TimeLimit(bandit.envs.KArmedTestbed(k=n_arms), horizon)
    for _ in bandit.evaluate(policies=[policy], env=env, n_episodes=1, seed=0):
        pass
