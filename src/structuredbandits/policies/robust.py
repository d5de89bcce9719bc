"""A policy that drops its structure when rewards refute it, and pulls every arm occasionally."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits._compiled import inline, kernel
from structuredbandits.confidence.evidence import Evidence, evidence_of
from structuredbandits.confidence.memory import Memory
from structuredbandits.confidence.refutation import (
    RefutationTest,
    fill_evidence,
    level_of,
    refutation_test,
)
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.algorithm import (
    Algorithm,
    Snapshot,
)
from structuredbandits.policies.classical.thompson import ThompsonSampling
from structuredbandits.policies.labels import Nested, Parts, plain
from structuredbandits.policies.parameter_checks import positive
from structuredbandits.policies.protocol import (
    Moment,
    choose,
    decide,
    implements,
    learn,
    restore,
)
from structuredbandits.policies.structured.hierarchical_model import tree_rows

if TYPE_CHECKING:
    from structuredbandits.confidence.confidence_set import ConfidenceParameters
    from structuredbandits.structure import Structure

_USUAL_FALLBACK = ThompsonSampling()


class RobustAgent(NamedTuple):
    """Parameters of a robust policy in compiled code."""

    inner: Any
    fallback: Any
    test: RefutationTest
    pulls: float


class RobustMemory(NamedTuple):
    """Memory of the algorithm inside, and the test's own."""

    integers: np.ndarray
    floats: np.ndarray
    marks: np.ndarray
    inner: Memory
    evidence: np.ndarray  # (tree rows, parameters) log evidence; the root holds the sum


