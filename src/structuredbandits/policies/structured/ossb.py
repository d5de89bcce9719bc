"""OSSB: as much exploration as the lower bound asks for at the estimated θ, and not more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits._compiled.lazy_rows import LazyRows, LazyTable, fill_row
from structuredbandits.confidence.joint_set import (
    JointTables,
    best_fit,
    fill_misfits,
    scratch_memory,
)
from structuredbandits.confidence.memory import Memory
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.parameter_checks import number
from structuredbandits.policies.registration import register
from structuredbandits.policies.structured.belief import likelihood_tables
from structuredbandits.policies.structured.score_policy import ScoreAlgorithm, scores_of

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class OSSBAgent(NamedTuple):
    """Parameters of OSSB in compiled code."""

    joint: JointTables
    rates: LazyRows  # (parameters, arms) the pulls for each log t that the lower bound asks for
    slack: float  # 1 + gamma
    epsilon: float


@register(
    summary="Explore each arm as often as the lower bound on regret requires.",
    use="Long horizons on a structure that is right.",
    colour="sky",
    order=220,
)
@dataclass(frozen=True, repr=False)
class OSSB(ScoreAlgorithm):
    """Explore as the lower bound's program asks at the least-squares θ̂: c_k log t pulls of arm k.

    θ̂ minimises Σ_k n_k (mu_hat_k − mu_k(θ))²/sigma_k² over Θ; for Bernoulli rewards both it and
    the program have their likelihood. If n_k ≥ (1 + gamma) c_k(θ̂) log t
    for every arm, the best arm at θ̂ is pulled; otherwise the least pulled arm, if it has at most
    epsilon · s pulls, and else the arm of the smallest n_k / c_k. Where the program asks for
    nothing it is greedy. s counts exploration; here it is the number of pulls of all but the most
    pulled arm, so that the counts are all that a run has to remember.

    Parameters
    ----------
    gamma, epsilon
        How much more is explored than the program asks for, and how much at least.

    References
    ----------
    R. Combes, S. Magureanu, A. Proutière, "Minimal exploration in structured stochastic bandits",
    NIPS 2017.
    """

    gamma: float = number(0.0, at_least=0.0)
    epsilon: float = number(0.01, at_least=0.0)
    name: ClassVar[str] = "ossb"

    def check(self, structure: Structure) -> None:
        if not structure.exact:
            loose = (structure.lower < structure.upper).any(axis=0)
            raise InvalidPolicy(
                f"ossb needs exact means, but arm {structure.arms[int(loose.argmax())]!r} has "
                "bounds; use a policy such as ucb-c."
            )

    def agent(self, structure: Structure, rounds: int, horizon: int) -> OSSBAgent:
        return OSSBAgent(
            likelihood_tables(structure),
            exploration_rates(structure).rows,
            1.0 + self.gamma,
            float(self.epsilon),
        )

    def memory(self, structure: Structure) -> Memory:
        columns = max(structure.n_parameters, structure.n_arms)
        return scratch_memory(structure.n_arms, 2, columns)


@lru_cache(maxsize=8)
def exploration_rates(structure: Structure) -> LazyTable:
    """The lower bound's pulls for each log t at every θ; solved when a θ is first estimated."""
    from structuredbandits.theory.lower_bound import lower_bound

    def rates_at(parameter: int) -> np.ndarray:
        return lower_bound(structure, structure.parameters[parameter]).rates

    return LazyTable(structure.n_parameters, structure.n_arms, rates_at)


@scores_of(OSSBAgent)
def _score(agent: Any, floats: Any, evidence: Any, allowed: Any, moment: Any) -> Any:
    scores, misfits = floats[0], floats[1]
    fill_misfits(agent.joint, evidence, misfits)
    estimate = best_fit(misfits, agent.joint.lower.shape[1])
    if not agent.rates.filled[estimate]:
        fill_row(agent.rates.address, estimate)
        if not agent.rates.filled[estimate]:
            raise ArithmeticError("the program of the lower bound could not be solved")
    rates = agent.rates.values[estimate]
    most, total = 0.0, 0.0
    for arm in range(rates.size):
        most = max(most, evidence.counts[arm])
        total += evidence.counts[arm]
    satisfied, least = True, math.inf
    for place in range(allowed.size):
        arm = allowed[place]
        pulls = evidence.counts[arm] + evidence.pending[arm]
        least = min(least, pulls)
        if pulls < agent.slack * rates[arm] * moment.log_t:
            satisfied = False
    for place in range(allowed.size):
        arm = allowed[place]
        pulls = evidence.counts[arm] + evidence.pending[arm]
        if satisfied:
            scores[place] = agent.joint.lower[arm, estimate]
        elif least <= agent.epsilon * (total - most):
            scores[place] = -pulls
        elif rates[arm] > 0.0:
            scores[place] = -pulls / rates[arm]
        else:
            scores[place] = -math.inf
