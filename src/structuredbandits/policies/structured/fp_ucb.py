"""FP-UCB: UCB among the arms that a plausible θ makes best, after one pull of each of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits.confidence.confidence_set import ConfidenceParameters
from structuredbandits.confidence.event_driven_set import follow, rebuild
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.fast_forward import NO_FAST_FORWARD, fast_forward_of
from structuredbandits.confidence.lazy_update import make_lazy as make_state_lazy
from structuredbandits.confidence.memory import (
    ACTIVE,
    EMPTY_ROUNDS,
    PLAUSIBLE,
    REGISTERS_ROW,
    Memory,
    confidence_state,
    new_memory,
)
from structuredbandits.confidence.radius import multiplier
from structuredbandits.confidence.sorted_tables import SortedTables, sorted_tables
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.candidates import candidate_arms, competitive_candidates
from structuredbandits.policies.classical.ucb import UCBAgent
from structuredbandits.policies.index_policy import indices
from structuredbandits.policies.parameter_checks import positive
from structuredbandits.policies.protocol import (
    choose,
    decide,
    fast_forward,
    implements,
    learn,
    make_lazy,
    restore,
)
from structuredbandits.policies.registration import register
from structuredbandits.policies.ties import share_of_ties, take_larger

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class FPUCBAgent(NamedTuple):
    """Parameters of FP-UCB in compiled code."""

    inner: UCBAgent
    tables: SortedTables
    ranks: np.ndarray  # (0, 0): the largest means are not asked for
    ever_best: np.ndarray  # (arms,) bool: best at some θ of the structure
    root_alpha: float


@register(
    summary="Pull every arm that is best at some θ once, then UCB among the competitive arms.",
    use="Compare with UCB-C, from which only its first pulls differ.",
    colour="wine",
    order=114,
)
@dataclass(frozen=True, repr=False)
class FPUCB(Algorithm):
    """UCB-C that first pulls once every arm that is best at some θ.

    θ is plausible while |mu_hat_k − mu_k(θ)| < sqrt(2 alpha sigma_k² log t / n_k) for every arm k,
    the set of Algorithm-C. After the first pulls the arm of the largest UCB index among those that
    are best at a plausible θ is pulled. An arm that is best at no θ is never pulled.

    `UCB-C` skips an arm that is no longer competitive when its turn comes; here it is pulled once.
    Otherwise the two agree as long as some θ is plausible.

    The paper has rewards in [0, 1] and a radius of sqrt(alpha' log t / n): alpha' = 2 alpha sigma²
    is alpha / 2 there. The default alpha = 3 is that of the other policies, so that they differ in
    their rule and not in their width. If no θ is plausible, UCB chooses among the arms that are
    best at some θ; this is our choice. The rule among the competitive arms is our reading of the
    paper; no numbers of the paper were reproduced.

    Parameters
    ----------
    alpha
        Width of the set and of the index.

    References
    ----------
    K. Panaganti, D. Kalathil, "Bounded regret for finitely parameterized multi-armed bandits", IEEE
    Control Systems Letters 5(3), 2021 (arXiv 2003.01328).

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[3.0, 2.0, 0.0], [1.0, 2.0, 0.0]], sigma=0.1)
    >>> policy = FPUCB().start(known, seed=7)
    >>> policy.update("1", 3.0)  # now only the first θ is plausible
    >>> policy.pull(), policy.competitive_arms
    ('2', ('1',))
    """

    alpha: float = positive(3.0)
    name: ClassVar[str] = "fp-ucb"

    def agent(self, structure: Structure, rounds: int, horizon: int) -> FPUCBAgent:
        root, tables = math.sqrt(self.alpha), sorted_tables(structure)
        no_ranks = np.empty((0, 0), dtype=np.int32)
        return FPUCBAgent(UCBAgent(root), tables, no_ranks, tables.support > 0, root)

    def memory(self, structure: Structure) -> Memory:
        return new_memory(structure.n_arms, structure.n_parameters)

    def confidence_parameters(self, structure: Structure) -> ConfidenceParameters:
        return ConfidenceParameters(float(self.alpha), "box", structure)

    def candidates(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        """The competitive arms; a first pull may be of another one."""
        return candidate_arms(snapshot, allowed)

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        result, evidence = np.zeros(snapshot.n_arms), snapshot.evidence
        ever_best = allowed[snapshot.agent.ever_best[allowed]]
        unseen = ever_best[evidence.counts[ever_best] == 0]
        if unseen.size:
            values = np.full(unseen.size, math.inf)  # infinite: the fewest pending come first
            result[unseen] = share_of_ties(values, evidence.pending[unseen])
            return result
        arms = self.candidates(snapshot, allowed)
        if snapshot.memory.integers[REGISTERS_ROW, PLAUSIBLE] == 0 and ever_best.size:
            arms = ever_best
        values = indices(
            snapshot.agent.inner, snapshot.block, arms, snapshot.moment, snapshot.addresses
        )
        result[arms] = share_of_ties(values, evidence.pending[arms])
        return result


@implements(restore, FPUCBAgent)
def _restore(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
    q = multiplier(agent.root_alpha, moment.width)
    rebuild(agent.tables, evidence, confidence_state(memory), agent.ranks, q)


@implements(learn, FPUCBAgent)
def _learn(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
    q = multiplier(agent.root_alpha, moment.width)
    follow(agent.tables, evidence, confidence_state(memory), agent.ranks, arm, q)


@implements(make_lazy, FPUCBAgent)
def _make_lazy(agent: Any, memory: Any) -> Any:
    make_state_lazy(confidence_state(memory))


@implements(fast_forward, FPUCBAgent)
def _fast_forward(agent: Any, memory: Any, evidence: Any, widths: Any, t: Any, most: Any) -> Any:
    for arm in range(agent.ever_best.size):
        if agent.ever_best[arm] and evidence.counts[arm] == 0.0:
            return NO_FAST_FORWARD
    state = confidence_state(memory)
    return fast_forward_of(agent.tables, evidence, state, agent.root_alpha, widths, t, most)


@inline
def _first_pull(agent: Any, evidence: Evidence, allowed: np.ndarray, generator: Any) -> int:
    """An unseen allowed arm that is best somewhere, with the fewest pending pulls; -1 if none."""
    best, chosen, ties = -math.inf, -1, 0
    for place in range(allowed.size):
        arm = np.int64(allowed[place])
        if agent.ever_best[arm] and evidence.counts[arm] == 0.0:
            fewer = -evidence.pending[arm]
            best, chosen, ties = take_larger(best, chosen, ties, fewer, arm, generator)
    return chosen


@implements(decide, FPUCBAgent)
def _decide(
    agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    state = confidence_state(memory)
    empty = state.registers[ACTIVE] == 0
    if empty:
        state.registers[EMPTY_ROUNDS] += 1
    arm = _first_pull(agent, evidence, allowed, generator)
    if arm >= 0:
        return arm
    candidates, n_candidates = competitive_candidates(agent.tables, state, allowed)
    if empty:
        kept = 0
        for place in range(n_candidates):
            if agent.ever_best[candidates[place]]:
                candidates[kept] = candidates[place]
                kept += 1
        n_candidates = kept if kept > 0 else n_candidates
    return choose(agent.inner, evidence, candidates, n_candidates, moment, generator)
