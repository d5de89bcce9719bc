"""Runs several policies at one θ* and records every round for a page.

A run equals the run of `simulate` with the same seed.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from structuredbandits.confidence.radius import q_at
from structuredbandits.errors import InvalidInput, InvalidPolicy
from structuredbandits.policies.registry import make_algorithm
from structuredbandits.service.lab.appearance import policy_look
from structuredbandits.service.lab.lab_models import PlausibleSet, PolicyRun, RunAnswer
from structuredbandits.simulation.seeds import policy_sequence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from structuredbandits.policies.algorithm import Algorithm
    from structuredbandits.policies.policy import Policy
    from structuredbandits.problems import Problem
    from structuredbandits.structure import Structure

SECONDS = 8.0
"""The longest that one request may compute, the compilation of a policy not counted."""

_LOOK_EVERY = 32


class TooSlow(InvalidInput):
    """A run that would take longer than a page waits."""


def run(
    problem: Problem,
    theta: object,
    policies: Sequence[str],
    *,
    rounds: int,
    seed: int,
    seconds: float = SECONDS,
) -> RunAnswer:
    """Run policies with identical simulated rewards and record every round.

    Parameters
    ----------
    problem
        The structure that the policies know, and where rewards come from.
    theta
        The hidden θ*.
    policies
        Names; no two may mean the same policy.
    rounds, seed
        As the horizon and the seed of `simulate`, whose run 0 this is.
    seconds
        `TooSlow` is raised when all policies together compute longer.

    Examples
    --------
    >>> from structuredbandits.problems import load_problem
    >>> answer = run(load_problem("three-arms"), 0.5, ["ucb-c"], rounds=20, seed=0)
    >>> len(answer.policies[0].arms), answer.policies[0].sets[0].competitive
    (20, [0, 1, 2])
    """
    algorithms = _algorithms(policies)
    for algorithm in algorithms:
        algorithm.check(problem.structure)
    resolved = problem.resolve(theta)
    means = problem.environment.means_at(resolved)
    worth = problem.structure.sign * means
    spent = 0.0
    runs = []
    for algorithm in algorithms:
        recorder = _Recorder(problem, algorithm, resolved, rounds, seed)
        spent = recorder.play(worth.max() - worth, spent, seconds)
        runs.append(recorder.answer())
    return RunAnswer(
        theta=resolved,
        label=problem.label(resolved),
        position=problem.structure.parameters.nearest(resolved),
        true_means=means.tolist(),
        best_arm=int(worth.argmax()),
        rounds=rounds,
        seed=seed,
        policies=runs,
    )


def _algorithms(policies: Sequence[str]) -> list[Algorithm]:
    algorithms: dict[str, Algorithm] = {}
    for name in policies:
        try:
            algorithm = make_algorithm(name)
        except InvalidInput:
            raise
        except (TypeError, ValueError, ArithmeticError) as problem:
            raise InvalidPolicy(
                f"policy {name!r} cannot be made ({problem}); write it like 'ucb-c(alpha=2)'."
            ) from None
        if algorithm.label in algorithms:
            raise InvalidPolicy(f"policy {algorithm.label!r} is given twice; leave one out.")
        algorithms[algorithm.label] = algorithm
    return list(algorithms.values())


class _Recorder:
    """One policy, its rewards, and what was seen of it."""

    def __init__(
        self, problem: Problem, algorithm: Algorithm, theta: object, rounds: int, seed: int
    ) -> None:
        self.policy: Policy = algorithm.start(
            problem.structure,
            seed=policy_sequence(seed, 0, algorithm.label, theta),
            horizon=rounds,
        )
        self.rewards = problem.environment.rewards(theta, seed, 0)
        self.rounds = rounds
        self.chosen: list[int] = []
        self.earned: list[float] = []
        self.averages: list[float] = []
        self.regret: list[float] = []
        self.sets: list[PlausibleSet] | None = [] if _keeps_set(self.policy) else None
        self._mask = b""
        self._look_at_set(0)

    def play(self, gaps: np.ndarray, spent: float, seconds: float) -> float:
        """Play all rounds and return the time spent so far, over all policies."""
        lost = 0.0
        arm_index = self.policy.structure.arm_index
        began = math.nan
        for number in range(1, self.rounds + 1):
            name = self.policy.pull()
            reward = self.rewards.draw(name)
            self.policy.update(name, reward)
            arm = arm_index(name)
            lost += float(gaps[arm])
            self.chosen.append(arm)
            self.earned.append(_short(reward))
            self.averages.append(_short(float(self.policy.means[arm])))
            self.regret.append(_short(lost))
            self._look_at_set(number)
            if number == 1:  # from here on: the first round may have compiled the policy
                began = time.perf_counter()
            elif number % _LOOK_EVERY == 0 and spent + time.perf_counter() - began > seconds:
                raise TooSlow(
                    f"{self.policy.algorithm.label} needs more than {seconds:g} seconds for "
                    f"{self.rounds} rounds; ask for fewer rounds or policies."
                )
        return spent + time.perf_counter() - began

    def _look_at_set(self, number: int) -> None:
        if self.sets is None:
            return
        plausible = self.policy.confidence_set
        mask = plausible.mask.tobytes()
        if mask == self._mask:
            return
        self._mask = mask
        structure = self.policy.structure
        self.sets.append(
            PlausibleSet(
                round=number,
                plausible=_stretches(plausible.mask),
                share=_short(plausible.share),
                competitive=[structure.arm_index(arm) for arm in self.policy.competitive_arms],
            )
        )

    def answer(self) -> PolicyRun:
        """Return what was recorded."""
        algorithm = self.policy.algorithm
        return PolicyRun(
            policy=algorithm.label,
            look=policy_look(algorithm.label),
            arms=self.chosen,
            rewards=self.earned,
            means=self.averages,
            regret=self.regret,
            sets=self.sets,
            widths=_widths(algorithm, self.policy.structure, self.rounds),
        )


def _keeps_set(policy: Policy) -> bool:
    try:
        return policy.confidence_set is not None
    except InvalidPolicy:
        return False


def _widths(algorithm: Algorithm, structure: Structure, rounds: int) -> list[float] | None:
    """Return q(t) after each round, for policies whose set is made of the arms' intervals."""
    kept = algorithm.confidence_parameters(structure)
    if kept is None or kept.kind != "box" or kept.structure is not structure:
        return None
    return [_short(q_at(kept.alpha, t)) for t in range(1, rounds + 1)]


def _stretches(mask: np.ndarray) -> list[tuple[int, int]]:
    """Return the runs of True as pairs (first, one past the last).

    Examples
    --------
    >>> _stretches(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    steps = np.diff(mask.astype(np.int8), prepend=0, append=0)
    starts, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def _short(value: float) -> float:
    return float(format(value, ".7g"))
