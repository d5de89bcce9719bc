"""Hierarchical Thompson sampling: a posterior that takes the structure's errors into account.

A structure learned from a sample has sampling errors, and a policy that takes it for exact can stay
wrong forever. This policy draws θ and the means from the model of these errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits._compiled import inline, kernel
from structuredbandits.confidence.evidence import Evidence, evidence_of
from structuredbandits.confidence.memory import Memory
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.max_of_normals import (
    Normals,
    add_largest_precisely,
    new_workspace,
    precise_normals,
)
from structuredbandits.policies.parameter_checks import LARGEST, positive
from structuredbandits.policies.protocol import decide, implements, learn, restore
from structuredbandits.policies.registration import register
from structuredbandits.policies.structured.hierarchical_model import (
    ErrorModel,
    draw_parameter,
    error_model,
    list_plausible,
    posterior_of_mean,
    require_errors,
    tree_rows,
    weigh_all,
    weigh_arm,
)
from structuredbandits.policies.ties import take_larger

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class HierarchicalAgent(NamedTuple):
    """Parameters of hierarchical Thompson sampling in compiled code."""

    model: ErrorModel
    spread: float  # factor on the standard deviation of a drawn mean


@register(
    summary="Thompson sampling on a learned structure, with its standard errors.",
    use="Structures learned from data: it corrects them as rewards come in.",
    needs=("standard errors",),
    colour="purple",
    order=120,
)
@dataclass(frozen=True, repr=False)
class Hierarchical(Algorithm):
    """Draw θ from its posterior, then each arm's mean given θ; pull the largest.

    The model: θ has the structure's prior; given θ, arm k's true mean is N(mu_k(θ), e_k(θ)²) with
    e the standard error, and its rewards are N(mean, noise²). With e = 0 this is
    posterior sampling over θ; as e grows without bound it becomes Thompson sampling on the
    rewards alone. Of Bernoulli rewards, the rate has a Beta distribution, fitted across the
    segments of the arm, and rewards are binomial; a mean is then drawn from the normal
    distribution with the mean and variance of the rate's posterior.

    Parameters
    ----------
    noise
        Standard deviation of one reward; with it rewards count as Gaussian. None: what the
        structure's own counts and standard errors imply, or its sigma if they imply nothing (see
        `reward_variance`).
    use_prior
        Whether to use the structure's prior over θ; uniform over Θ otherwise.
    spread
        Factor on the standard deviation of the drawn means: 1 is Thompson sampling.

    Notes
    -----
    Where the model holds, this is Thompson sampling with the right prior, and the Bayesian regret
    bounds of Thompson sampling apply. No regret bound is proved for a structure that is wrong in
    other ways than its standard errors say; `Robust` is for that.

    References
    ----------
    J. Hong, B. Kveton, M. Zaheer, M. Ghavamzadeh, "Hierarchical Bayesian bandits", AISTATS 2022,
    for Thompson sampling with two levels.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=1.0, prior=[3, 1],
    ...     standard_errors=[[0.5, 0.5], [0.5, 0.5]])
    >>> shares = Hierarchical().start(known, seed=7).probabilities()
    >>> {arm: round(share, 4) for arm, share in shares.items()}
    {'1': 0.6916, '2': 0.3084}
    """

    noise: float | None = positive(None, at_most=LARGEST)
    use_prior: bool = True
    spread: float = positive(1.0)
    name: ClassVar[str] = "hierarchical"
    shares_are_compiled: ClassVar[bool] = True
    depends_on_rewards_alone: ClassVar[bool] = True

    def check(self, structure: Structure) -> None:
        require_errors(self.name, structure)

    def agent(self, structure: Structure, rounds: int, horizon: int) -> HierarchicalAgent:
        model = error_model(structure, self.noise, bool(self.use_prior))
        return HierarchicalAgent(model, float(self.spread))

    def memory(self, structure: Structure) -> Memory:
        return Memory(
            np.zeros((1, 1), dtype=np.int64),
            np.zeros((tree_rows(structure.n_arms), structure.n_parameters)),
            np.zeros(0, dtype=np.int16),
        )

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        result = np.zeros(snapshot.n_arms)
        result[allowed] = winning_shares(
            snapshot.agent, snapshot.memory.floats, snapshot.block, allowed, precise_normals()
        )
        return result


@implements(restore, HierarchicalAgent)
def _restore(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
    weigh_all(agent.model, memory.floats, evidence)


@implements(learn, HierarchicalAgent)
def _learn(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
    weigh_arm(agent.model, memory.floats, evidence, arm)


@implements(decide, HierarchicalAgent)
def _decide(
    agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    return draw_arm(agent, memory.floats, evidence, allowed, allowed.size, generator)


@inline
def draw_arm(
    agent: HierarchicalAgent,
    tree: np.ndarray,
    evidence: Evidence,
    candidates: np.ndarray,
    n_candidates: int,
    generator: Any,
) -> int:
    """Draw θ and the means of the first ``n_candidates`` candidates; the arm of the largest."""
    parameter = draw_parameter(agent.model, tree, generator)
    best, chosen, ties = -math.inf, -1, 0
    for place in range(n_candidates):
        arm = np.int64(candidates[place])
        mean, variance = posterior_of_mean(agent.model, evidence, parameter, arm)
        value = mean + agent.spread * math.sqrt(variance) * generator.standard_normal()
        best, chosen, ties = take_larger(best, chosen, ties, value, arm, generator)
    return chosen


@kernel
def winning_shares(
    agent: HierarchicalAgent,
    tree: np.ndarray,
    block: np.ndarray,
    candidates: np.ndarray,
    normals: Normals,
) -> np.ndarray:
    """Probability that each candidate's drawn mean is the largest: (candidates,).

    ``normals`` is `precise_normals()`.
    """
    evidence, n_parameters = evidence_of(block), agent.model.log_prior.size
    weights, parameters = np.empty(n_parameters), np.empty(n_parameters, dtype=np.int64)
    count = list_plausible(agent.model, tree[1], weights, parameters)
    means, deviations = np.empty(candidates.size), np.empty(candidates.size)
    shares = np.zeros(candidates.size)
    scratch, work = new_workspace(normals, candidates.size)
    for number in range(count):
        for place in range(candidates.size):
            mean, variance = posterior_of_mean(
                agent.model, evidence, parameters[number], candidates[place]
            )
            means[place], deviations[place] = mean, agent.spread * math.sqrt(variance)
        add_largest_precisely(
            normals, means, deviations, means.size, weights[number], scratch, work, shares
        )
    return shares
