"""`identify`: find the best arm, with fixed confidence or with a fixed budget of pulls."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from structuredbandits._compiled import first_words
from structuredbandits.confidence.evidence import new_block
from structuredbandits.confidence.joint import joint_tables
from structuredbandits.environments import Environment, Gaussian
from structuredbandits.errors import InvalidInput, InvalidPolicy, InvalidReward, suggestion
from structuredbandits.identification.rules import LUCB, RoundRobin, Track, TrackAndStop
from structuredbandits.identification.search import Found, look, note, search
from structuredbandits.identification.weights import weights_on_demand
from structuredbandits.problems import Problem, load_problem
from structuredbandits.simulation.streams import noise_sequence
from structuredbandits.simulation.task import draws_of
from structuredbandits.structure import Structure

#: Names of the rules; the first two use the structure.
RULES = ("track", "round-robin", "lucb", "track-and-stop")


@dataclass(frozen=True, eq=False, repr=False)
class Identification:
    """What a search, or each of several simulated ones, found.

    Attributes
    ----------
    rule, delta, budget
        As asked for.
    answers : tuple of str, one a run
        The arm that was named.
    stopping_times : (runs,) int array
        Rewards that were used.
    confidence : (runs,) array
        Probability at least with which the answer is a best arm; 0 where nothing can be said.
    pulls : (runs, arms) int array
        Rewards of each arm.
    correct : (runs,) bool array or None
        Whether the answer is a best arm in truth, where that is known.
    """

    rule: str
    delta: float
    budget: int | None
    answers: tuple[str, ...]
    stopping_times: np.ndarray
    confidence: np.ndarray
    pulls: np.ndarray
    correct: np.ndarray | None

    @property
    def answer(self) -> str:
        """The arm that was named, in most runs if there are several."""
        names, counts = np.unique(self.answers, return_counts=True)
        return str(names[int(counts.argmax())])

    @property
    def stopping_time(self) -> float:
        """Rewards that were used, on average."""
        return float(self.stopping_times.mean())

    @property
    def finished(self) -> np.ndarray:
        """Whether each run was as certain as asked for: (runs,)."""
        return np.asarray(self.confidence >= 1.0 - self.delta)

    @property
    def error_rate(self) -> float:
        """Share of runs with a wrong answer; NaN where the truth is not known."""
        return math.nan if self.correct is None else float(1.0 - self.correct.mean())

    def __repr__(self) -> str:
        runs = len(self.answers)
        text = f"{self.answer!r} after {self.stopping_time:.6g} rewards"
        if runs > 1:
            text += f" on average of {runs} runs"
        return f"<Identification by {self.rule}: {text}>"


def identify(
    problem: Problem | Structure | str,
    theta: Any = None,
    *,
    rule: str = "track",
    delta: float = 0.05,
    budget: int | None = None,
    rewards: Callable[[str], float] | None = None,
    runs: int = 1,
    seed: int = 0,
    environment: Environment | None = None,
    max_rounds: int = 1_000_000,
) -> Identification:
    """Find the best arm.

    With the rules that use the structure, the search ends when one arm is the best at every θ that
    fits the rewards of all arms together; the answer is then wrong with probability at most
    ``delta``, if the true means are those of a θ in Θ.

    Parameters
    ----------
    problem
        A problem or the name of an embedded one; or a bare structure, whose rewards are then
        Gaussian with its own means and sigma.
    theta
        The hidden parameter to simulate; leave it out if ``rewards`` are given.
    rule
        "track": pull in the proportions that tell the estimated θ from those with another best arm
        soonest. "round-robin": pull in turn the arms whose means vary over the plausible θ. "lucb"
        and "track-and-stop" know nothing of θ and are there to compare with.
    delta
        Probability of a wrong answer that is accepted.
    budget
        Pull exactly so many times instead, then name the arm that seems best.
    rewards
        A function that pulls an arm, given by name, and returns its reward: a search in the world
        instead of a simulation.
    runs, seed
        Number of simulated searches, seed of their rewards.
    environment
        Where simulated rewards come from, in place of the problem's.
    max_rounds
        A search that is not certain by then ends, and says so in its ``confidence``.

    References
    ----------
    A. Garivier, E. Kaufmann, "Optimal best arm identification with fixed confidence", COLT 2016;
    S. Kalyanakrishnan et al., "PAC subset selection in stochastic multi-armed bandits", ICML 2012.

    Examples
    --------
    >>> known = Structure.from_table([[1.0, 0.0], [1.0, 2.0]], arms=["a", "b"], sigma=0.5)
    >>> found = identify(known, theta=1, delta=0.01, seed=7)
    >>> found.answer, found.pulls.tolist()  # only "b" tells the two θ apart
    ('b', [[0, 1]])
    """
    structure, world = _read_problem(problem, environment)
    limit = (
        _read_count("max_rounds", max_rounds) if budget is None else _read_count("budget", budget)
    )
    if not (isinstance(delta, (int, float)) and 0.0 < delta < 1.0):
        raise InvalidInput(f"delta is {delta!r}; give a probability between 0 and 1.")
    asked = _make_rule(rule, structure, float(delta))
    log_delta, until_certain = math.log(delta), budget is None
    if rewards is not None:
        block = new_block(structure.sigma)
        found = [_ask(asked, structure, block, rewards, log_delta, until_certain, limit)]
        return _result(rule, delta, budget, structure, found, block[None, 0], None)
    if theta is None:
        raise InvalidInput("there is no θ to simulate; give theta, or rewards to search for real.")
    n_runs = _read_count("runs", runs)
    place = world.parameters.resolve(theta)
    draws = draws_of(world, place)
    pulls, found = np.empty((n_runs, structure.n_arms)), []
    for run in range(n_runs):
        block, floats = new_block(structure.sigma), _scratch(structure)
        noise, sign = first_words(noise_sequence(seed, run)), structure.sign
        found.append(
            search(asked, floats, block, draws, sign, log_delta, until_certain, limit, noise)
        )
        pulls[run] = block[0]
    truth = structure.sign * world.means_at(place)
    best = truth >= truth.max() - structure.tolerance
    return _result(rule, delta, budget, structure, found, pulls, best)


def _scratch(structure: Structure) -> np.ndarray:
    return np.zeros((2, max(structure.n_parameters, structure.n_arms)))


def _ask(
    rule: Any,
    structure: Structure,
    block: np.ndarray,
    rewards: Callable[[str], float],
    log_delta: float,
    until_certain: bool,
    limit: int,
) -> Found:
    """The loop of a search whose rewards come from a Python function."""
    floats = _scratch(structure)
    t = 0
    verdict = look(rule, floats, block, t)
    while t < limit and not (until_certain and verdict.log_doubt <= log_delta):
        reward = float(rewards(structure.arms[verdict.pull]))
        if not math.isfinite(reward):
            raise InvalidReward(f"the reward is {reward!r}; give a finite number.")
        note(block, verdict.pull, structure.sign * reward)
        t += 1
        verdict = look(rule, floats, block, t)
    return Found(t, verdict.answer, verdict.log_doubt)


def _result(
    rule: str,
    delta: float,
    budget: int | None,
    structure: Structure,
    found: list[Found],
    pulls: np.ndarray,
    best: np.ndarray | None,
) -> Identification:
    doubts = np.exp(np.minimum([one.log_doubt for one in found], 0.0))
    if rule not in RULES[:2]:  # these know only whether they are certain enough
        doubts = np.where(doubts == 0.0, delta, 1.0)
    return Identification(
        rule,
        float(delta),
        budget,
        tuple(structure.arms[one.answer] for one in found),
        np.array([one.rounds for one in found], dtype=np.int64),
        1.0 - doubts,
        np.asarray(pulls, dtype=np.int64),
        None if best is None else np.array([bool(best[one.answer]) for one in found]),
    )


def _make_rule(rule: str, structure: Structure, delta: float) -> Any:
    name = str(rule).strip().lower()
    if name not in RULES:
        raise InvalidPolicy(f"there is no rule {rule!r}; {suggestion(rule, RULES)}")
    if name in RULES[2:]:
        kind = LUCB if name == "lucb" else TrackAndStop
        return kind(math.log(delta), float(structure.sigma.max()))
    if not structure.exact:
        loose = (structure.lower < structure.upper).any(axis=0)
        raise InvalidPolicy(
            f"rule {rule!r} needs exact means, but arm {structure.arms[int(loose.argmax())]!r} has "
            "bounds; use rule='lucb'."
        )
    joint, optimal = joint_tables(structure), np.ascontiguousarray(structure.optimal)
    if name == "track":
        return Track(joint, optimal, weights_on_demand(structure).rows)
    return RoundRobin(joint, optimal, math.log(delta), structure.tolerance)


def _read_problem(
    problem: Problem | Structure | str, environment: Environment | None
) -> tuple[Structure, Environment]:
    if isinstance(problem, str):
        problem = load_problem(problem)
    structure = problem if isinstance(problem, Structure) else problem.structure
    if environment is None:
        environment = Gaussian(structure) if isinstance(problem, Structure) else problem.environment
    if tuple(environment.arms) != structure.arms:
        raise InvalidInput(
            f"the environment's arms {tuple(environment.arms)!r} are not the structure's "
            f"{structure.arms!r}; give both the same names in the same order."
        )
    return structure, environment


def _read_count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidInput(f"{name} is {value!r}; give a whole number of at least 1.")
    return int(value)
