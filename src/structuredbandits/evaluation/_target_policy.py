"""The evaluated policy: what it would have done in each decision of a log."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from structuredbandits.confidence.evidence import new_blocks, rows_of
from structuredbandits.errors import InvalidInput, InvalidPolicy, InvalidReward, suggestion
from structuredbandits.structure.parameters import FloatArray

if TYPE_CHECKING:
    from structuredbandits.evaluation._decision_log import DecisionLog
    from structuredbandits.policies.algorithm import Algorithm
    from structuredbandits.structure import Structure

_SUM_TOLERANCE = 1e-6


class DecisionInput(NamedTuple):
    """What a policy given as a function sees of one decision."""

    arms: tuple[str, ...]
    """The arms that it may choose."""
    history: tuple[tuple[str, float], ...]
    """The subject's earlier (arm, reward), oldest first."""
    context: dict[str, Any]
    """The columns that were asked for."""
    subject: Any
    """Who, or the number of the row."""


class Target(Protocol):
    """A policy whose choices in the decisions of a log are evaluated."""

    label: str
    uses_history: bool
    """Whether it must see what came before."""

    def start(self) -> None:
        """Begin with a new subject."""

    def probabilities(self, log: DecisionLog, row: int) -> FloatArray:
        """Return (arms,): the probability of each arm in the decision of a row."""

    def learn(self, arm: int, reward: float) -> None:
        """Take in what the subject was shown and earned."""


class FixedTarget:
    """The same probabilities in every decision, of the allowed arms in proportion."""

    uses_history = False

    def __init__(self, shares: FloatArray, label: str) -> None:
        self.shares, self.label = shares, label

    def start(self) -> None:
        """Nothing to forget."""

    def probabilities(self, log: DecisionLog, row: int) -> FloatArray:
        """Return the shares, of the allowed arms only."""
        if log.allowed is None:
            return self.shares
        kept = np.where(log.allowed[row], self.shares, 0.0)
        total = float(kept.sum())
        if total <= 0.0:
            names = [arm for arm, yes in zip(log.arms, log.allowed[row], strict=True) if yes]
            raise InvalidPolicy(
                f"policy {self.label} gives no probability to any of the allowed arms {names} of "
                "a decision; give every arm some."
            )
        return np.asarray(kept / total)

    def learn(self, arm: int, reward: float) -> None:
        """Nothing to learn."""


class FunctionTarget:
    """A function of a `DecisionInput` that returns an arm or probabilities."""

    uses_history = True

    def __init__(self, function: Callable[[DecisionInput], Any], arms: Sequence[str]) -> None:
        self.label = getattr(function, "__name__", type(function).__name__)
        self._function, self._arms = function, tuple(arms)
        self._history: list[tuple[str, float]] = []

    def start(self) -> None:
        """Forget the last subject."""
        self._history = []

    def probabilities(self, log: DecisionLog, row: int) -> FloatArray:
        """Return what the function says, checked."""
        allowed = log.allowed_arms(row)
        context = {name: column[row] for name, column in log.context.items()}
        names = tuple(self._arms[k] for k in allowed)
        who = log.subject_names[log.subjects[row]]
        answer = self._function(DecisionInput(names, tuple(self._history), context, who))
        shares = shares_of(answer, self._arms, self.label)
        outside = np.delete(shares, allowed)
        if outside.any():
            raise InvalidPolicy(
                f"function {self.label} chose an arm that was not allowed, among {names}; use "
                "decision.arms."
            )
        return shares

    def learn(self, arm: int, reward: float) -> None:
        """Add to the history that the function sees."""
        self._history.append((self._arms[arm], reward))


