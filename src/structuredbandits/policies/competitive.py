"""Algorithm-C: any classical algorithm, restricted to the arms that a plausible θ makes best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, overload

import numpy as np

from structuredbandits.confidence.box import follow, rebuild
from structuredbandits.confidence.corridor import NO_CORRIDOR, corridor_of
from structuredbandits.confidence.joint import joint_tables, scratch_memory
from structuredbandits.confidence.memory import (
    PLAUSIBLE,
    REGISTERS_ROW,
    Memory,
    box_of,
    new_memory,
)
from structuredbandits.confidence.slack import relax as relax_box
from structuredbandits.confidence.tables import BoxTables, box_tables
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.algorithm import (
    Algorithm,
    Snapshot,
    join_settings,
    plain,
    require_positive,
    settings_label,
)
from structuredbandits.policies.index import share_of_ties
from structuredbandits.policies.informative import (
    Informative,
    Uninformative,
    informativeness,
)
from structuredbandits.policies.joint import JointAgent
from structuredbandits.policies.narrowing import candidate_arms, narrow
from structuredbandits.policies.protocol import (
    choose,
    corridor,
    decide,
    implements,
    learn,
    relax,
    restore,
)

if TYPE_CHECKING:
    from structuredbandits.policies.policy import Policy
    from structuredbandits.structure import Structure


#: What a confidence set adds to the name of the inner algorithm.
_SUFFIXES = {"box": "-c", "joint": "-cj"}


class CompetitiveAgent(NamedTuple):
    """Parameters of Algorithm-C in compiled code."""

    inner: Any  # the classical agent of step 3
    informative: Any  # an informative agent, or Uninformative
    tables: BoxTables
    root_alpha: float
    pull_each_arm_first: bool
    ranks: np.ndarray  # (0, 0): the largest means are not asked for
    lags: bool  # no step reads the set itself
    certain: bool  # with one competitive arm, no step draws a random number


class Foreign(NamedTuple):
    """In place of the inner agent when step 3 is a Python object."""

    outside: bool


@dataclass(frozen=True, repr=False, init=False)
class Competitive(Algorithm):
    """Algorithm-C around a classical algorithm.

    Before each round the θ that contradict the rewards are set aside, then all arms that are best
    at none of the remaining θ; the inner algorithm chooses among the rest. With a ``structure``
    the run starts at once: ``Competitive(UCB(), structure, seed=7)`` is short for
    ``Competitive(UCB()).start(structure, seed=7)``.

    Parameters
    ----------
    policy
        A classical `Algorithm`, or any object with River's ``pull(arms)`` and
        ``update(arm, reward)``.
    structure
        If given, the result is a running `Policy`.
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
    seed, horizon
        As in `start`, for use with ``structure``.

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
    alpha: float = 3.0
    informative: Informative | None = None
    pull_each_arm_first: bool = False
    confidence: str = "box"
    name: ClassVar[str] = "competitive"

    if TYPE_CHECKING:

        @overload
        def __new__(
            cls,
            policy: Any,
            structure: None = None,
            *,
            alpha: float = ...,
            informative: Informative | None = ...,
            pull_each_arm_first: bool = ...,
            confidence: str = ...,
            seed: Any = ...,
            horizon: int | None = ...,
        ) -> Competitive: ...

        @overload
        def __new__(  # type: ignore[misc]  # starts a run at once, as the docstring says
            cls,
            policy: Any,
            structure: Structure,
            *,
            alpha: float = ...,
            informative: Informative | None = ...,
            pull_each_arm_first: bool = ...,
            confidence: str = ...,
            seed: Any = ...,
            horizon: int | None = ...,
        ) -> Policy: ...

    def __new__(
        cls,
        policy: Any = None,
        structure: Structure | None = None,
        *,
        alpha: float = 3.0,
        informative: Informative | None = None,
        pull_each_arm_first: bool = False,
        confidence: str = "box",
        seed: Any = None,
        horizon: int | None = None,
    ) -> Any:
        description = super().__new__(cls)
        for field, value in (
            ("policy", policy),
            ("alpha", alpha),
            ("informative", informative),
            ("pull_each_arm_first", pull_each_arm_first),
            ("confidence", confidence),
        ):
            object.__setattr__(description, field, value)
        description._validate()
        if structure is None:
            return description
        return description.start(structure, seed=seed, horizon=horizon)

    def __getnewargs_ex__(self) -> tuple[tuple[Any], dict[str, Any]]:
        settings = {
            "alpha": self.alpha,
            "informative": self.informative,
            "pull_each_arm_first": self.pull_each_arm_first,
            "confidence": self.confidence,
        }
        return (self.policy,), settings

    def _validate(self) -> None:
        require_positive("Competitive", alpha=self.alpha)
        if self.confidence not in _SUFFIXES:
            raise InvalidPolicy(
                f"there is no confidence set {self.confidence!r}; choose 'box' or 'joint'."
            )
        if not (self.informative is None or isinstance(self.informative, Informative)):
            raise InvalidPolicy(
                f"{self.informative!r} is no informative step; give Informative("
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
    def classical(self) -> bool:  # type: ignore[override]  # a class variable elsewhere
        """False: it reads the structure."""
        return False

    @property
    def foreign(self) -> Any:
        """The Python object of step 3, or None if it is compiled."""
        return None if isinstance(self.policy, Algorithm) else self.policy

    @property
    def needs_unit_rewards(self) -> bool:  # type: ignore[override]  # a class variable elsewhere
        """Whether the inner algorithm needs rewards in [0, 1]."""
        return self.foreign is None and self.policy.needs_unit_rewards

    def check(self, structure: Structure) -> None:
        if self.foreign is None:
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
            self.policy.agent(structure, rounds, horizon) if self.foreign is None else Foreign(True)
        )
        informative = (
            Uninformative(True)
            if self.informative is None
            else self.informative.agent(structure, rounds)
        )
        tables, every_arm_first = box_tables(structure), bool(self.pull_each_arm_first)
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
        random = getattr(self.policy, "random_index", True)
        return not (random or self.informative or self.pull_each_arm_first)

    def memory(self, structure: Structure) -> Memory:
        if self.confidence == "joint":
            size = structure.n_parameters
            return scratch_memory(structure.n_arms, 1, size, n_marks=size)
        return new_memory(structure.n_arms, structure.n_parameters)

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray | None:
        result = np.zeros(snapshot.block.shape[1])
        candidates = candidate_arms(snapshot.agent, snapshot.memory, snapshot.block, allowed)
        unseen = allowed[snapshot.block[0][allowed] == 0]
        if self.pull_each_arm_first and unseen.size:
            values = np.full(unseen.size, math.inf)  # infinite: the fewest pending come first
            result[unseen] = share_of_ties(values, snapshot.block[5][unseen])
        elif self.foreign is None:
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
        result = np.zeros(snapshot.block.shape[1])
        if self.informative.metric == "random":
            result[allowed] = 1.0 / allowed.size
        else:
            values = informativeness(
                snapshot.agent.informative, snapshot.agent.tables, snapshot.memory, allowed
            )
            result[allowed] = share_of_ties(values, np.zeros(allowed.size))
        return result

    @property
    def label(self) -> str:
        """Name as `make_algorithm` reads it: "ucb-c", "ucb-c-kl(gamma=10)", "ucb()-c(alpha=2)"."""
        own = {"alpha": self.alpha, "pull_each_arm_first": self.pull_each_arm_first}
        changed = {
            key: own[key]
            for key, usual in (("alpha", 3.0), ("pull_each_arm_first", False))
            if own[key] != usual
        }
        suffix = _SUFFIXES[self.confidence]
        if self.informative is not None:
            suffix += f"-{self.informative.suffix}"
            changed |= self.informative.changed
        if self.foreign is not None:
            return settings_label(type(self.policy).__name__.lower() + suffix, changed)
        inner = self.policy.changed
        if hasattr(self.policy, "alpha") and self.policy.alpha != self.alpha:
            return settings_label(f"{self.policy.name}({join_settings(inner)}){suffix}", changed)
        return settings_label(self.policy.name + suffix, inner | changed)

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


@implements(restore, CompetitiveAgent)
def _restore(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
    q = agent.root_alpha * moment.width
    rebuild(agent.tables, evidence, box_of(memory), agent.ranks, q)


@implements(learn, CompetitiveAgent)
def _learn(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
    q = agent.root_alpha * moment.width
    follow(agent.tables, evidence, box_of(memory), agent.ranks, arm, q)


@implements(relax, CompetitiveAgent)
def _relax(agent: Any, memory: Any) -> Any:
    if agent.lags:
        relax_box(box_of(memory))


@implements(corridor, CompetitiveAgent)
def _corridor(agent: Any, memory: Any, evidence: Any, widths: Any, t: Any, most: Any) -> Any:
    if not agent.certain:
        return NO_CORRIDOR
    return corridor_of(evidence, box_of(memory), agent.root_alpha, widths, t, most)


@implements(decide, CompetitiveAgent)
@implements(decide, JointAgent)
def _decide(
    agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    box = box_of(memory)
    arm, candidates, n_candidates = narrow(agent, box, evidence, allowed, moment, generator)
    if arm >= 0:
        return arm
    return choose(agent.inner, evidence, candidates, n_candidates, moment, generator)
