"""A policy that drops its structure when rewards refute it, and looks at every arm now and then.

This room knows when rewards contradict a structure at every θ. It must not know how the algorithm
inside uses the structure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits._compiled import inline, kernel
from structuredbandits.confidence.evidence import Evidence, evidence_of
from structuredbandits.confidence.memory import Memory
from structuredbandits.confidence.tables import gains
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.algorithm import (
    Algorithm,
    Snapshot,
    join_settings,
    plain,
    require_positive,
)
from structuredbandits.policies.classical.thompson import ThompsonSampling
from structuredbandits.policies.protocol import (
    Moment,
    choose,
    decide,
    implements,
    learn,
    restore,
)
from structuredbandits.policies.structured.hierarchical_model import reward_variance, tree_rows

if TYPE_CHECKING:
    from structuredbandits.structure import Structure

_USUAL_FALLBACK = ThompsonSampling()


class Doubt(NamedTuple):
    """What the test of a structure reads, each arm's values side by side; costs are negated."""

    lower: np.ndarray  # (arms, parameters)
    upper: np.ndarray  # (arms, parameters)
    errors: np.ndarray  # (arms, parameters) squared standard errors
    noise: np.ndarray  # (arms,) variance of one reward


class RobustAgent(NamedTuple):
    """Parameters of a robust policy in compiled code."""

    inner: Any
    fallback: Any
    doubt: Doubt
    pulls: float
    alpha: float


class RobustMemory(NamedTuple):
    """Memory of the algorithm inside, and the test's own."""

    integers: np.ndarray
    floats: np.ndarray
    marks: np.ndarray
    inner: Memory
    misfits: np.ndarray  # (tree rows, parameters) squared distances; the root holds the largest


@dataclass(frozen=True, repr=False)
class Robust(Algorithm):
    """Trust an algorithm's structure until rewards refute it; never stop looking at every arm.

    The structure is refuted while at every θ some arm's mean reward is more than
    √(2 log 2K + 2 alpha log t) standard deviations away from what θ says, counting the map's
    standard errors (if it has some) and the noise of the rewards. Then the ``fallback`` chooses,
    from the rewards alone. Refutation cannot see an error in an arm that is never pulled: so every
    arm is also pulled at least ⌊pulls · log(1 + t/K)⌋ times.

    Parameters
    ----------
    algorithm
        What chooses while the structure stands.
    pulls
        The forced pulls of each arm grow as pulls · log(1 + t/K).
    alpha
        Width of the test; a larger one refutes later.
    fallback
        The classical algorithm that takes over.

    Notes
    -----
    The cost of the forced pulls is at most pulls · log(1 + T/K) times the sum of the gaps, whatever
    the structure. What they buy: in the long run an error of more than
    noise · √(2 alpha / pulls) in the mean of any arm (of a map that is otherwise exact) is found,
    and from then on regret grows as the fallback's. An error that is smaller, or that another θ
    explains, is not found, and can cost its size in every round. With a fixed number of normal
    rewards a true structure is refuted with probability at most t^(−alpha).

    Examples
    --------
    >>> from structuredbandits.policies.competitive import Competitive
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], arms=["a", "b"], sigma=0.1)
    >>> policy = Robust(Competitive(ThompsonSampling())).start(known, seed=7)
    >>> policy.update("a", 5.0)
    >>> policy.diagnostics().refuted
    True
    """

    algorithm: Algorithm
    pulls: float = 1.0
    alpha: float = 1.0
    fallback: Algorithm = _USUAL_FALLBACK
    name: ClassVar[str] = "robust"

    def __post_init__(self) -> None:
        require_positive("Robust", pulls=self.pulls, alpha=self.alpha)
        inside = self.algorithm
        if not isinstance(inside, Algorithm) or isinstance(inside, Robust) or inside.classical:
            raise InvalidPolicy(
                f"{inside!r} has no structure to doubt; put an algorithm such as "
                "Hierarchical() or Competitive(UCB()) inside Robust."
            )
        if getattr(inside, "foreign", None) is not None:
            raise InvalidPolicy(
                "Robust goes around compiled algorithms only; test your own object's structure "
                "yourself."
            )
        if not (isinstance(self.fallback, Algorithm) and self.fallback.classical):
            raise InvalidPolicy(
                f"{self.fallback!r} cannot be the fallback; give a classical algorithm such as "
                "ThompsonSampling()."
            )

    @property
    def needs_unit_rewards(self) -> bool:  # type: ignore[override]  # a class variable elsewhere
        """Whether a part needs rewards in [0, 1]."""
        return self.algorithm.needs_unit_rewards or self.fallback.needs_unit_rewards

    def check(self, structure: Structure) -> None:
        self.algorithm.check(structure)
        self.fallback.check(structure)

    def set_structure(self, structure: Structure) -> Structure:
        """That of the algorithm inside."""
        return self.algorithm.set_structure(structure)

    def agent(self, structure: Structure, rounds: int, horizon: int) -> RobustAgent:
        bounds, errors = gains(structure), structure.standard_errors
        table = np.zeros(structure.means.shape) if errors is None else errors**2
        doubt = Doubt(
            np.ascontiguousarray(bounds[0].T),
            np.ascontiguousarray(bounds[-1].T),
            np.ascontiguousarray(table.T),
            reward_variance(structure),
        )
        return RobustAgent(
            self.algorithm.agent(structure, rounds, horizon),
            self.fallback.agent(structure, rounds, horizon),
            doubt,
            float(self.pulls),
            float(self.alpha),
        )

    def memory(self, structure: Structure) -> Memory:
        inner = self.algorithm.memory(structure)
        misfits = np.zeros((tree_rows(structure.n_arms), structure.n_parameters))
        whole: Any = RobustMemory(inner.integers, inner.floats, inner.marks, inner, misfits)
        return whole  # type: ignore[no-any-return]  # compiled code asks only for its fields

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray | None:
        agent, memory = snapshot.agent, snapshot.memory
        result = np.zeros(snapshot.block.shape[1])
        forced = forced_pull(agent, snapshot.block, allowed, snapshot.moment)
        if forced >= 0:
            result[forced] = 1.0
            return result
        if is_refuted(agent, memory, snapshot.moment):
            return self.fallback.probabilities(snapshot._replace(agent=agent.fallback), allowed)
        whole: Any = memory
        inside = snapshot._replace(agent=agent.inner, memory=whole.inner)
        return self.algorithm.probabilities(inside, allowed)

    @property
    def label(self) -> str:
        """The algorithm's label with the robustness among its parameters."""
        inner, settings = self.algorithm.label, {"robust": self.pulls}
        if self.alpha != 1.0:
            settings["refute"] = self.alpha
        own = join_settings(settings)
        if self.fallback != _USUAL_FALLBACK:
            own += f",fallback={self.fallback.label}"
        return f"{inner[:-1]},{own})" if inner.endswith(")") else f"{inner}({own})"

    def __repr__(self) -> str:
        parts = [repr(self.algorithm), f"pulls={plain(self.pulls)!r}"]
        if self.alpha != 1.0:
            parts.append(f"alpha={plain(self.alpha)!r}")
        if self.fallback != _USUAL_FALLBACK:
            parts.append(f"fallback={self.fallback!r}")
        return f"Robust({', '.join(parts)})"


