"""With which probability each arm is shown to a subject, among which arms, and why.

Both follow from a subject's state by the contract of the policy; the arm is then drawn from exactly
these probabilities.
"""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from cachetools import LRUCache

from structuredbandits.confidence.confidence_set import ConfidenceParameters
from structuredbandits.confidence.divergence import interval_ends
from structuredbandits.confidence.evidence import (
    COUNTS,
    PENDING,
    SQUARES,
    SUMS,
    new_block,
)
from structuredbandits.confidence.many_subjects import PlausibleSets
from structuredbandits.confidence.refutation import least_evidence, refutation_test
from structuredbandits.policies.batch import Shares
from structuredbandits.policies.diagnostics import diagnose
from structuredbandits.policies.exploration_floor import ExplorationFloor
from structuredbandits.policies.registry import make_algorithm
from structuredbandits.policies.run import Run
from structuredbandits.policies.run_arguments import read_horizon
from structuredbandits.policies.structured.hierarchical_model import widened
from structuredbandits.service.subjects.subject_state import SubjectState

if TYPE_CHECKING:
    from structuredbandits.policies.algorithm import Algorithm
    from structuredbandits.policies.diagnostics import Diagnostics
    from structuredbandits.structure import Structure
    from structuredbandits.structure.interaction_length import Length

# The confidence set that explains a policy which keeps none: its width, and how many standard
# errors of a learned structure its bounds reach to either side.
_ALPHA = 3.0
_ERRORS = 2.0
_UNIT = 2.0**-53
# Sets of allowed arms whose first probabilities are kept.
_FIRST_CHOICES_KEPT = 256
# Decisions that take longer are computed before their transaction.
COSTLY_SECONDS = 0.002
# Choices of subjects that are computed and not used yet.
_PREPARED_KEPT = 1_024
# How often a decision is measured, unless it is quick.
_MEASURED = 3
_QUICK_SECONDS = 0.0005


class Choices(NamedTuple):
    """What is known before an arm is drawn, one row per subject."""

    probabilities: np.ndarray  # (subjects, arms)
    competitive: np.ndarray  # (subjects, arms) bool
    plausible: np.ndarray  # (subjects,) number of θ


class SubjectEvidence(NamedTuple):
    """Evidence of subjects against a structure."""

    logs: np.ndarray  # (subjects,) log of the smallest evidence against any θ
    limit: float  # what refutes, of a subject or of all together


class View(NamedTuple):
    """What is reported about one subject."""

    probabilities: list[float]
    competitive: list[int]
    plausible: np.ndarray  # (parameters,) bool
    low: list[float | None]  # ends of each arm's interval, None where no reward came
    high: list[float | None]
    diagnostics: Diagnostics


def explaining_parameters(algorithm: Algorithm, structure: Structure) -> ConfidenceParameters:
    """The confidence set that a policy keeps, or a standard one if it keeps none."""
    kept = algorithm.confidence_parameters(structure)
    if kept is not None:
        return kept
    if structure.standard_errors is not None:
        structure = widened(structure, _ERRORS)
    return ConfidenceParameters(_ALPHA, "box", structure)


