"""Bayes-UCB: the posterior's upper quantile as index."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits.policies.index_policy import IndexAlgorithm
from structuredbandits.policies.parameter_checks import number
from structuredbandits.policies.protocol import implements, index
from structuredbandits.policies.registration import register

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class BayesUCBAgent(NamedTuple):
    """Parameters of Bayes-UCB in compiled code."""

    quantiles: np.ndarray  # (rounds + 1,) standard normal quantile at each round


@register(
    summary="A high quantile of each arm's posterior.",
    use="A deterministic counterpart of Thompson sampling.",
    needs=("horizon",),
    colour="indigo",
    order=80,
)
@dataclass(frozen=True, repr=False)
class BayesUCB(IndexAlgorithm):
    """Quantile 1 - 1/(t (log T)^c) of N(mu_hat_k, sigma_k²/n_k), with t the coming round.

    Without a horizon T it is 1 - 1/t, which is the authors' advice for c as well (c = 0).

    References
    ----------
    E. Kaufmann, O. Cappé, A. Garivier, "On Bayesian upper confidence bounds for bandit problems",
    AISTATS 2012.
    """

    c: float = number(0.0, at_least=0.0)
    name: ClassVar[str] = "bayes-ucb"

    def agent(self, structure: Structure, rounds: int, horizon: int) -> BayesUCBAgent:
        from scipy.special import ndtri

        coming = np.arange(rounds + 1, dtype=float) + 1.0
        slowing = math.log(max(horizon, 2)) ** self.c if horizon > 0 else 1.0
        tail = 1.0 / (np.maximum(coming, 2.0) * max(slowing, 1.0))
        return BayesUCBAgent(-ndtri(tail))


@implements(index, BayesUCBAgent)
def _index(agent: Any, arm: Any, moment: Any, generator: Any) -> Any:
    return arm.mean + agent.quantiles[moment.received] * arm.scale
