from importlib.metadata import version

from pybandits.model import Beta
from pybandits.smab import SmabBernoulli

VERSION = version("pybandits")


def make(policy, n_arms, sigma, seed):
    if policy != "ts-beta":
        raise KeyError(policy)
    names = [str(k) for k in range(n_arms)]
    agent = SmabBernoulli(actions={name: Beta() for name in names}, random_seed=seed)

    def pull():
        return int(agent.predict(n_samples=1)[0][0])

    def update(arm, reward):
        agent.update(actions=[names[arm]], rewards=[int(reward)])

    return pull, update
