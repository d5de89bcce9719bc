import contextlib
import io
from importlib.metadata import version

import numpy as np

with contextlib.redirect_stdout(io.StringIO()):
    from SMPyBandits.Arms import Gaussian
    from SMPyBandits.Environment import Evaluator
    from SMPyBandits.Policies import Thompson, UCBalpha, klUCB
    from SMPyBandits.Policies.Posterior import Beta, Gauss

VERSION = version("SMPyBandits")


def make(policy, n_arms, sigma, seed):
    # It draws from NumPy's global generator.
    np.random.seed(seed % 2**32)  # noqa: NPY002
    if policy == "ucb":
        # Its index is mean + sqrt(alpha log(t) / (2 n)).
        agent = UCBalpha(n_arms, alpha=4 * sigma**2)
    elif policy == "ts":
        agent = Thompson(n_arms, posterior=Gauss)
    elif policy == "ts-beta":
        agent = Thompson(n_arms, posterior=Beta)
    elif policy == "kl-ucb-bernoulli":
        agent = klUCB(n_arms)
    else:
        raise KeyError(policy)
    agent.startGame()
    return agent.choice, agent.getReward


def simulator(n_arms, horizon):
    """Its Evaluator: one policy, one repetition."""
    configuration = {
        "horizon": horizon,
        "repetitions": 1,
        "n_jobs": 1,
        "verbosity": 0,
        "environment": [{"arm_type": Gaussian, "params": [k / n_arms for k in range(n_arms)]}],
        "policies": [{"archtype": UCBalpha, "params": {"alpha": 1}}],
        "showplot": False,
        "averageOn": 1,
    }
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        evaluator = Evaluator(configuration)
        evaluator.startOneEnv(0, evaluator.envs[0])
