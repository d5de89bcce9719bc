"""mUCB: optimism over the θ that are plausible at a fixed confidence level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.confidence.event_driven_set import follow, rebuild
from structuredbandits.confidence.memory import Memory, confidence_state, new_memory
from structuredbandits.confidence.sorted_tables import (
    SortedTables,
    order_of_means,
    ranks,
    sorted_tables,
)
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.candidates import candidate_arms
from structuredbandits.policies.classical.ucb import UCBAgent
from structuredbandits.policies.parameter_checks import number
from structuredbandits.policies.protocol import decide, implements, learn, restore
from structuredbandits.policies.registration import register
from structuredbandits.policies.structured.ucb_s import (
    decide_optimistically,
    optimistic_probabilities,
)

if TYPE_CHECKING:
    from structuredbandits.structure import Structure

# Width of UCB, which chooses while no θ is plausible; the paper leaves that case open.
_ALPHA = 3.0


class MUCBAgent(NamedTuple):
    """Parameters of mUCB in compiled code."""

    inner: UCBAgent  # chooses while no θ is plausible
    tables: SortedTables
    order: np.ndarray  # (arms, parameters) the θ in ascending order of each arm's upper mean
    ranks: np.ndarray  # (parameters, arms) position of each θ in that order
    offset: float  # log(m), or log(m / delta) if delta is given
    power: float  # of n: 2, or 3 if delta is 1/n
    log_horizon: float  # log n, 0 if the horizon is not known


@register(
    summary="UCB-S with a confidence level that the horizon and the number of θ fix.",
    use="A known horizon and few parameters, each of which is a model learned from earlier tasks.",
    needs=("horizon",),
    colour="brown",
    order=112,
)
@dataclass(frozen=True, repr=False)
class MUCB(Algorithm):
    """The best arm of the plausible θ whose best mean is largest.

    θ is plausible while |mu_hat_k − mu_k(θ)| < sqrt(2 sigma_k² log(m n² / delta) / n_k) for every
    arm k, with m the number of θ and n the horizon. For rewards in [0, 1] (sigma = 1/2) this is the
    paper's radius; structures with Bernoulli or bounded rewards use their own divergence instead.

    The arm is the one that `UCBS` would pull on the same set: the largest of the best means over
    the set is the largest mean of any arm over it. With delta = 1/n the set is that of `UCBS` with
    alpha = 3 and m n³ in place of t³: wider, and of one width in all rounds.

    Without a horizon n is the current round. While no θ is plausible it is UCB with alpha = 3. Both
    are our choices; the paper assumes a horizon and that one of the models is right.

    Parameters
    ----------
    delta
        Probability with which the true θ may ever leave the set. None: 1/n, as in the paper's bound
        on the expected regret.

    References
    ----------
    M. G. Azar, A. Lazaric, E. Brunskill, "Sequential transfer in multi-armed bandit with finite set
    of models", NIPS 2013.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[3.0, 2.0], [1.0, 2.0]], sigma=0.1)
    >>> policy = MUCB().start(known, seed=7, horizon=100)
    >>> policy.pull()  # the first θ is the optimistic one
    '1'
    >>> policy.update("1", 1.0)
    >>> policy.pull(), list(policy.confidence_set)
    ('2', [1])
    """

    delta: float | None = number(None, above=0.0, below=1.0)
    name: ClassVar[str] = "mucb"

    def agent(self, structure: Structure, rounds: int, horizon: int) -> MUCBAgent:
        offset, power = math.log(structure.n_parameters), 3.0
        if self.delta is not None:
            offset, power = offset - math.log(self.delta), 2.0
        return MUCBAgent(
            UCBAgent(math.sqrt(_ALPHA)),
            sorted_tables(structure),
            order_of_means(structure),
            ranks(structure),
            offset,
            power,
            math.log(max(horizon, 2)) if horizon else 0.0,
        )

    def memory(self, structure: Structure) -> Memory:
        return new_memory(structure.n_arms, structure.n_parameters)

    def candidates(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        """The competitive arms; the optimistic one is always among them."""
        return candidate_arms(snapshot, allowed)

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        return optimistic_probabilities(snapshot, allowed)


@inline
def _width(agent: Any, moment: Any) -> float:
    """q: the radius is q sigma / sqrt(n)."""
    log_n = agent.log_horizon if agent.log_horizon > 0.0 else moment.log_t
    return math.sqrt(2.0 * (agent.offset + agent.power * log_n))


@implements(restore, MUCBAgent)
def _restore(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
    q = _width(agent, moment)
    rebuild(agent.tables, evidence, confidence_state(memory), agent.ranks, q)


@implements(learn, MUCBAgent)
def _learn(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
    q = _width(agent, moment)
    follow(agent.tables, evidence, confidence_state(memory), agent.ranks, arm, q)


implements(decide, MUCBAgent)(decide_optimistically)
