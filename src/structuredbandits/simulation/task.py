"""A piece of a simulation: some runs of one policy at one θ, the same wherever it is done."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from structuredbandits._compiled import addresses_of, first_words, new_generator
from structuredbandits.confidence.evidence import new_block
from structuredbandits.confidence.memory import count_empty_rounds
from structuredbandits.environments import Environment, NormalEnvironment, TableEnvironment
from structuredbandits.errors import InvalidInput
from structuredbandits.policies.algorithm import Algorithm
from structuredbandits.policies.own_functions import asking_for_numbers
from structuredbandits.simulation.draws import NormalDraws, TableDraws
from structuredbandits.simulation.kernel import Clock, Record, make_clock, play
from structuredbandits.simulation.streams import noise_sequence, policy_sequence
from structuredbandits.structure import Structure

# Rounds of the first portion of a run. Portions grow until they take this long.
_FIRST_PORTION, _PORTION_SECONDS = 4_096, 0.2


class Outcome(NamedTuple):
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

    def run(self) -> Outcome:
        """Do the runs."""
        means = self.structure.sign * self.environment.means_at(self.theta)
        gaps = means.max() - means
        n_checkpoints, n_arms = len(self.checkpoints), self.structure.n_arms
        outcome = Outcome(
            np.empty((self.n_runs, n_checkpoints)),
            np.empty((self.n_runs, n_checkpoints)),
            np.empty((self.n_runs, n_arms), dtype=np.int64),
            np.zeros(self.n_runs, dtype=np.int64),
        )
        python = getattr(self.algorithm, "foreign", None) is not None
        with asking_for_numbers(self.algorithm.label, self.structure.arms):
            (self._in_python if python else self._compiled)(outcome, gaps)
        outcome.reward[...] *= self.structure.sign
        return outcome

    def _compiled(self, outcome: Outcome, gaps: np.ndarray) -> None:
        horizon = self.checkpoints[-1]
        agent = self.algorithm.agent(self.structure, horizon + 1, horizon)
        memory = self.algorithm.memory(self.structure)
        draws = draws_of(self.environment, self.theta)
        clock = clock_to(horizon)
        rounds = np.array(self.checkpoints, dtype=np.int64)
        play_run, label = play.variant(agent), self.algorithm.label
        most = _FIRST_PORTION
        for place in range(self.n_runs):
            run = self.first_run + place
            own = new_generator(policy_sequence(self.seed, run, label, self.theta))
            block = new_block(self.structure.sigma)
            memory.integers[...] = 0
            kept = Record(rounds, gaps, outcome.regret[place], outcome.reward[place])
            parts = (agent, memory, block, draws, self.structure.sign, clock, kept)
            random = addresses_of(own), first_words(noise_sequence(self.seed, run))
            most = _play(play_run, (*parts, *random), horizon, most)
            outcome.pulls[place] = block[0]
            outcome.empty_rounds[place] = count_empty_rounds(memory)

    def _in_python(self, outcome: Outcome, gaps: np.ndarray) -> None:
        """The same loop for a policy that is a Python object."""
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
                outcome.reward[place, column] = policy.block[1].sum()
            outcome.pulls[place] = policy.counts
            outcome.empty_rounds[place] = policy.empty_rounds


def draws_of(environment: Environment, theta: object) -> NormalDraws | TableDraws:
    """An environment at one θ, as the kernel wants it."""
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
    """A whole run in portions of ``most`` rounds; returns how many to take the next time.

    Python hears of Ctrl-C only between two calls of compiled code.
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
