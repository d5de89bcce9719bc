"""Algorithm-C: any classical algorithm, restricted to the arms that a plausible θ makes best."""

from __future__ import annotations

import inspect
import math
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from structuredbandits.confidence.confidence_set import ConfidenceParameters
from structuredbandits.confidence.event_driven_set import follow, rebuild
from structuredbandits.confidence.fast_forward import NO_FAST_FORWARD, fast_forward_of
from structuredbandits.confidence.joint_set import joint_tables, scratch_memory
from structuredbandits.confidence.lazy_update import make_lazy as make_state_lazy
from structuredbandits.confidence.memory import (
    PLAUSIBLE,
    REGISTERS_ROW,
    Memory,
    confidence_state,
    new_memory,
)
from structuredbandits.confidence.radius import multiplier
from structuredbandits.confidence.sorted_tables import SortedTables, sorted_tables
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.algorithm import (
    Algorithm,
    Snapshot,
)
from structuredbandits.policies.candidates import candidate_arms, narrow
from structuredbandits.policies.informative import (
    Informative,
    Uninformative,
    informativeness,
)
from structuredbandits.policies.joint_competitive import JointAgent
from structuredbandits.policies.labels import Parts, plain, write_settings
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
from structuredbandits.policies.ties import share_of_ties

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


#: What a confidence set adds to the name of the inner algorithm.
_SUFFIXES = {"box": "-c", "joint": "-cj"}
# Arguments of `start` that are mistaken for parameters.
_OF_A_RUN = {"structure", "seed", "horizon", "history"}


class CompetitiveAgent(NamedTuple):
    """Parameters of Algorithm-C in compiled code."""

    inner: Any  # the classical agent of step 3
    informative: Any  # an informative agent, or Uninformative
    tables: SortedTables
    root_alpha: float
    pull_each_arm_first: bool
    ranks: np.ndarray  # (0, 0): the largest means are not asked for
    lazy: bool  # no step reads the set itself
    certain: bool  # with one competitive arm, no step draws a random number


class External(NamedTuple):
    """In place of the inner agent when step 3 is a Python object."""

    outside: bool


