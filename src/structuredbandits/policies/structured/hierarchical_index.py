"""The hierarchical model with an index for a known number of rounds in place of random draws.

This room turns a belief about each arm's mean into the arm that is worth most over the rounds to
come. It must not know how the belief was learned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits._compiled import inline, kernel
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.memory import Memory
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.index import share_of_ties
from structuredbandits.policies.protocol import Moment, decide, implements, learn, restore
from structuredbandits.policies.structured.hierarchical_boundary import worth_of_doubt
from structuredbandits.policies.structured.hierarchical_model import (
    ErrorModel,
    error_model,
    list_plausible,
    posterior_of_mean,
    require_errors,
    require_settings,
    tree_rows,
    weigh_all,
    weigh_arm,
)

if TYPE_CHECKING:
    from structuredbandits.structure import Structure

# Where nobody says how many rounds there will be, three times as many as were played.
_AHEAD = 3


class HierarchicalIndexAgent(NamedTuple):
    """Parameters of the hierarchical index in compiled code."""

    model: ErrorModel
    centres: np.ndarray  # (arms,) the middle of each arm's map: squares around it keep their digits


class BeliefMemory(NamedTuple):
    """Memory of a run: the posterior over θ, and each arm's mean given θ.

    Arms lie side by side, so that a sum over θ runs through all arms at once.
    """

    integers: np.ndarray  # (1, parameters) the plausible θ
    floats: np.ndarray  # (tree rows, parameters) log likelihoods; row 0 holds weights
    marks: np.ndarray  # none: no confidence set is kept
    means: np.ndarray  # (parameters, arms) mean of the belief, from the centre
    squares: np.ndarray  # (parameters, arms) mean square of the belief, from the centre
    sums: np.ndarray  # (2, arms) their sums over the plausible θ


@dataclass(frozen=True, repr=False)
class HierarchicalIndex(Algorithm):
    """Pull the arm whose mean, with a bonus for what may still be learned of it, is largest.

    The model is that of `Hierarchical`: a prior over θ, and a map whose means are known up to
    their standard errors. The belief about an arm's true mean is a mixture over θ; with its mean m
    and variance v the index is m + √v · b(R · v / noise²), where R is the number of rounds to come
    and b the boundary of Chernoff and Ray: the finite-horizon Gittins index of a normal arm. So
    doubt that can no longer pay is not explored: with 5,000 rounds it has about half the regret of
    Thompson sampling from the same posterior.

    Parameters
    ----------
    noise
        Standard deviation of one reward. None: what the structure's own counts and standard errors
        imply, or its sigma if they imply nothing (see `reward_variance`).
    use_prior
        Whether to use the structure's prior over θ. Without it (the default) Θ is uniform, and θ
        that are rare are served as well as common ones: an index explores so little that with a
        prior it hardly ever finds them.
    doubt
        Factor on the standard errors. They count only the sampling of the map's own data; those
        who are served are another sample. On resplits of training data 2 costs a tenth of the mean
        regret over 1 and halves that of the worst runs.

    Notes
    -----
    Give the run its ``horizon``; without one it assumes that three times as many rounds are to
    come as were played. It treats the arms' beliefs as if they were normal and independent: no
    regret bound is proved for it. Its choices are not random, so rewards that come late let it
    repeat an arm; `Hierarchical` spreads its pulls then.

    References
    ----------
    H. Chernoff, S. N. Ray, "A Bayes sequential sampling inspection plan", Annals of Mathematical
    Statistics 36, 1965; T. Lattimore, "Regret analysis of the finite-horizon Gittins index strategy
    for multi-armed bandits", COLT 2016.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.7]], sigma=1.0, standard_errors=[[0.1, 0.3]])
    >>> HierarchicalIndex().start(known, horizon=1).pull()
    '1'
    >>> HierarchicalIndex().start(known, horizon=1000).pull()
    '2'
    """

    noise: float | None = None
    use_prior: bool = False
    doubt: float = 2.0
    name: ClassVar[str] = "hierarchical-index"

    def __post_init__(self) -> None:
        require_settings("HierarchicalIndex", noise=self.noise, doubt=self.doubt)

    def check(self, structure: Structure) -> None:
        require_errors(self.name, structure)

    def agent(self, structure: Structure, rounds: int, horizon: int) -> HierarchicalIndexAgent:
        model = error_model(structure, self.noise, bool(self.use_prior), float(self.doubt))
        return HierarchicalIndexAgent(model, model.means.mean(axis=1))

    def memory(self, structure: Structure) -> Memory:
        n_parameters, n_arms = structure.n_parameters, structure.n_arms
        whole: Any = BeliefMemory(
            np.zeros((1, n_parameters), dtype=np.int64),
            np.zeros((tree_rows(n_arms), n_parameters)),
            np.zeros(0, dtype=np.int16),
            np.zeros((n_parameters, n_arms)),
            np.zeros((n_parameters, n_arms)),
            np.zeros((2, n_arms)),
        )
        return whole  # type: ignore[no-any-return]  # compiled code asks only for its fields

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        result = np.zeros(snapshot.block.shape[1])
        values = mixture_indices(snapshot.agent, snapshot.memory, allowed, snapshot.moment)
        result[allowed] = share_of_ties(values, snapshot.block[5][allowed])
        return result


@inline
def _believe(
    agent: HierarchicalIndexAgent, memory: BeliefMemory, evidence: Evidence, arm: int
) -> None:
    """Mean and mean square of an arm's true mean at every θ, from the arm's centre."""
    for parameter in range(memory.means.shape[0]):
        mean, variance = posterior_of_mean(agent.model, evidence, parameter, arm)
        distance = mean - agent.centres[arm]
        memory.means[parameter, arm] = distance
        memory.squares[parameter, arm] = variance + distance * distance


@implements(restore, HierarchicalIndexAgent)
def _restore(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
    weigh_all(agent.model, memory.floats, evidence)
    for arm in range(evidence.counts.size):
        _believe(agent, memory, evidence, arm)


@implements(learn, HierarchicalIndexAgent)
def _learn(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
    weigh_arm(agent.model, memory.floats, evidence, arm)
    _believe(agent, memory, evidence, arm)


@inline
def rounds_to_come(moment: Moment) -> float:
    """How many rounds an arm's worth counts for, at least this one."""
    if moment.horizon > 0:
        return float(max(moment.horizon - moment.decided, 1))
    return float(_AHEAD * (moment.decided + 1))


