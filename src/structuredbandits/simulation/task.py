"""Some runs of one policy at one θ: the unit of work of a simulation, the same on every worker."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from structuredbandits._compiled import first_words
from structuredbandits.environments import Environment, NormalEnvironment, TableEnvironment
from structuredbandits.errors import InvalidInput
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.policies.custom_functions import NotANumber, without_number
from structuredbandits.policies.run import Run
from structuredbandits.simulation._run_loop import Clock, RunRecord, make_clock, play
from structuredbandits.simulation.reward_draws import NormalDraws, TableDraws
from structuredbandits.simulation.seeds import noise_sequence, policy_sequence
from structuredbandits.structure import Structure

# Rounds of the first portion of a run. Portions grow until they take this long.
_FIRST_PORTION, _PORTION_SECONDS = 4_096, 0.2


class TaskResult(NamedTuple):
    """Results of some runs."""

    regret: np.ndarray  # (runs, checkpoints)
    reward: np.ndarray  # (runs, checkpoints)
    pulls: np.ndarray  # (runs, arms)
    empty_rounds: np.ndarray  # (runs,)


@dataclass(frozen=True)
class Task:
    """Some runs of one policy at one θ."""

    algorithm: Algorithm
    structure: Structure
    environment: Environment
    theta: Any
    checkpoints: tuple[int, ...]
    seed: int
    first_run: int
    n_runs: int

    def run(self) -> TaskResult:
        """Do the runs."""
        means = self.structure.sign * self.environment.means_at(self.theta)
        gaps = means.max() - means
        n_checkpoints, n_arms = len(self.checkpoints), self.structure.n_arms
        outcome = TaskResult(
            np.empty((self.n_runs, n_checkpoints)),
            np.empty((self.n_runs, n_checkpoints)),
            np.empty((self.n_runs, n_arms), dtype=np.int64),
            np.zeros(self.n_runs, dtype=np.int64),
        )
        play_all = self._compiled if self.algorithm.external is None else self._in_python
        try:
            play_all(outcome, gaps)
        except NotANumber as found:
            raise without_number(found, self.algorithm.label, self.structure.arms) from None
        outcome.reward[...] *= self.structure.sign
        return outcome

    def _compiled(self, outcome: TaskResult, gaps: np.ndarray) -> None:
        horizon = self.checkpoints[-1]
        run = Run(self.algorithm, self.structure, seed=0, horizon=horizon, rounds=horizon + 1)
        draws = draws_of(self.environment, self.theta)
        clock = clock_to(horizon)
        rounds = np.array(self.checkpoints, dtype=np.int64)
        play_run, label = play.variant(run.agent), self.algorithm.label
        most = _FIRST_PORTION
        for place in range(self.n_runs):
            number = self.first_run + place
            run.restart(policy_sequence(self.seed, number, label, self.theta))
            kept = RunRecord(rounds, gaps, outcome.regret[place], outcome.reward[place])
            parts = (run.agent, run.memory, run.block, draws, self.structure.sign, clock, kept)
            random = run.addresses, first_words(noise_sequence(self.seed, number))
            most = _play(play_run, (*parts, *random), horizon, most)
            outcome.pulls[place] = run.evidence.counts
            outcome.empty_rounds[place] = run.empty_rounds

    def _in_python(self, outcome: TaskResult, gaps: np.ndarray) -> None:
        """The same loop for an algorithm that chooses with an external Python object."""
        for place in range(self.n_runs):
            run = self.first_run + place
            sequence = policy_sequence(self.seed, run, self.algorithm.label, self.theta)
            policy = self.algorithm.start(
                self.structure, seed=sequence, horizon=self.checkpoints[-1]
            )
            rewards = self.environment.rewards(self.theta, self.seed, run)
            done = 0
            for column, checkpoint in enumerate(self.checkpoints):
                for _ in range(checkpoint - done):
                    arm = policy.pull()
                    policy.update(arm, rewards.draw(arm))
                done = checkpoint
                outcome.regret[place, column] = policy.counts @ gaps
                outcome.reward[place, column] = policy.run.evidence.sums.sum()
            outcome.pulls[place] = policy.counts
            outcome.empty_rounds[place] = policy.empty_rounds


def draws_of(environment: Environment, theta: object) -> NormalDraws | TableDraws:
    """An environment at one θ, as the kernel takes it."""
    if isinstance(environment, NormalEnvironment):
        return NormalDraws(
            np.array(environment.location(theta)), np.array(environment.scale(theta))
        )
    if isinstance(environment, TableEnvironment):
        cumulative, values = environment.quantile_table(theta)
        return TableDraws(np.array(cumulative), np.array(values))
    raise InvalidInput(
        f"{type(environment).__name__} offers neither location and scale nor a quantile_table; "
        "give it one of them so that its rewards can be simulated."
    )


def _play(play_run: Any, parts: tuple[Any, ...], horizon: int, most: int) -> int:
    """Play a whole run in portions of ``most`` rounds; returns the size of the next portion.

    Python notices Ctrl-C only between two calls of compiled code.
    """
    progress = np.zeros(2, dtype=np.int64)
    while progress[0] < horizon:
        start = time.perf_counter()
        play_run(*parts, progress, most)
        if most < horizon and time.perf_counter() - start < _PORTION_SECONDS:
            most *= 2
    return most


@lru_cache(maxsize=4)
def clock_to(horizon: int) -> Clock:
    """The clock's tables, shared by all runs of a horizon."""
    return make_clock(horizon)