class AlgorithmTarget:
    """One of the library's algorithms; one compiled run serves all subjects, one after another."""

    uses_history = True

    def __init__(
        self,
        algorithm: Algorithm,
        structure: Structure,
        rounds: int,
        horizon: int | None = None,
        seed: int | np.random.SeedSequence = 0,
        batch: bool = False,
    ) -> None:
        from structuredbandits.policies.batch import Shares
        from structuredbandits.policies.run import Run

        if algorithm.external is not None:
            raise InvalidPolicy(
                f"{algorithm!r} has a Python object inside, whose probabilities are not known; "
                "give a function of a DecisionInput in its place."
            )
        self.label = algorithm.label
        self._structure = structure
        self._unit, self._sign = algorithm.refuses_other_rewards(structure), structure.sign
        self._shares: Shares | None = None
        if batch and algorithm.compiles_shares(structure):
            self._shares = Shares(algorithm, structure, horizon)
        else:
            self._run = Run(
                algorithm, structure, seed=seed, horizon=horizon or 0, rounds=rounds + 2
            )
        self._warm_up()

    def _warm_up(self) -> None:
        """Compile everything now, so that the estimated time that is left excludes it."""
        if self._shares is not None:
            first = new_blocks(self._structure.sigma, 1)
            everything = np.arange(self._structure.n_arms)
            self._shares.of(first, np.zeros(1, dtype=np.int64), everything)
            return
        self._run.learn(0, 0.0)
        self._run.restart()

    def all_probabilities(self, log: DecisionLog, advance: Callable[[int], None]) -> FloatArray:
        """Return (decisions, arms): the probabilities in all decisions of a log.

        The subjects are served side by side: first the first decision of each, then the second.
        """
        assert self._shares is not None
        subjects = log.subjects if log.has_subjects else np.zeros(len(log), dtype=np.int64)
        sizes = np.bincount(subjects)
        firsts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        result = np.empty((len(log), len(log.arms)))
        blocks = new_blocks(self._structure.sigma, len(sizes))
        evidence = rows_of(blocks)
        everything = np.arange(len(log.arms))
        gains = np.array(
            [
                self._gain(arm, reward)
                for arm, reward in zip(log.chosen.tolist(), log.rewards.tolist(), strict=True)
            ]
        )
        # Sorted by length, the subjects that have a decision left are the first ones.
        order = np.argsort(-sizes, kind="stable")
        left = len(sizes) - np.searchsorted(np.sort(sizes), np.arange(int(sizes.max())), "right")
        for t, number in enumerate(left.tolist()):
            active = order[:number]
            rows = firsts[active] + t
            decided = np.full(number, t, dtype=np.int64)
            if log.allowed is None:
                result[rows] = self._shares.of(blocks[active], decided, everything)
            else:
                masks, kinds = np.unique(log.allowed[rows], axis=0, return_inverse=True)
                for place, mask in enumerate(masks):
                    own = kinds.reshape(-1) == place
                    result[rows[own]] = self._shares.of(
                        blocks[active[own]], decided[own], np.flatnonzero(mask)
                    )
            arms, gained = log.chosen[rows], gains[rows]
            evidence.counts[active, arms] += 1.0
            evidence.sums[active, arms] += gained
            evidence.squares[active, arms] += gained * gained
            advance(number)
        return result

    @property
    def is_batch(self) -> bool:
        """Whether all decisions of a log are answered at once."""
        return self._shares is not None

    def start(self) -> None:
        """Begin with a new subject, of whom nothing is known."""
        self._run.restart()

    def probabilities(self, log: DecisionLog, row: int) -> FloatArray:
        """Return the probabilities of the next choice."""
        return self.choice_probabilities(log.allowed_arms(row))

    def choice_probabilities(self, allowed: np.ndarray) -> FloatArray:
        """Return (arms,): the probabilities of the next choice among the allowed arms."""
        shares = self._run.probabilities(allowed)
        if shares is None:
            raise InvalidPolicy(
                f"the probabilities of {self.label} are not known; use method='replay', or an "
                "algorithm whose probabilities are, such as ts-c or ucb-c."
            )
        return np.asarray(shares, dtype=float)

    def learn(self, arm: int, reward: float) -> None:
        """Count the decision and take in its reward."""
        self._run.observe(arm, self._gain(arm, reward))

    def pull(self, allowed: np.ndarray) -> int:
        """Choose an arm by the algorithm's own compiled step."""
        return self._run.decide(allowed)

    def accept(self, arm: int, reward: float) -> None:
        """Take in the reward of the arm that was just pulled."""
        self._run.learn(arm, self._gain(arm, reward))

    def reject(self, arm: int) -> None:
        """Undo the last pull: its reward is not in the log."""
        self._run.undo_decision(arm)

    def _gain(self, arm: int, reward: float) -> float:
        self._structure.rewards.check(self._structure.arms, arm, reward)
        if self._unit and not 0.0 <= reward <= 1.0:
            raise InvalidReward(
                f"the log has a reward {reward:g}, but {self.label} needs rewards between 0 and 1; "
                "scale them, or use a Gaussian algorithm such as ts."
            )
        return self._sign * reward