@inline
def _sum_up(agent: HierarchicalIndexAgent, memory: BeliefMemory) -> None:
    """Mean and mean square of every arm over the plausible θ."""
    weights, parameters, sums = memory.floats[0], memory.integers[0], memory.sums
    n_plausible = list_plausible(agent.model, memory.floats[1], weights, parameters)
    n_arms = agent.centres.size
    for arm in range(n_arms):
        sums[0, arm], sums[1, arm] = 0.0, 0.0
    for place in range(n_plausible):
        weight = weights[place]
        means, squares = memory.means[parameters[place]], memory.squares[parameters[place]]
        for arm in range(n_arms):
            sums[0, arm] += weight * means[arm]
            sums[1, arm] += weight * squares[arm]


@inline
def mixture_index(
    agent: HierarchicalIndexAgent, memory: BeliefMemory, arm: int, rounds: float
) -> float:
    """The index of one arm, from its summed beliefs."""
    mean = memory.sums[0, arm]
    variance = max(memory.sums[1, arm] - mean * mean, 0.0)
    doubt = worth_of_doubt(rounds * variance / agent.model.noise[arm])
    return float(agent.centres[arm] + mean + math.sqrt(variance) * doubt)


@implements(decide, HierarchicalIndexAgent)
def _decide(
    agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    _sum_up(agent, memory)
    rounds = rounds_to_come(moment)
    best, chosen, ties = -math.inf, -1, 0
    for place in range(allowed.size):
        arm = allowed[place]
        value = mixture_index(agent, memory, arm, rounds)
        if value > best:
            best, chosen, ties = value, arm, 1
        elif value == best:
            ties += 1
            if generator.random() * ties < 1.0:
                chosen = arm
    return chosen


@kernel
def mixture_indices(
    agent: HierarchicalIndexAgent, memory: Any, allowed: np.ndarray, moment: Moment
) -> np.ndarray:
    """Index of each allowed arm: (allowed,)."""
    _sum_up(agent, memory)
    values = np.empty(allowed.size)
    for place in range(allowed.size):
        values[place] = mixture_index(agent, memory, allowed[place], rounds_to_come(moment))
    return values
