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

from structuredbandits.confidence.tables import gains
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.floor import ExplorationFloor
from structuredbandits.policies.registry import make_algorithm
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
        algorithm = make_algorithm(policy)
        if floor > 0.0 and not isinstance(algorithm, ExplorationFloor):
            algorithm = ExplorationFloor(algorithm, floor)
        self.structure = structure
        self.algorithm = algorithm
        self.horizon = horizon
        self._lock = threading.Lock()
        self._run = algorithm.start(structure, seed=0, horizon=horizon)
        known = algorithm.set_structure(structure)
        if not self._run.memory.marks.size and structure.standard_errors is not None:
            known = widened(structure, _ERRORS)
        self._bounds, self._optimal = gains(known), known.optimal
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
        alpha = getattr(self.algorithm, "alpha", _ALPHA)
        return math.sqrt(alpha) * math.sqrt(2.0 * math.log(max(run.received, 2)))

    def _choices(self, states: Sequence[SubjectState], allowed: np.ndarray) -> Choices:
        n_arms = self.structure.n_arms
        shares = np.zeros((len(states), n_arms))
        competitive = np.zeros((len(states), n_arms), dtype=bool)
        plausible = np.zeros(len(states), dtype=np.int64)
        for row, state in enumerate(states):
            run = self.restored(state)
            found = self.algorithm.probabilities(run.snapshot(), allowed)
            if found is None:
                raise InvalidPolicy(
                    f"{self.algorithm.label} does not tell its probabilities, so it cannot be "
                    "served; use one that does, such as hierarchical or ts-c."
                )
            shares[row] = found / found.sum()
            mask = self.plausible(run)
            plausible[row] = mask.sum()
            best = self._optimal[mask].any(axis=0) if mask.any() else np.ones(n_arms, dtype=bool)
            competitive[row, allowed] = best[allowed]
        return Choices(shares, competitive, plausible)

    def plausible(self, run: Policy) -> np.ndarray:
        """Which θ are plausible: (parameters,) bool."""
        if run.memory.marks.size:
            return np.asarray(run.memory.marks == 0)
        seen = run.block[0] > 0
        reach = self._radius(run) * run.block[4][seen]
        low, high = run.block[3][seen] - reach, run.block[3][seen] + reach
        lower, upper = self._bounds[0][:, seen], self._bounds[-1][:, seen]
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