@dataclass(frozen=True, repr=False)
class Robust(Algorithm):
    """Use an algorithm's structure until rewards refute it, and keep pulling every arm.

    The structure is refuted while the evidence against every θ is at least 1/level, with level
    0.01^alpha: an e-process that is exact for the structure's family of rewards and counts the
    map's standard errors (if it has some); see `confidence.refutation`. Then the ``fallback``
    chooses, from the rewards alone. An error in an arm that is never pulled cannot be detected, so
    every arm is also pulled at least ⌊pulls · log(1 + t/K)⌋ times.

    Parameters
    ----------
    algorithm
        What chooses while the structure is not refuted.
    pulls
        The forced pulls of each arm grow as pulls · log(1 + t/K).
    alpha
        The level of the test is 0.01^alpha; a larger one refutes later.
    fallback
        The classical algorithm that takes over.

    Notes
    -----
    The cost of the forced pulls is at most pulls · log(1 + T/K) times the sum of the gaps, whatever
    the structure. In return, an error in the mean of any arm (of a map that is otherwise exact) is
    found in the long run, since the number of forced pulls grows without limit: an error of d after
    about (2σ²/d²) · (log(K/level) + ½ log n) of them. From then on regret grows as the fallback's.
    An error that another θ explains is not found, and can cost its size in every round. A true
    structure is ever refuted with probability at most the level, however often it is tested.

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
    pulls: float = positive(1.0)
    alpha: float = positive(1.0)
    fallback: Algorithm = _USUAL_FALLBACK
    name: ClassVar[str] = "robust"

    def __post_init__(self) -> None:
        super().__post_init__()
        inside = self.algorithm
        if not isinstance(inside, Algorithm) or isinstance(inside, Robust) or inside.classical:
            raise InvalidPolicy(
                f"{inside!r} uses no structure that could be refuted; put an algorithm such as "
                "Hierarchical() or Competitive(UCB()) inside Robust."
            )
        if inside.external is not None:
            raise InvalidPolicy(
                f"Robust needs a compiled algorithm inside, and {inside!r} chooses with a Python "
                "object; give an algorithm such as Competitive(UCB())."
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

    @property
    def refutation_alpha(self) -> float:
        """The level of the test is 0.01^alpha."""
        return float(self.alpha)

    def confidence_parameters(self, structure: Structure) -> ConfidenceParameters | None:
        return self.algorithm.confidence_parameters(structure)

    def candidates(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        """The competitive arms of the algorithm inside, whether the structure is refuted or not."""
        return self.algorithm.candidates(_inside(snapshot), allowed)

    def agent(self, structure: Structure, rounds: int, horizon: int) -> RobustAgent:
        return RobustAgent(
            self.algorithm.agent(structure, rounds, horizon),
            self.fallback.agent(structure, rounds, horizon),
            refutation_test(structure, level_of(self.alpha)),
            float(self.pulls),
        )

    def memory(self, structure: Structure) -> Memory:
        inner = self.algorithm.memory(structure)
        tree = np.zeros((tree_rows(structure.n_arms), structure.n_parameters))
        whole: Any = RobustMemory(inner.integers, inner.floats, inner.marks, inner, tree)
        return whole  # type: ignore[no-any-return]  # compiled code asks only for its fields

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray | None:
        agent, memory = snapshot.agent, snapshot.memory
        result = np.zeros(snapshot.n_arms)
        forced = forced_pull(agent, snapshot.block, allowed, snapshot.moment)
        if forced >= 0:
            result[forced] = 1.0
            return result
        if is_refuted(agent, memory):
            return self.fallback.probabilities(snapshot._replace(agent=agent.fallback), allowed)
        return self.algorithm.probabilities(_inside(snapshot), allowed)

    def label_parts(self) -> Parts:
        settings: dict[str, Any] = {"robust": self.pulls}
        if self.alpha != 1.0:
            settings["refute"] = self.alpha
        if self.fallback != _USUAL_FALLBACK:
            settings["fallback"] = Nested(self.fallback.label)
        return self.algorithm.label_parts().inside(settings)

    def __repr__(self) -> str:
        parts = [repr(self.algorithm), f"pulls={plain(self.pulls)!r}"]
        if self.alpha != 1.0:
            parts.append(f"alpha={plain(self.alpha)!r}")
        if self.fallback != _USUAL_FALLBACK:
            parts.append(f"fallback={self.fallback!r}")
        return f"Robust({', '.join(parts)})"


def _inside(snapshot: Snapshot) -> Snapshot:
    """The run of the algorithm inside."""
    memory: Any = snapshot.memory
    return snapshot._replace(agent=snapshot.agent.inner, memory=memory.inner)


@implements(restore, RobustAgent)
def _restore(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
    tree = memory.evidence
    leaves = tree.shape[0] // 2
    for arm in range(leaves):
        if arm < evidence.counts.size:
            fill_evidence(agent.test, tree[leaves + arm], evidence, arm)
        else:
            tree[leaves + arm][:] = 0.0
    for node in range(leaves - 1, 0, -1):
        tree[node][:] = tree[2 * node] + tree[2 * node + 1]
    restore(agent.inner, memory.inner, evidence, moment)


@implements(learn, RobustAgent)
def _learn(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
    tree = memory.evidence
    node = tree.shape[0] // 2 + arm
    fill_evidence(agent.test, tree[node], evidence, arm)
    node //= 2
    while node >= 1:
        total, left, right = tree[node], tree[2 * node], tree[2 * node + 1]
        for parameter in range(total.size):
            total[parameter] = left[parameter] + right[parameter]
        node //= 2
    learn(agent.inner, memory.inner, evidence, arm, moment)


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
    if memory.evidence[1].min() >= agent.test.limit:
        return choose(agent.fallback, evidence, allowed, allowed.size, moment, generator)
    return decide(agent.inner, memory.inner, evidence, allowed, moment, generator)


@kernel
def forced_pull(agent: Any, block: np.ndarray, allowed: np.ndarray, moment: Moment) -> int:
    """The arm that has to be pulled now, or -1."""
    return int(_forced(agent, evidence_of(block), allowed, moment))


@kernel
def is_refuted(agent: Any, memory: Any) -> bool:
    """Whether the rewards refute every θ."""
    return bool(memory.evidence[1].min() >= agent.test.limit)