def shares_of(answer: Any, arms: Sequence[str], label: str) -> FloatArray:
    """Return (arms,) probabilities from an arm's name, a mapping, or a list of numbers.

    Examples
    --------
    >>> shares_of("b", ["a", "b"], "mine"), shares_of({"a": 0.25, "b": 0.75}, ["a", "b"], "mine")
    (array([0., 1.]), array([0.25, 0.75]))
    """
    shares = np.zeros(len(arms))
    pairs: Mapping[Any, Any]
    if isinstance(answer, str):
        pairs = {answer: 1.0}
    elif isinstance(answer, Mapping):
        pairs = answer
    else:
        numbers = np.asarray(answer, dtype=float)
        if numbers.shape != shares.shape:
            raise InvalidPolicy(
                f"policy {label} gave {answer!r}; give an arm's name, a mapping from names to "
                f"probabilities, or {len(arms)} probabilities."
            )
        pairs = dict(zip(arms, numbers.tolist(), strict=True))
    places = {name: k for k, name in enumerate(arms)}
    for name, share in pairs.items():
        if str(name) not in places:
            raise InvalidPolicy(
                f"policy {label} names an arm {name!r} that is not there; {suggestion(name, arms)}"
            )
        shares[places[str(name)]] = float(share)
    total = float(shares.sum())
    if not (shares >= 0).all() or not math.isclose(total, 1.0, abs_tol=_SUM_TOLERANCE):
        raise InvalidPolicy(
            f"the probabilities of policy {label} sum to {total:g}; give numbers from 0 on that "
            "sum to 1."
        )
    return np.asarray(shares / total)


def make_target(
    policy: Any,
    arms: Sequence[str],
    structure: Structure | None,
    rounds: int,
    horizon: int | None,
    seed: int,
    batch: bool = False,
) -> Target:
    """Return the target that a description of a policy means.

    Parameters
    ----------
    policy
        "uniform"; "always NAME" or "always(arm='NAME')" for one arm; a mapping from arms to
        probabilities; a function of a `DecisionInput`; an algorithm or its name, which needs a
        structure.
    batch
        Whether only `AlgorithmTarget.all_probabilities` will be asked, which is faster.
    """
    from structuredbandits.policies.algorithm import Algorithm
    from structuredbandits.policies.registry import make_algorithm
    from structuredbandits.policies.structured.always import Always

    if isinstance(policy, Mapping):
        return FixedTarget(shares_of(policy, arms, "of fixed shares"), "fixed shares")
    if isinstance(policy, str):
        fixed = fixed_target(policy, arms)
        if fixed is not None:
            return fixed
    elif callable(policy) and not isinstance(policy, Algorithm):
        return FunctionTarget(policy, arms)
    algorithm = make_algorithm(policy)
    if structure is None and isinstance(algorithm, Always) and algorithm.arm is not None:
        return FixedTarget(shares_of(algorithm.arm, arms, algorithm.label), algorithm.label)
    if structure is None:
        raise InvalidInput(
            f"policy {algorithm.label!r} needs a structure, at least for its arms and sigma; give "
            "structure=."
        )
    return AlgorithmTarget(algorithm, structure, rounds, horizon, seed, batch)


_UNIFORM, _ALWAYS = "uniform", "always "


def is_fixed(policy: str) -> bool:
    """Tell whether a text is "uniform" or "always NAME"."""
    return policy.strip().lower() == _UNIFORM or policy.strip().lower().startswith(_ALWAYS)


def fixed_target(policy: str, arms: Sequence[str]) -> FixedTarget | None:
    """Return what "uniform" or "always NAME" means; None for any other text."""
    text = policy.strip()
    if not is_fixed(text):
        return None
    if text.lower() == _UNIFORM:
        return FixedTarget(np.full(len(arms), 1.0 / len(arms)), _UNIFORM)
    return FixedTarget(shares_of(text[len(_ALWAYS) :].strip(), arms, repr(text)), text)


def named_arms(policy: Any) -> tuple[str, ...]:
    """Return the arms that a policy itself names, before any log is read."""
    if isinstance(policy, Mapping):
        return tuple(map(str, policy))
    return ()
