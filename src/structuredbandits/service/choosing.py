"""With which probability each arm is shown, and which one is.

This module turns a subject's state into probabilities and a draw from exactly these. It must not
know storage or HTTP.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from structuredbandits.confidence.evidence import new_block
from structuredbandits.confidence.tables import gains
from structuredbandits.policies.batch import Shares
from structuredbandits.policies.floor import ExplorationFloor
from structuredbandits.policies.registry import make_algorithm
from structuredbandits.policies.sharing import explain_many
from structuredbandits.policies.structured.hierarchical import Hierarchical
from structuredbandits.policies.structured.hierarchical_bounds import widened
from structuredbandits.service.subject_state import SubjectState

if TYPE_CHECKING:
    from structuredbandits.policies.diagnostics import Diagnostics
    from structuredbandits.policies.policy import Policy
    from structuredbandits.structure import Structure

# The width of the confidence set that explains a policy which keeps none.
_ALPHA = 3.0
_ERRORS = 2.0
_UNIT = 2.0**-53
# Sets of allowed arms whose first probabilities are kept.
_BEGINNINGS_KEPT = 256


class Choices(NamedTuple):
    """What is known before an arm is drawn, a row a subject."""

    probabilities: np.ndarray  # (subjects, arms)
    competitive: np.ndarray  # (subjects, arms) bool
    plausible: np.ndarray  # (subjects,) number of θ


class View(NamedTuple):
    """What can be told of one subject."""

    probabilities: list[float]
    competitive: list[int]
    plausible: np.ndarray  # (parameters,) bool
    low: list[float | None]  # ends of each arm's interval, None where nothing came
    high: list[float | None]
    diagnostics: Diagnostics


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
        self, structure: Structure, policy: str, *, horizon: int | None, floor: float
    ) -> None:
        named = make_algorithm(policy)
        given, self.floor, self.label = named, floor, named.label
        if isinstance(named, ExplorationFloor):
            given, self.floor = named.algorithm, max(floor, named.floor)
        self.structure = structure
        self.algorithm = given
        self._lock = threading.Lock()
        self._shares = Shares(given, structure, horizon)
        self._run = given.start(structure, seed=0, horizon=horizon)
        known = given.set_structure(structure)
        if not self._run.memory.marks.size and structure.standard_errors is not None:
            known = widened(structure, _ERRORS)
        bounds = gains(known)
        self._lower, self._upper = np.array(bounds[0]), np.array(bounds[-1])
        self._optimal = np.array(known.optimal)
        self._alpha = float(getattr(given, "alpha", _ALPHA))
        # A joint set is told by the run itself, all others by comparing each θ with each interval.
        self._joint = getattr(given, "confidence", None) == "joint"
        self._only_rewards_matter = type(given) is Hierarchical
        self._beginnings: dict[bytes, Choices] = {}
        self._latest_key: tuple[object, ...] | None = None
        self._latest: Choices | None = None
        self._empty = new_block(structure.sigma)
        everything = np.arange(structure.n_arms)
        self.choices([SubjectState.fresh(structure.n_arms)], everything)  # refuses what it cannot

    def restored(self, state: SubjectState) -> Policy:
        """The policy's run at a subject's state, valid until the next call."""
        run, sign = self._run, self.structure.sign
        run.block[0], run.block[2], run.block[5] = state.counts, state.squares, state.pending
        run.block[1] = sign * np.array(state.sums)
        run.clock[0], run.clock[1] = state.received, state.decided
        while max(state.received, state.decided) + 2 >= run._rounds:
            run._prepare(2 * run._rounds)
        run._restore()
        return run

    def choices(self, states: Sequence[SubjectState], allowed: np.ndarray) -> Choices:
        """Probabilities of each arm for subjects who may be shown the same arms."""
        with self._lock:
            return self._choices(states, allowed)

    def view(self, state: SubjectState, allowed: np.ndarray) -> View:
        """Everything that can be told of a subject."""
        with self._lock:
            choices = self._choices([state], allowed)
            run = self.restored(state)
            reach = self._radius(run) * run.block[4]
            ends = run.block[3] - reach, run.block[3] + reach
            if self.structure.sign < 0:
                ends = -ends[1], -ends[0]
            low, high = ([float(x) if math.isfinite(x) else None for x in end] for end in ends)
            return View(
                choices.probabilities[0].tolist(),
                np.flatnonzero(choices.competitive[0]).tolist(),
                self.plausible(run),
                low,
                high,
                run.diagnostics(),
            )

    def plausible_at(self, state: SubjectState) -> np.ndarray:
        """Which θ are plausible for a subject: (parameters,) bool."""
        with self._lock:
            return self.plausible(self.restored(state)).copy()

    def diagnose(self, state: SubjectState) -> Diagnostics:
        """How well a subject's rewards fit the structure."""
        with self._lock:
            return self.restored(state).diagnostics()

    def _radius(self, run: Policy) -> float:
        """The width of the intervals that explain a choice, in scales of the arm."""
        return math.sqrt(self._alpha) * math.sqrt(2.0 * math.log(max(run.received, 2)))

    def _choices(self, states: Sequence[SubjectState], allowed: np.ndarray) -> Choices:
        known = [row for row, state in enumerate(states) if self._is_beginning(state)]
        if len(known) < len(states):
            if not known:
                return self._computed(states, allowed)
            others = [row for row in range(len(states)) if row not in set(known)]
            computed = self._compute([states[row] for row in others], allowed)
        beginning = self._beginning(allowed)
        whole = Choices(*(np.repeat(part, len(states), axis=0) for part in beginning))
        if len(known) < len(states):
            for part, found in zip(whole, computed, strict=True):
                part[others] = found
        return whole

    def _is_beginning(self, state: SubjectState) -> bool:
        return state.decided == 0 or (self._only_rewards_matter and state.received == 0)

    def _beginning(self, allowed: np.ndarray) -> Choices:
        """What holds for everybody of whom nothing is known."""
        key = allowed.tobytes()
        held = self._beginnings.get(key)
        if held is None:
            if len(self._beginnings) >= _BEGINNINGS_KEPT:
                self._beginnings.clear()
            held = self._compute([SubjectState.fresh(self.structure.n_arms)], allowed)
            self._beginnings[key] = held
        return held

    def _computed(self, states: Sequence[SubjectState], allowed: np.ndarray) -> Choices:
        """As `_compute`, but what was computed for the same rewards just now is used again."""
        if not self._only_rewards_matter or len(states) != 1:
            return self._compute(states, allowed)
        key = (tuple(states[0].counts), tuple(states[0].sums), allowed.tobytes())
        if key != self._latest_key:
            self._latest_key, self._latest = key, self._compute(states, allowed)
        assert self._latest is not None
        return Choices(*(part.copy() for part in self._latest))

    def _compute(self, states: Sequence[SubjectState], allowed: np.ndarray) -> Choices:
        blocks = np.repeat(self._empty[None], len(states), axis=0)
        blocks[:, 0] = [state.counts for state in states]
        blocks[:, 1] = [state.sums for state in states]
        blocks[:, 1] *= self.structure.sign
        blocks[:, 2] = [state.squares for state in states]
        blocks[:, 5] = [state.pending for state in states]
        decided = np.array([state.decided for state in states], dtype=np.int64)
        shares = self._shares.of(blocks, decided, allowed)
        if self.floor > 0.0:
            shares *= 1.0 - self.floor
            shares[:, allowed] += self.floor / allowed.size
        if self._joint:
            plausible, competitive = self._explain_jointly(states, allowed)
        else:
            alpha = math.sqrt(self._alpha)
            plausible, competitive = explain_many(
                self._lower, self._upper, self._optimal, blocks, alpha, allowed
            )
        return Choices(shares, competitive, plausible)

    def _explain_jointly(
        self, states: Sequence[SubjectState], allowed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        plausible = np.zeros(len(states), dtype=np.int64)
        competitive = np.zeros((len(states), self.structure.n_arms), dtype=bool)
        for row, state in enumerate(states):
            mask = self.plausible(self.restored(state))
            plausible[row] = mask.sum()
            best = self._optimal[mask].any(axis=0) if mask.any() else np.ones_like(competitive[0])
            competitive[row, allowed] = best[allowed]
        return plausible, competitive

    def plausible(self, run: Policy) -> np.ndarray:
        """Which θ are plausible: (parameters,) bool."""
        if self._joint:
            return np.asarray(run.memory.marks == 0)
        seen = run.block[0] > 0
        reach = self._radius(run) * run.block[4][seen]
        low, high = run.block[3][seen] - reach, run.block[3][seen] + reach
        lower, upper = self._lower[:, seen], self._upper[:, seen]
        return np.asarray(((low < upper) & (lower < high)).all(axis=1))


def chance(seed: bytes, subject: str, round_number: int) -> float:
    """A number from [0, 1) that only who has the seed can foretell.

    Examples
    --------
    >>> chance(b"secret", "ana", 1) == chance(b"secret", "ana", 1)
    True
    """
    told = hashlib.blake2b(f"{round_number}:{subject}".encode(), key=seed, digest_size=8)
    return (int.from_bytes(told.digest(), "big") >> 11) * _UNIT


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