@dataclass(frozen=True, repr=False)
class Competitive(Algorithm):
    """Algorithm-C around a classical algorithm.

    Before each round the θ that contradict the rewards are set aside, then all arms that are best
    at none of the remaining θ; the inner algorithm chooses among the rest. This is a description:
    ``Competitive(UCB()).start(structure)`` begins a run.

    Parameters
    ----------
    policy
        A classical `Algorithm`, or any object with River's ``pull(arms)`` and
        ``update(arm, reward)``.
    alpha
        Width of the confidence set; the inner algorithm keeps its own.
    confidence
        "box": a θ is plausible if it fits every arm by itself, as in the paper. "joint": if it fits
        all arms together, by least squares; with probability at least 1 − t^−alpha the true θ does.
        The joint set is never empty, and it needs means, not bounds.
    informative
        An `Informative` step, or None.
    pull_each_arm_first
        Pull every arm once, also those that are not competitive.

    References
    ----------
    S. Gupta, S. Chaudhari, S. Mukherjee, G. Joshi, O. Yağan, "A unified approach to translate
    classical bandit algorithms to the structured bandit setting", IEEE JSAIT 1(3), 2020.

    Examples
    --------
    >>> from structuredbandits.policies.classical.ucb import UCB
    >>> Competitive(UCB(alpha=2.0), alpha=2.0)
    Competitive(UCB(alpha=2.0), alpha=2.0)
    """

    policy: Any
    _: KW_ONLY
    alpha: float = positive(3.0)
    informative: Informative | None = None
    pull_each_arm_first: bool = False
    confidence: str = "box"
    name: ClassVar[str] = "competitive"

    def __new__(cls, *arguments: Any, **settings: Any) -> Self:
        if len(arguments) > 1 or not _OF_A_RUN.isdisjoint(settings):
            raise InvalidPolicy(
                "Competitive(...) describes a policy and takes neither a structure nor a seed; "
                f"begin a run with Competitive({', '.join(map(repr, arguments[:1]))})"
                ".start(structure)."
            )
        return super().__new__(cls)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.confidence not in _SUFFIXES:
            raise InvalidPolicy(
                f"there is no confidence set {self.confidence!r}; choose 'box' or 'joint'."
            )
        if not (self.informative is None or isinstance(self.informative, Informative)):
            raise InvalidPolicy(
                f"{self.informative!r} is not an informative step; give Informative("
                f"{self.informative!r}), or None."
            )
        if isinstance(self.policy, Algorithm):
            if not self.policy.classical:
                raise InvalidPolicy(
                    f"{self.policy!r} uses the structure already; put a classical algorithm "
                    "such as UCB() inside Competitive."
                )
        elif not (hasattr(self.policy, "pull") and hasattr(self.policy, "update")):
            raise InvalidPolicy(
                f"{self.policy!r} cannot be used inside Competitive; give an algorithm such as "
                "UCB(), or an object with pull(arms) and update(arm, reward)."
            )

    @property
    def external(self) -> Any:
        """The Python object of step 3, or None if it is compiled."""
        return None if isinstance(self.policy, Algorithm) else self.policy

    @property
    def needs_unit_rewards(self) -> bool:  # type: ignore[override]  # a class variable elsewhere
        """Whether the inner algorithm needs rewards in [0, 1]."""
        return self.external is None and self.policy.needs_unit_rewards

    def check(self, structure: Structure) -> None:
        if self.external is None:
            self.policy.check(structure)
        if self.confidence == "joint" and not structure.exact:
            loose = (structure.lower < structure.upper).any(axis=0)
            raise InvalidPolicy(
                f"a joint confidence set needs exact means, but arm "
                f"{structure.arms[int(loose.argmax())]!r} has bounds; use confidence='box'."
            )

    def agent(
        self, structure: Structure, rounds: int, horizon: int
    ) -> CompetitiveAgent | JointAgent:
        inner = (
            self.policy.agent(structure, rounds, horizon)
            if self.external is None
            else External(True)
        )
        informative = (
            Uninformative(True)
            if self.informative is None
            else self.informative.agent(structure, rounds)
        )
        tables, every_arm_first = sorted_tables(structure), bool(self.pull_each_arm_first)
        if self.confidence == "joint":
            joint = joint_tables(structure)
            return JointAgent(inner, informative, tables, joint, float(self.alpha), every_arm_first)
        return CompetitiveAgent(
            inner,
            informative,
            tables,
            math.sqrt(self.alpha),
            every_arm_first,
            np.empty((0, 0), dtype=np.int32),
            self.informative is None,
            self._certain,
        )

    @property
    def _certain(self) -> bool:
        random = self.external is not None or self.policy.random_index
        return not (random or self.informative or self.pull_each_arm_first)

    @property
    def shares_are_compiled(self) -> bool:  # type: ignore[override]  # a class variable elsewhere
        """Whether those of the inner algorithm are, and no other step comes before it."""
        alone = self.informative is None and not self.pull_each_arm_first
        return alone and self.external is None and self.policy.shares_are_compiled

    def compiles_shares(self, structure: Structure) -> bool:
        return self.shares_are_compiled and self.policy.compiles_shares(structure)

    def memory(self, structure: Structure) -> Memory:
        if self.confidence == "joint":
            size = structure.n_parameters
            return scratch_memory(structure.n_arms, 1, size, n_marks=size)
        return new_memory(structure.n_arms, structure.n_parameters)

    def confidence_parameters(self, structure: Structure) -> ConfidenceParameters:
        return ConfidenceParameters(float(self.alpha), self.confidence, structure)

    def candidates(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        return candidate_arms(snapshot, allowed)

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray | None:
        result = np.zeros(snapshot.n_arms)
        candidates = self.candidates(snapshot, allowed)
        unseen = allowed[snapshot.evidence.counts[allowed] == 0]
        if self.pull_each_arm_first and unseen.size:
            values = np.full(unseen.size, math.inf)  # infinite: the fewest pending come first
            result[unseen] = share_of_ties(values, snapshot.evidence.pending[unseen])
        elif self.external is None:
            inner = snapshot._replace(agent=snapshot.agent.inner)
            shares = self.policy.choice_probabilities(inner, candidates)
            if shares is None:
                return None
            result[candidates] = shares
        else:
            return None
        if self.informative is not None and snapshot.memory.integers[REGISTERS_ROW, PLAUSIBLE] > 0:
            coin = float(snapshot.agent.informative.coin[snapshot.moment.decided])
            result *= 1.0 - coin
            result += coin * self._informative_shares(snapshot, allowed)
        return result

    def _informative_shares(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        assert self.informative is not None
        result = np.zeros(snapshot.n_arms)
        if self.informative.metric == "random":
            result[allowed] = 1.0 / allowed.size
        else:
            values = informativeness(
                snapshot.agent.informative, snapshot.agent.tables, snapshot.memory, allowed
            )
            result[allowed] = share_of_ties(values, np.zeros(allowed.size))
        return result

    def label_parts(self) -> Parts:
        """Of "ucb-c", "ucb-c-kl(gamma=10)", or explicitly "ucb()-c(alpha=2)".

        The short form gives a parameter to every part that has one of its name, so it stands only
        for parts that agree.
        """
        own: dict[str, Any] = {
            "alpha": self.alpha,
            "pull_each_arm_first": self.pull_each_arm_first,
        }
        usual: dict[str, Any] = {"alpha": 3.0, "pull_each_arm_first": False}
        changed = {key: value for key, value in own.items() if value != usual[key]}
        suffix = _SUFFIXES[self.confidence]
        if self.informative is not None:
            suffix += f"-{self.informative.suffix}"
            changed |= self.informative.changed
            own |= {"gamma": self.informative.gamma, "d": self.informative.d}
        if self.external is not None:
            return Parts(type(self.policy).__name__.lower() + suffix, changed, frozenset(own))
        inner = self.policy.label_parts()
        if any(getattr(self.policy, key) != own[key] for key in own if key in inner.names):
            head = f"{inner.head}({write_settings(inner.settings)}){suffix}"
            return Parts(head, changed, frozenset(own))
        return Parts(inner.head + suffix, {**inner.settings, **changed}, inner.names | own.keys())

    def __repr__(self) -> str:
        parts = [repr(self.policy)]
        if self.alpha != 3.0:
            parts.append(f"alpha={plain(self.alpha)!r}")
        if self.informative is not None:
            parts.append(f"informative={self.informative!r}")
        if self.pull_each_arm_first:
            parts.append("pull_each_arm_first=True")
        if self.confidence != "box":
            parts.append(f"confidence={self.confidence!r}")
        return f"Competitive({', '.join(parts)})"


# `__new__` takes anything, to refuse a structure with a remedy; help() shows the parameters.
_TAKEN = list(inspect.signature(Competitive.__init__).parameters.values())[1:]
Competitive.__signature__ = inspect.Signature(_TAKEN)  # type: ignore[attr-defined]  # classes have one


@implements(restore, CompetitiveAgent)
def _restore(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
    q = multiplier(agent.root_alpha, moment.width)
    rebuild(agent.tables, evidence, confidence_state(memory), agent.ranks, q)


@implements(learn, CompetitiveAgent)
def _learn(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
    q = multiplier(agent.root_alpha, moment.width)
    follow(agent.tables, evidence, confidence_state(memory), agent.ranks, arm, q)


@implements(make_lazy, CompetitiveAgent)
def _make_lazy(agent: Any, memory: Any) -> Any:
    if agent.lazy:
        make_state_lazy(confidence_state(memory))


@implements(fast_forward, CompetitiveAgent)
def _fast_forward(agent: Any, memory: Any, evidence: Any, widths: Any, t: Any, most: Any) -> Any:
    if not agent.certain:
        return NO_FAST_FORWARD
    state = confidence_state(memory)
    return fast_forward_of(agent.tables, evidence, state, agent.root_alpha, widths, t, most)


@implements(decide, CompetitiveAgent)
@implements(decide, JointAgent)
def _decide(
    agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    state = confidence_state(memory)
    arm, candidates, n_candidates = narrow(agent, state, evidence, allowed, moment, generator)
    if arm >= 0:
        return arm
    return choose(agent.inner, evidence, candidates, n_candidates, moment, generator)
