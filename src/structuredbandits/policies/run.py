"""One run of an algorithm: its agent, memory, evidence, clock and generator, kept together.

`Policy`, the batch functions, offline evaluation, the service and the simulator all use this class.
It works with positions of arms and with rewards that are to be maximised: costs are negated before
they arrive here.
"""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np

from structuredbandits._compiled import addresses_of, new_generator
from structuredbandits.confidence.evidence import new_block, rows_of
from structuredbandits.confidence.memory import (
    EMPTY_ROUNDS,
    REGISTERS_ROW,
    count_empty_rounds,
    keeps_set,
)
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.compiled_run import bind
from structuredbandits.policies.custom_functions import (
    NotANumber,
    asking_for_numbers,
    without_number,
)
from structuredbandits.policies.external import candidates_for
from structuredbandits.policies.protocol import moment_of
from structuredbandits.policies.run_kernels import (
    DECIDED,
    HORIZON,
    RECEIVED,
    decide_once,
    learn_once,
    restore_all,
)
from structuredbandits.structure import Structure

_FIRST_ROUNDS = 1024


class Run:
    """A run of an algorithm on a structure.

    Parameters
    ----------
    algorithm, structure
        What chooses, and what is known.
    seed
        Seed of the run's own randomness, or its generator.
    horizon
        Number of rounds for the algorithms that use it, 0 if it is not known.
    rounds
        Size of the tables that depend on the round; they grow when they are used up.

    Attributes
    ----------
    agent, memory, addresses
        What kernels take: the algorithm's parameters and tables, what the run remembers besides its
        evidence, and the addresses of the generator.
    block : (rows, arms)
        The evidence as kernels take it; Python reads its rows by name, in ``evidence``.
    evidence
        Named rows of the block.

    Examples
    --------
    >>> from structuredbandits.policies.classical.ucb import UCB
    >>> from structuredbandits.policies.competitive import Competitive
    >>> known = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], sigma=0.1)
    >>> run = Run(Competitive(UCB()), known, seed=7)
    >>> run.learn(0, 1.02)
    >>> run.plausible.tolist(), run.candidates().tolist(), run.decide()
    ([True, False], [0], 0)
    """

    def __init__(
        self,
        algorithm: Algorithm,
        structure: Structure,
        *,
        seed: int | np.random.SeedSequence | np.random.Generator | None = None,
        horizon: int = 0,
        rounds: int = _FIRST_ROUNDS,
    ) -> None:
        algorithm.check(structure)
        self.algorithm = algorithm
        self.structure = structure
        self.generator = seed if isinstance(seed, np.random.Generator) else new_generator(seed)
        self.block = new_block(structure.sigma)
        self.memory = algorithm.memory(structure)
        self._clock = np.array([0, 0, horizon], dtype=np.int64)
        self._external: Any = copy.deepcopy(algorithm.external)
        self._filled = False  # the memory agrees with the evidence
        self._connect(rounds)

    def _connect(self, rounds: int) -> None:
        """Make what follows from the stored parts, with tables for this many rounds."""
        self.evidence = rows_of(self.block)
        self.addresses = addresses_of(self.generator)
        self._everything = np.arange(self.structure.n_arms)
        self._make_tables(rounds)

    def _make_tables(self, rounds: int) -> None:
        self._rounds = rounds
        self._calls_left = 0  # decisions or rewards before the tables may be used up
        self.agent = self.algorithm.agent(self.structure, rounds, self.horizon)
        self._compiled: Any = None

    def reserve(self, rounds: int) -> int:
        """Let the tables grow, by doubling, until they serve this many decisions or rewards.

        Returns how many they serve.
        """
        size = self._rounds
        while rounds + 2 >= size:
            size *= 2
        if size != self._rounds:
            self._make_tables(size)
        return size - 3

    def prepare(self) -> None:
        """Compile and fill what the next decision or reward needs."""
        used = max(self.received, self.decided)
        self.reserve(used)
        if self._compiled is None:
            self._compiled = bind(self.agent, self.memory, self.block, self._clock, self.addresses)
            self._decide = decide_once.variant(self.agent)
            self._learn = learn_once.variant(self.agent)
        if not self._filled:
            restore_all.variant(self.agent)(self._compiled)
            self._filled = True
        self._calls_left = self._rounds - used - 1

    # -- the loop ----------------------------------------------------------------------------------

    def decide(self, allowed: np.ndarray | None = None) -> int:
        """Choose an arm and count its pull as pending.

        Parameters
        ----------
        allowed : (allowed,)
            Positions of the arms that may be pulled, ascending; all if None.
        """
        if self._calls_left == 0:
            self.prepare()
        self._calls_left -= 1
        if allowed is None:
            allowed = self._everything
        try:
            if self._external is not None:
                return self._decide_externally(allowed)
            arm: int = self._decide(self._compiled, allowed)
        except NotANumber as found:
            raise without_number(found, self.algorithm.label, self.structure.arms) from None
        return arm

    def learn(self, arm: int, reward: float) -> None:
        """Take in a reward of an arm, of the latest decision or of an earlier one."""
        if self._calls_left == 0:
            self.prepare()
        self._calls_left -= 1
        if self._external is not None:  # first: if it refuses the reward, nothing has changed here
            self._external.update(self.structure.arms[arm], reward)
        self._learn(self._compiled, arm, reward)

    def observe(self, arm: int, reward: float) -> None:
        """Count a decision that something else made, and take in its reward."""
        self._clock[DECIDED] += 1
        self.learn(arm, reward)

    def undo_decision(self, arm: int) -> None:
        """Take back the latest decision, which chose ``arm``."""
        self._clock[DECIDED] -= 1
        self.evidence.pending[arm] -= 1.0

    def _decide_externally(self, allowed: np.ndarray) -> int:
        """Let the external object choose among the candidates."""
        generator, registers = self.generator.bit_generator.state, self.memory.integers.copy()
        candidates = candidates_for.variant(self.agent)(self._compiled, allowed)
        names = [self.structure.arms[arm] for arm in candidates]
        try:
            chosen = names[0] if len(names) == 1 else self._external.pull(names)
            if chosen not in names:
                raise InvalidPolicy(
                    f"{type(self._external).__name__}.pull chose {chosen!r}, which is not among "
                    f"the arms it was given, {names!r}; it must return one of them."
                )
        except BaseException:  # the decision was not made: take back what it used up
            self.generator.bit_generator.state = generator
            self.memory.integers[...] = registers
            raise
        arm = int(candidates[names.index(chosen)])
        self._clock[DECIDED] += 1
        self.evidence.pending[arm] += 1.0
        return arm

    # -- from other evidence -----------------------------------------------------------------------

    def restart(
        self, seed: int | np.random.SeedSequence | np.random.Generator | None = None
    ) -> None:
        """Begin again without any evidence; with a seed, from a new generator as well."""
        if seed is not None:
            self.generator = seed if isinstance(seed, np.random.Generator) else new_generator(seed)
            self.addresses = addresses_of(self.generator)
            self._compiled = None
        self.block[...] = new_block(self.structure.sigma)
        self.memory.integers[...] = 0
        self._clock[:HORIZON] = 0
        self._calls_left, self._filled = 0, False

    def restore(
        self,
        *,
        counts: Any,
        sums: Any,
        squares: Any,
        pending: Any,
        decided: int,
    ) -> None:
        """Go to the state that stored statistics describe.

        Parameters
        ----------
        counts, sums, squares, pending : (arms,)
            Rewards received, their sums and sums of squares, and pulls without a reward.
        decided
            Decisions made so far.
        """
        rows = self.evidence
        rows.counts[:], rows.sums[:], rows.squares[:] = counts, sums, squares
        rows.pending[:] = pending
        self._clock[RECEIVED], self._clock[DECIDED] = rows.counts.sum(), decided
        self._filled = False
        self.prepare()

    def count_empty_rounds(self, number: int) -> None:
        """Set the number of decisions that were made while no θ was plausible."""
        if keeps_set(self.memory):
            self.memory.integers[REGISTERS_ROW, EMPTY_ROUNDS] = number

    # -- what is known of it -----------------------------------------------------------------------

    @property
    def received(self) -> int:
        """Rewards received so far."""
        return int(self._clock[RECEIVED])

    @property
    def decided(self) -> int:
        """Decisions made so far."""
        return int(self._clock[DECIDED])

    @property
    def horizon(self) -> int:
        """Number of rounds, 0 if it is not known."""
        return int(self._clock[HORIZON])

    @property
    def external(self) -> Any:
        """The run's copy of an external object that chooses, or None."""
        return self._external

    @property
    def empty_rounds(self) -> int:
        """Decisions made while no θ was plausible."""
        return count_empty_rounds(self.memory)

    @property
    def plausible(self) -> np.ndarray | None:
        """Which θ are plausible: (parameters,) bool; None if the run keeps no confidence set."""
        if not keeps_set(self.memory):
            return None
        if not self._filled:
            self.prepare()
        return np.asarray(self.memory.marks == 0)

    def candidates(self, allowed: np.ndarray | None = None) -> np.ndarray:
        """The competitive arms among the allowed ones, ascending: (candidates,)."""
        allowed = self._everything if allowed is None else allowed
        return self.algorithm.candidates(self.snapshot(), allowed)

    def probabilities(self, allowed: np.ndarray | None = None) -> np.ndarray | None:
        """Probability that `decide` chooses each arm now, (arms,); None if it is not known."""
        allowed = self._everything if allowed is None else allowed
        with asking_for_numbers(self.algorithm.label, self.structure.arms):
            return self.algorithm.probabilities(self.snapshot(), allowed)

    def snapshot(self) -> Snapshot:
        """The run at this moment."""
        if self._calls_left == 0:
            self.prepare()
        moment = moment_of(self.received, self.decided, self.horizon)
        return Snapshot(self.agent, self.memory, self.block, moment, self.addresses)

    def state(self) -> dict[str, Any]:
        """All that the run consists of, besides its algorithm and structure, as JSON values."""
        rows = self.evidence
        return {
            "counts": rows.counts.tolist(),
            "sums": rows.sums.tolist(),
            "squares": rows.squares.tolist(),
            "pending": rows.pending.tolist(),
            "clock": self._clock.tolist(),
            "empty_rounds": self.empty_rounds,
            "generator": self.generator.bit_generator.state,
        }

    # -- copies ------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {
            "algorithm": self.algorithm,
            "structure": self.structure,
            "generator": self.generator,
            "block": self.block,
            "memory": self.memory,
            "clock": self._clock,
            "external": self._external,
            "filled": self._filled,
            "rounds": self._rounds,
        }

    def __setstate__(self, parts: dict[str, Any]) -> None:
        self.algorithm, self.structure = parts["algorithm"], parts["structure"]
        self.generator, self.block = parts["generator"], parts["block"]
        self.memory, self._clock = parts["memory"], parts["clock"]
        self._external, self._filled = parts["external"], parts["filled"]
        self._connect(parts["rounds"])

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = type(self).__new__(type(self))
        parts = self.__getstate__()
        shared = {"structure": parts.pop("structure"), "algorithm": parts.pop("algorithm")}
        twin.__setstate__(copy.deepcopy(parts, memo) | shared)
        return twin

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # two runs never share their state