class Chooser:
    """The policy of an experiment on one version of its structure.

    Examples
    --------
    >>> from structuredbandits.problems import load_structure
    >>> chooser = Chooser(load_structure("three-arms"), "ts-c", horizon=None, floor=0.3)
    >>> choices = chooser.choices([SubjectState.fresh(3)], np.arange(3))
    >>> choices.probabilities.round(3).tolist(), int(choices.plausible[0])
    ([[0.333, 0.333, 0.333]], 601)
    """

    def __init__(
        self,
        structure: Structure,
        policy: str,
        *,
        horizon: int | None,
        floor: float,
        length: Length | None = None,
    ) -> None:
        stored = make_algorithm(policy)
        named = stored.with_length(length)
        given, self.floor, self.label = named, floor, stored.label
        if isinstance(named, ExplorationFloor):
            given, self.floor = named.algorithm, max(floor, named.floor)
        self.structure = structure
        self.algorithm = given
        self._lock = threading.Lock()
        self._shares = Shares(given, structure, horizon)
        self._run = Run(given, structure, seed=0, horizon=read_horizon(horizon))
        self._sets = PlausibleSets(explaining_parameters(given, structure))
        self._first_choices: LRUCache[bytes, Choices] = LRUCache(_FIRST_CHOICES_KEPT)
        self._sign = structure.sign
        self._rewards_alone = given.depends_on_rewards_alone
        self._latest_key: tuple[object, ...] | None = None
        self._latest: Choices | None = None
        self._empty = new_block(structure.sigma)
        self._prepared: LRUCache[tuple[object, ...], Choices] = LRUCache(_PREPARED_KEPT)
        self._prepared_lock = threading.Lock()
        everything = np.arange(structure.n_arms)
        self.choices([SubjectState.fresh(structure.n_arms)], everything)  # refuses what it cannot
        self._horizon = horizon
        self._ahead: tuple[Shares, PlausibleSets] | None = None  # of the thread that prepares
        #: CPU time of one decision for a subject with rewards.
        self.seconds = self._measure(everything)

    def choices(self, states: Sequence[SubjectState], allowed: np.ndarray) -> Choices:
        """Probabilities of each arm for subjects who may be shown the same arms."""
        with self._lock:
            return self._choices(states, allowed)

    @property
    def is_costly(self) -> bool:
        """Whether decisions are computed before their transaction, which others wait for."""
        return self.seconds > COSTLY_SECONDS

    def prepare(self, states: Sequence[SubjectState], allowed: np.ndarray) -> None:
        """Compute choices that `choices` then finds; one thread calls this at a time."""
        missing = self.unprepared(states, allowed)
        if missing:
            if self._ahead is None:
                shares = Shares(self.algorithm, self.structure, self._horizon)
                self._ahead = shares, PlausibleSets(self._sets.parameters)
            wanted = [states[row] for row in missing]
            found = self._compute(wanted, allowed, *self._ahead)
            with self._prepared_lock:
                for row, state in enumerate(wanted):
                    one = Choices(*(part[row : row + 1].copy() for part in found))
                    self._prepared[_key(state, allowed)] = one

    def unprepared(self, states: Sequence[SubjectState], allowed: np.ndarray) -> list[int]:
        """The rows of the states whose choices have to be computed."""
        with self._prepared_lock:
            return [
                row
                for row, state in enumerate(states)
                if not self._is_first(state) and _key(state, allowed) not in self._prepared
            ]

    def _measure(self, everything: np.ndarray) -> float:
        """CPU time of a decision; the least of some, since the first may compile."""
        structure = self.structure
        means = np.asarray(structure.lower).mean(axis=0)
        seconds = 0.0
        for arms in (everything[:1], everything):
            state = SubjectState.fresh(structure.n_arms)
            for arm in arms.tolist():
                state.decide(arm)
                state.reward(arm, float(means[arm]))
            times: list[float] = []
            while len(times) < _MEASURED and (not times or times[-1] > _QUICK_SECONDS):
                start = time.thread_time()
                self._compute([state], everything)
                times.append(time.thread_time() - start)
            seconds = max(seconds, min(times))
        return seconds

    def view(self, state: SubjectState, allowed: np.ndarray) -> View:
        """What is reported about a subject."""
        with self._lock:
            choices = self._choices([state], allowed)
            run = self._restored(state)
            ends = interval_ends(
                self.structure,
                self._sets.parameters.alpha,
                run.received,
                run.evidence.counts,
                self.structure.sign * run.evidence.means,
            )
            low, high = ([float(x) if math.isfinite(x) else None for x in end] for end in ends)
            return View(
                choices.probabilities[0].tolist(),
                np.flatnonzero(choices.competitive[0]).tolist(),
                self._sets.mask(run.block),
                low,
                high,
                diagnose(run),
            )

    def plausible_at(self, state: SubjectState) -> np.ndarray:
        """Which θ are plausible for a subject: (parameters,) bool."""
        with self._lock:
            return self._sets.mask(self._blocks([state])[0])

    def diagnose(self, state: SubjectState) -> Diagnostics:
        """How well a subject's rewards fit the structure."""
        with self._lock:
            return diagnose(self._restored(state))

    def evidence(self, states: Sequence[SubjectState]) -> SubjectEvidence:
        """The evidence of each subject's rewards against the structure, to be pooled."""
        test = refutation_test(self.structure, joint=True)
        blocks: Sequence[np.ndarray] = list(self._blocks(states)) if states else []
        logs = [least_evidence(test, block) for block in blocks]
        return SubjectEvidence(np.array(logs), test.limit)

    def _restored(self, state: SubjectState) -> Run:
        """The policy's run at a subject's state, valid until the next call."""
        self._run.restore(
            counts=state.counts,
            sums=self.structure.sign * np.array(state.sums),
            squares=state.squares,
            pending=state.pending,
            decided=state.decided,
        )
        return self._run

    def _choices(self, states: Sequence[SubjectState], allowed: np.ndarray) -> Choices:
        known = [row for row, state in enumerate(states) if self._is_first(state)]
        if len(known) < len(states):
            if not known:
                return self._computed(states, allowed)
            others = [row for row in range(len(states)) if row not in set(known)]
            computed = self._computed([states[row] for row in others], allowed)
        first = self._first(allowed)
        whole = Choices(*(np.repeat(part, len(states), axis=0) for part in first))
        if len(known) < len(states):
            for part, found in zip(whole, computed, strict=True):
                part[others] = found
        return whole

    def _is_first(self, state: SubjectState) -> bool:
        """Whether nothing is known of a subject yet."""
        return state.decided == 0 or (self._rewards_alone and state.received == 0)

    def _first(self, allowed: np.ndarray) -> Choices:
        """The choices for every subject of whom nothing is known."""
        key = allowed.tobytes()
        held: Choices | None = self._first_choices.get(key)
        if held is None:
            held = self._compute([SubjectState.fresh(self.structure.n_arms)], allowed)
            self._first_choices[key] = held
        return held

    def _computed(self, states: Sequence[SubjectState], allowed: np.ndarray) -> Choices:
        """As `_compute`, but prepared results and the latest one for equal rewards are reused."""
        if self._prepared:
            return self._with_prepared(states, allowed)
        if not self._rewards_alone or len(states) != 1:
            return self._compute(states, allowed)
        key = (tuple(states[0].counts), tuple(states[0].sums), allowed.tobytes())
        if key != self._latest_key:
            self._latest_key, self._latest = key, self._compute(states, allowed)
        assert self._latest is not None
        return Choices(*(part.copy() for part in self._latest))

    def _with_prepared(self, states: Sequence[SubjectState], allowed: np.ndarray) -> Choices:
        """As `_compute`, for states of which some are prepared."""
        with self._prepared_lock:
            held = [self._prepared.get(_key(state, allowed)) for state in states]
        missing = [row for row, one in enumerate(held) if one is None]
        if missing:
            computed = self._compute([states[row] for row in missing], allowed)
            for place, row in enumerate(missing):
                held[row] = Choices(*(part[place : place + 1] for part in computed))
        rows = [one for one in held if one is not None]
        return Choices(*(np.concatenate(parts) for parts in zip(*rows, strict=True)))

    def _compute(
        self,
        states: Sequence[SubjectState],
        allowed: np.ndarray,
        shares_of: Shares | None = None,
        sets: PlausibleSets | None = None,
    ) -> Choices:
        blocks = self._blocks(states)
        decided = np.array([state.decided for state in states], dtype=np.int64)
        shares = (shares_of or self._shares).of(blocks, decided, allowed)
        if self.floor > 0.0:
            shares *= 1.0 - self.floor
            shares[:, allowed] += self.floor / allowed.size
        plausible, competitive = (sets or self._sets).of(blocks, allowed)
        return Choices(shares, competitive, plausible)

    def _blocks(self, states: Sequence[SubjectState]) -> np.ndarray:
        """The evidence of subjects: (subjects, rows, arms)."""
        blocks = np.repeat(self._empty[None], len(states), axis=0)
        blocks[:, COUNTS] = [state.counts for state in states]
        blocks[:, SUMS] = [state.sums for state in states]
        blocks[:, SUMS] *= self._sign
        blocks[:, SQUARES] = [state.squares for state in states]
        blocks[:, PENDING] = [state.pending for state in states]
        return blocks


