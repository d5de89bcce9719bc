"""One run of an algorithm: pull an arm, give back its reward, ask why.

The run's state is a few numbers (evidence, clock, generator); everything else is rebuilt from them.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from structuredbandits._compiled import addresses_of, new_generator
from structuredbandits.confidence.evidence import new_block
from structuredbandits.confidence.memory import count_empty_rounds, keeps_set
from structuredbandits.confidence.plausible import ConfidenceSet
from structuredbandits.errors import InvalidPolicy, InvalidReward
from structuredbandits.policies import state
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.arguments import (
    LARGEST_REWARD,
    allowed_arms,
    arm_with_reward,
    check_structure,
    read_history,
    read_horizon,
)
from structuredbandits.policies.frame import bind
from structuredbandits.policies.own_functions import (
    NotANumber,
    asking_for_numbers,
    without_number,
)
from structuredbandits.policies.protocol import moment_at
from structuredbandits.policies.steps import (
    DECIDED,
    RECEIVED,
    decide_once,
    learn_once,
    restore_all,
)
from structuredbandits.structure import Structure

if TYPE_CHECKING:
    from structuredbandits.policies.diagnostics import Diagnostics

_FIRST_ROUNDS = 1024


class Policy:
    """A running algorithm.

    Made by `Algorithm.start`, `make_policy` or ``Competitive(algorithm, structure)``.

    Examples
    --------
    >>> from structuredbandits.policies.classical.ucb import UCB
    >>> from structuredbandits.policies.competitive import Competitive
    >>> structure = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], arms=["a", "b"], sigma=0.1)
    >>> policy = Competitive(UCB(), structure, seed=7)
    >>> policy.update("a", 1.02)
    >>> policy.competitive_arms, list(policy.confidence_set)
    (('a',), [0])
    >>> policy.pull()
    'a'
    """

    def __init__(
        self,
        algorithm: Algorithm,
        structure: Structure,
        *,
        seed: int | np.random.SeedSequence | None = None,
        horizon: int | None = None,
        history: Iterable[tuple[str | int, float]] = (),
    ) -> None:
        check_structure(structure)
        rounds = read_horizon(horizon)
        algorithm.check(structure)
        self.algorithm = algorithm
        self.structure = structure
        self.generator = new_generator(seed)
        self.block = new_block(structure.sigma)
        self.clock = np.array([0, 0, rounds], dtype=np.int64)
        self.memory = algorithm.memory(structure)
        self._foreign: Any = copy.deepcopy(getattr(algorithm, "foreign", None))
        self._prepare(_FIRST_ROUNDS)
        self._restore()
        for row in read_history(history):
            self.update(*arm_with_reward(row))

    def _prepare(self, rounds: int) -> None:
        """Make what compiled code needs, good for so many rounds."""
        self._rounds = rounds
        self._calls_left = 0  # pulls or updates before the tables may be used up
        self._names = self.structure.arms
        self._sign = self.structure.sign
        self._unit = self.algorithm.needs_unit_rewards
        self._everything = np.arange(self.structure.n_arms)
        self._positions = {name: k for k, name in enumerate(self._names)}
        self.addresses = addresses_of(self.generator)
        self.agent = self.algorithm.agent(self.structure, rounds, int(self.clock[2]))
        self._frame = bind(self.agent, self.memory, self.block, self.clock, self.addresses)
        self._decide = decide_once.variant(self.agent)
        self._learn = learn_once.variant(self.agent)

    def _restore(self) -> None:
        restore_all.variant(self.agent)(self._frame)

    # -- the loop ----------------------------------------------------------------------------------

    def pull(self, arms: Iterable[str | int] | None = None) -> str:
        """Choose an arm, of all or of the allowed ones, and return its name.

        Parameters
        ----------
        arms
            The arms that are allowed in this call; all if None.
        """
        allowed = self._everything if arms is None else allowed_arms(self.structure, arms)
        self._make_room()
        try:
            if self._foreign is not None:
                return self._pull_foreign(allowed)
            arm: int = self._decide(self._frame, allowed)
        except NotANumber as found:
            raise without_number(found, self.algorithm.label, self._names) from None
        return self._names[arm]

    def update(self, arm: str | int, reward: float) -> None:
        """Take in the reward of an arm: at once, late, or in any order.

        Parameters
        ----------
        arm
            Its name, or its position counted from 0.
        reward
            What was earned (or what it cost, if the structure is one of costs).
        """
        position = self._position(arm)
        value = self._reward(reward)
        self._make_room()
        if self._foreign is not None:  # first: if it refuses the reward, nothing has changed here
            self._foreign.update(self._names[position], value)
        self._learn(self._frame, position, value)

    def _position(self, arm: str | int) -> int:
        position = self._positions.get(arm) if isinstance(arm, str) else None
        return self.structure.arm_index(arm) if position is None else position

    def _reward(self, reward: float) -> float:
        try:
            value = float(reward)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
        if not abs(value) <= LARGEST_REWARD:  # NaN is not, either
            if math.isfinite(value):
                raise InvalidReward(
                    f"the reward is {reward!r}, too large to reckon with; use another unit."
                )
            raise InvalidReward(f"the reward is {reward!r}; give a finite number.")
        if self._unit and not 0.0 <= value <= 1.0:
            raise InvalidReward(
                f"the reward is {reward!r}, but {self.algorithm.label} needs rewards between "
                "0 and 1; scale them, or use a Gaussian algorithm such as ts or kl-ucb."
            )
        return self._sign * value

    def _make_room(self) -> None:
        """Tables that depend on the round are made for some rounds, and doubled when used up."""
        if self._calls_left == 0:
            used = int(max(self.clock[DECIDED], self.clock[RECEIVED]))
            if used + 2 >= self._rounds:
                self._prepare(2 * self._rounds)
            self._calls_left = self._rounds - used - 1
        self._calls_left -= 1

    def _pull_foreign(self, allowed: np.ndarray) -> str:
        from structuredbandits.policies.foreign import candidates_for

        generator, registers = self.generator.bit_generator.state, self.memory.integers.copy()
        candidates = candidates_for.variant(self.agent)(self._frame, allowed)
        names = [self._names[arm] for arm in candidates]
        try:
            chosen = names[0] if len(names) == 1 else self._foreign.pull(names)
            if chosen not in names:
                raise InvalidPolicy(
                    f"{type(self._foreign).__name__}.pull chose {chosen!r}, which is not among "
                    f"the arms it was given, {names!r}; it must return one of them."
                )
        except BaseException:  # the decision was not made: take back what it used up
            self.generator.bit_generator.state = generator
            self.memory.integers[...] = registers
            raise
        self.clock[DECIDED] += 1
        self.block[5, self._positions[chosen]] += 1.0
        return str(chosen)

    # -- why ---------------------------------------------------------------------------------------

    def _require_set(self) -> None:
        if not keeps_set(self.memory):
            raise InvalidPolicy(
                f"{self.algorithm.label} keeps no confidence set; ask a policy such as "
                f"{self.algorithm.label}-c."
            )

    @property
    def confidence_set(self) -> ConfidenceSet:
        """The θ that are still plausible."""
        self._require_set()
        return ConfidenceSet(self.structure.parameters, self.memory.marks == 0)

    @property
    def competitive_arms(self) -> tuple[str, ...]:
        """The arms that are optimal at some plausible θ; all arms if no θ is plausible."""
        if not keeps_set(self.memory):
            return self._names
        mask = self.memory.marks == 0
        if not mask.any():
            return self._names
        best = self.algorithm.set_structure(self.structure).optimal[mask].any(axis=0)
        return tuple(name for name, yes in zip(self._names, best, strict=True) if yes)

    @property
    def empty_rounds(self) -> int:
        """Decisions made while no θ was plausible; many mean that the structure is wrong."""
        return count_empty_rounds(self.memory)

    def probabilities(self, arms: Iterable[str | int] | None = None) -> dict[str, float]:
        """Probability with which the next `pull` chooses each arm.

        Exact for deterministic indices (ties are shared), by quadrature for Thompson sampling.
        """
        allowed = self._everything if arms is None else allowed_arms(self.structure, arms)
        self._make_room()
        with asking_for_numbers(self.algorithm.label, self._names):
            shares = self.algorithm.probabilities(self.snapshot(), allowed)
        if shares is None:
            raise InvalidPolicy(
                f"{self.algorithm.label} does not tell its probabilities; use an algorithm that "
                "does, such as ts-c or ucb-c."
            )
        return dict(zip(self._names, shares.tolist(), strict=True))

    def diagnostics(self) -> Diagnostics:
        """How well the rewards so far fit the structure; see `Diagnostics`."""
        from structuredbandits.policies.diagnostics import diagnose

        return diagnose(self)

    def snapshot(self) -> Snapshot:
        """The run at this moment, for `Algorithm.probabilities`."""
        moment = moment_at.py_func(
            int(self.clock[RECEIVED]), int(self.clock[DECIDED]), int(self.clock[2])
        )
        return Snapshot(self.agent, self.memory, self.block, moment, self.addresses)

    @property
    def counts(self) -> np.ndarray:
        """Rewards received of each arm: (arms,)."""
        return np.asarray(self.block[0], dtype=np.int64)

    @property
    def means(self) -> np.ndarray:
        """Mean reward of each arm, NaN where none came: (arms,)."""
        counts = self.block[0]
        return np.asarray(np.where(counts > 0, self._sign * self.block[3], np.nan))

    @property
    def received(self) -> int:
        """Rewards received so far."""
        return int(self.clock[RECEIVED])

    @property
    def decided(self) -> int:
        """Decisions made so far."""
        return int(self.clock[DECIDED])

    def __repr__(self) -> str:
        return (
            f"<Policy {self.algorithm.label} on {len(self._names)} arms after "
            f"{self.decided} decisions, {self.received} rewards>"
        )

    # -- stored state ------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """All that a run is, as JSON: it resumes with identical decisions."""
        return state.state_of(self)

    @classmethod
    def from_state(cls, structure: Structure, saved: dict[str, Any]) -> Self:
        """The run that `state_dict` described, on the same structure."""
        return state.resume(cls, structure, saved)

    def __getstate__(self) -> dict[str, Any]:
        kept = {"algorithm", "structure", "generator", "block", "clock", "memory", "_rounds"}
        own = {key: value for key, value in self.__dict__.items() if key in kept}
        return own | {"foreign": self._foreign}

    def __setstate__(self, own: dict[str, Any]) -> None:
        self._foreign = own.pop("foreign")
        self.__dict__.update(own)
        self._prepare(self._rounds)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = type(self).__new__(type(self))
        own = self.__getstate__()
        shared = {"structure": own.pop("structure"), "algorithm": own.pop("algorithm")}
        twin.__setstate__(copy.deepcopy(own, memo) | shared)
        return twin

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # two runs never share their state
