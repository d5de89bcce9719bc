from importlib.metadata import version

import numpy as np
import vowpalwabbit

VERSION = version("vowpalwabbit")
OPTIONS = {"ucb": "--regcbopt", "ts": "--bag 5"}


def make(policy, n_arms, sigma, seed):
    """Its contextual bandits without a context; none of them is a textbook policy."""
    agent = vowpalwabbit.Workspace(
        f"--cb_explore {n_arms} {OPTIONS[policy]} --quiet --random_seed {seed}"
    )
    generator = np.random.default_rng(seed)
    chosen = [0.0]

    def pull():
        shares = np.asarray(agent.predict("| constant"))
        arm = int(np.searchsorted(np.cumsum(shares), generator.random() * shares.sum()))
        arm = min(arm, n_arms - 1)
        chosen[0] = float(shares[arm])
        return arm

    def update(arm, reward):
        agent.learn(f"{arm + 1}:{-reward}:{chosen[0]} | constant")

    return pull, update