def _key(state: SubjectState, allowed: np.ndarray) -> tuple[object, ...]:
    """All that choices depend on."""
    rewards = (tuple(state.counts), tuple(state.sums), tuple(state.squares))
    return (*rewards, tuple(state.pending), state.decided, allowed.tobytes())


def chance(seed: bytes, subject: str, round_number: int) -> float:
    """A number from [0, 1) that nobody without the seed can predict.

    Examples
    --------
    >>> chance(b"secret", "ana", 1) == chance(b"secret", "ana", 1)
    True
    """
    digest = hashlib.blake2b(f"{round_number}:{subject}".encode(), key=seed, digest_size=8)
    return (int.from_bytes(digest.digest(), "big") >> 11) * _UNIT


def draw(probabilities: np.ndarray, number: float) -> int:
    """The arm that a number from [0, 1) picks.

    Examples
    --------
    >>> [draw(np.array([0.5, 0.0, 0.5]), number) for number in (0.0, 0.4999, 0.5, 0.9999)]
    [0, 0, 2, 2]
    """
    running = np.cumsum(probabilities)
    arm = int(np.searchsorted(running, number * running[-1], side="right"))
    if arm >= probabilities.size:  # rounding of the last sum
        arm = int(np.flatnonzero(probabilities)[-1])
    return arm
