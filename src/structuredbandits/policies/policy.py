"""A running algorithm as users see it: pull an arm, report its reward, ask why."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from structuredbandits.confidence.confidence_set import ConfidenceSet
from structuredbandits.errors import InvalidPolicy, InvalidReward
from structuredbandits.policies import state
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.run import Run
from structuredbandits.policies.run_arguments import (
    LARGEST_REWARD,
    allowed_arms,
    arm_with_reward,
    check_structure,
    read_history,
    read_horizon,
)
from structuredbandits.structure import Structure

if TYPE_CHECKING:
    from structuredbandits.policies.diagnostics import Diagnostics


class Policy:
    """A running algorithm; `Algorithm.start` and `make_policy` make one.

    Attributes
    ----------
    run
        The run behind it, in positions of arms and in rewards that are to be maximised.

    Examples
    --------
    >>> from structuredbandits.policies.classical.ucb import UCB
    >>> from structuredbandits.policies.competitive import Competitive
    >>> structure = Structure.from_table([[1.0, 0.0], [0.0, 2.0]], arms=["a", "b"], sigma=0.1)
    >>> policy = Competitive(UCB()).start(structure, seed=7)
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
        self._attach(Run(algorithm, structure, seed=seed, horizon=read_horizon(horizon)))
        self.run.prepare()
        for row in read_history(history):
            self.update(*arm_with_reward(row))

    def _attach(self, run: Run) -> None:
        self.run = run
        self._names = run.structure.arms
        self._positions = {name: k for k, name in enumerate(self._names)}
        self._sign = run.structure.sign
        self._unit = run.algorithm.refuses_other_rewards(run.structure)
        self._limited = run.structure.rewards.limited

    @property
    def algorithm(self) -> Algorithm:
        """What chooses."""
        return self.run.algorithm

    @property
    def structure(self) -> Structure:
        """What is known."""
        return self.run.structure

    @property
    def generator(self) -> np.random.Generator:
        """The source of the run's own randomness."""
        return self.run.generator

    # -- the loop ----------------------------------------------------------------------------------

    def pull(self, arms: Iterable[str | int] | None = None) -> str:
        """Choose an arm, of all or of the allowed ones, and return its name.

        Parameters
        ----------
        arms
            The arms that are allowed in this call; all if None.
        """
        allowed = None if arms is None else allowed_arms(self.run.structure, arms)
        return self._names[self.run.decide(allowed)]

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
        if self._limited:
            self.structure.rewards.check(self._names, position, self._sign * value)
        self.run.learn(position, value)

    def _position(self, arm: str | int) -> int:
        position = self._positions.get(arm) if isinstance(arm, str) else None
        return self.run.structure.arm_index(arm) if position is None else position

    def _reward(self, reward: float) -> float:
        try:
            value = float(reward)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
        if not abs(value) <= LARGEST_REWARD:  # NaN is not, either
            if math.isfinite(value):
                raise InvalidReward(
                    f"the reward is {reward!r}, which is too large; use another unit."
                )
            raise InvalidReward(f"the reward is {reward!r}; give a finite number.")
        if self._unit and not 0.0 <= value <= 1.0:
            raise InvalidReward(
                f"the reward is {reward!r}, but {self.algorithm.label} needs rewards between "
                "0 and 1; scale them, or use a Gaussian algorithm such as ts or kl-ucb."
            )
        return self._sign * value

    # -- why ---------------------------------------------------------------------------------------

    @property
    def confidence_set(self) -> ConfidenceSet:
        """The θ that are still plausible."""
        plausible = self.run.plausible
        if plausible is None:
            raise InvalidPolicy(
                f"{self.algorithm.label} keeps no confidence set; use a policy such as "
                f"{self.algorithm.label}-c."
            )
        return ConfidenceSet(self.structure.parameters, plausible)

    @property
    def competitive_arms(self) -> tuple[str, ...]:
        """The arms that are optimal at some plausible θ; all arms if no θ is plausible."""
        return tuple(self._names[arm] for arm in self.run.candidates())

    @property
    def empty_rounds(self) -> int:
        """Decisions made while no θ was plausible; many mean that the structure is wrong."""
        return self.run.empty_rounds

    def probabilities(self, arms: Iterable[str | int] | None = None) -> dict[str, float]:
        """Probability with which the next `pull` chooses each arm.

        Exact for deterministic indices (ties are shared), by quadrature for Thompson sampling.
        """
        shares = self.run.probabilities(
            None if arms is None else allowed_arms(self.structure, arms)
        )
        if shares is None:
            raise InvalidPolicy(
                f"the probabilities of {self.algorithm.label} are not known; use an algorithm "
                "whose probabilities are, such as ts-c or ucb-c."
            )
        return dict(zip(self._names, shares.tolist(), strict=True))

    def diagnostics(self) -> Diagnostics:
        """How well the rewards so far fit the structure; see `Diagnostics`."""
        from structuredbandits.policies.diagnostics import diagnose

        return diagnose(self.run)

    def snapshot(self) -> Snapshot:
        """The run at this moment, for `Algorithm.probabilities`."""
        return self.run.snapshot()

    @property
    def counts(self) -> np.ndarray:
        """Rewards received of each arm: (arms,)."""
        return np.asarray(self.run.evidence.counts, dtype=np.int64)

    @property
    def means(self) -> np.ndarray:
        """Mean reward of each arm, NaN where none came: (arms,)."""
        rows = self.run.evidence
        return np.asarray(np.where(rows.counts > 0, self._sign * rows.means, np.nan))

    @property
    def received(self) -> int:
        """Rewards received so far."""
        return self.run.received

    @property
    def decided(self) -> int:
        """Decisions made so far."""
        return self.run.decided

    def __repr__(self) -> str:
        return (
            f"<Policy {self.algorithm.label} on {len(self._names)} arms after "
            f"{self.decided} decisions, {self.received} rewards>"
        )

    # -- stored state ------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The whole run as JSON values: it resumes with identical decisions."""
        return state.state_of(self.run)

    @classmethod
    def from_state(cls, structure: Structure, saved: dict[str, Any]) -> Self:
        """The run that `state_dict` described, on the same structure."""
        return cls._of(state.resume(structure, saved))

    @classmethod
    def _of(cls, run: Run) -> Self:
        policy = cls.__new__(cls)
        policy._attach(run)
        return policy

    def __getstate__(self) -> dict[str, Any]:
        return {"run": self.run}

    def __setstate__(self, parts: dict[str, Any]) -> None:
        self._attach(parts["run"])

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._of(copy.deepcopy(self.run, memo))

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # two runs never share their state