@inline
def _fill_misfits(doubt: Doubt, leaf: np.ndarray, evidence: Evidence, arm: int) -> None:
    """Squared distance of one arm's mean from every θ, in its own variance."""
    if evidence.counts[arm] == 0.0:
        leaf[:] = 0.0
        return
    mean, sampling = evidence.means[arm], doubt.noise[arm] / evidence.counts[arm]
    lower, upper, errors = doubt.lower[arm], doubt.upper[arm], doubt.errors[arm]
    for parameter in range(lower.size):
        distance = max(lower[parameter] - mean, mean - upper[parameter], 0.0)
        leaf[parameter] = distance * distance / (errors[parameter] + sampling)


@implements(restore, RobustAgent)
def _restore(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
    tree = memory.misfits
    leaves = tree.shape[0] // 2
    for arm in range(leaves):
        if arm < evidence.counts.size:
            _fill_misfits(agent.doubt, tree[leaves + arm], evidence, arm)
        else:
            tree[leaves + arm][:] = 0.0
    for node in range(leaves - 1, 0, -1):
        tree[node][:] = np.maximum(tree[2 * node], tree[2 * node + 1])
    restore(agent.inner, memory.inner, evidence, moment)


@implements(learn, RobustAgent)
def _learn(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
    tree = memory.misfits
    node = tree.shape[0] // 2 + arm
    _fill_misfits(agent.doubt, tree[node], evidence, arm)
    node //= 2
    while node >= 1:
        total, left, right = tree[node], tree[2 * node], tree[2 * node + 1]
        for parameter in range(total.size):
            total[parameter] = max(left[parameter], right[parameter])
        node //= 2
    learn(agent.inner, memory.inner, evidence, arm, moment)


@inline
def _refuted(agent: RobustAgent, misfits: np.ndarray, moment: Moment) -> bool:
    """Whether every θ is too far from some arm's rewards."""
    limit = 2.0 * (math.log(2.0 * agent.doubt.noise.size) + agent.alpha * moment.log_t)
    return bool(misfits.min() >= limit)


@inline
def _forced(agent: RobustAgent, evidence: Evidence, allowed: np.ndarray, moment: Moment) -> int:
    """The allowed arm with the fewest pulls if it has too few of them, else -1."""
    least = allowed[0]
    for place in range(1, allowed.size):
        arm = allowed[place]
        if evidence.counts[arm] + evidence.pending[arm] < (
            evidence.counts[least] + evidence.pending[least]
        ):
            least = arm
    due = math.floor(agent.pulls * math.log(1.0 + moment.decided / evidence.counts.size))
    return least if evidence.counts[least] + evidence.pending[least] < due else -1


@implements(decide, RobustAgent)
def _decide(
    agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    arm = _forced(agent, evidence, allowed, moment)
    if arm >= 0:
        return arm
    if _refuted(agent, memory.misfits[1], moment):
        return choose(agent.fallback, evidence, allowed, allowed.size, moment, generator)
    return decide(agent.inner, memory.inner, evidence, allowed, moment, generator)


@kernel
def forced_pull(agent: Any, block: np.ndarray, allowed: np.ndarray, moment: Moment) -> int:
    """The arm that has to be pulled now, or -1."""
    return int(_forced(agent, evidence_of(block), allowed, moment))


@kernel
def is_refuted(agent: Any, memory: Any, moment: Moment) -> bool:
    """Whether no θ fits the rewards."""
    return bool(_refuted(agent, memory.misfits[1], moment))
