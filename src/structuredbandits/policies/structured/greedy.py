"""Greedy: the arm of the largest posterior mean, without any exploration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits._compiled import inline, kernel
from structuredbandits.confidence.evidence import Evidence, evidence_of
from structuredbandits.confidence.memory import Memory
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.parameter_checks import LARGEST, positive
from structuredbandits.policies.protocol import decide, implements, learn, restore
from structuredbandits.policies.registration import register
from structuredbandits.policies.structured.hierarchical_model import (
    ErrorModel,
    list_plausible,
    model_with_bounds,
    posterior_of_mean,
    tree_rows,
    weigh_all,
    weigh_arm,
)
from structuredbandits.policies.ties import share_of_ties, take_larger

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class PosteriorMeanAgent(NamedTuple):
    """Parameters of the greedy policy in compiled code."""

    model: ErrorModel


@register(
    summary="The arm of the largest posterior mean: it never explores.",
    use="A few interactions per subject, where exploring cannot pay.",
    colour="brown",
    order=114,
)
@dataclass(frozen=True, repr=False)
class Greedy(Algorithm):
    """argmax_k E[mu_k | rewards], the best choice for the very next reward.

    The model is that of `Hierarchical`: θ has the structure's prior, and means are known up to
    their standard errors. Without standard errors they are exact, or uniform between bounds.

    Parameters
    ----------
    noise
        Standard deviation of one reward. None: what the structure's own counts and standard errors
        imply, or its sigma if they imply nothing (see `reward_variance`).

    References
    ----------
    H. Bastani, M. Bayati, K. Khosravi, "Mostly exploration-free algorithms for contextual bandits",
    Management Science 67(3), 2021, for when no exploration is needed.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], arms=["a", "b"], sigma=1.0)
    >>> policy = Greedy().start(known)
    >>> policy.update("b", -1.0)
    >>> policy.pull()
    'a'
    """

    noise: float | None = positive(None, at_most=LARGEST)
    name: ClassVar[str] = "greedy"

    def agent(self, structure: Structure, rounds: int, horizon: int) -> PosteriorMeanAgent:
        return PosteriorMeanAgent(model_with_bounds(structure, self.noise))

    def memory(self, structure: Structure) -> Memory:
        return Memory(
            np.zeros((1, structure.n_parameters), dtype=np.int64),
            np.zeros((tree_rows(structure.n_arms), structure.n_parameters)),
            np.zeros(0, dtype=np.int16),
        )

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        result = np.zeros(snapshot.n_arms)
        values = posterior_means(snapshot.agent, snapshot.memory, snapshot.block, allowed)
        result[allowed] = share_of_ties(values, snapshot.evidence.pending[allowed])
        return result


@implements(restore, PosteriorMeanAgent)
def _restore(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
    weigh_all(agent.model, memory.floats, evidence)


@implements(learn, PosteriorMeanAgent)
def _learn(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
    weigh_arm(agent.model, memory.floats, evidence, arm)


@inline
def _posterior_mean(
    agent: PosteriorMeanAgent, memory: Memory, evidence: Evidence, n_plausible: int, arm: int
) -> float:
    """An arm's mean over the first ``n_plausible`` θ that `list_plausible` listed."""
    weights, parameters, total = memory.floats[0], memory.integers[0], 0.0
    for place in range(n_plausible):
        mean, _ = posterior_of_mean(agent.model, evidence, parameters[place], arm)
        total += weights[place] * mean
    return total


@implements(decide, PosteriorMeanAgent)
def _decide(
    agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    floats = memory.floats
    n_plausible = list_plausible(agent.model, floats[1], floats[0], memory.integers[0])
    best, chosen, ties = -math.inf, -1, 0
    for place in range(allowed.size):
        arm = np.int64(allowed[place])
        value = _posterior_mean(agent, memory, evidence, n_plausible, arm)
        best, chosen, ties = take_larger(best, chosen, ties, value, arm, generator)
    return chosen


@kernel
def posterior_means(
    agent: PosteriorMeanAgent, memory: Memory, block: np.ndarray, allowed: np.ndarray
) -> np.ndarray:
    """Posterior mean of each allowed arm: (allowed,)."""
    floats, evidence = memory.floats, evidence_of(block)
    n_plausible = list_plausible(agent.model, floats[1], floats[0], memory.integers[0])
    values = np.empty(allowed.size)
    for place in range(allowed.size):
        values[place] = _posterior_mean(agent, memory, evidence, n_plausible, allowed[place])
    return values
