"""`identify`: find the best arm, with fixed confidence or with a fixed budget of pulls."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from structuredbandits._compiled import first_words
from structuredbandits.confidence.evidence import Evidence, new_block, rows_of
from structuredbandits.confidence.joint_set import gaussian_tables
from structuredbandits.environments import Environment, default_environment
from structuredbandits.errors import (
    InvalidInput,
    InvalidPolicy,
    InvalidReward,
    StructureWarning,
    suggestion,
)
from structuredbandits.identification._cell_rules import (
    RoundRobinCells,
    TrackCells,
    cell_weights_on_demand,
    cells_of,
)
from structuredbandits.identification._coarse_grids import too_coarse
from structuredbandits.identification._pulling_rules import LUCB, RoundRobin, Track, TrackAndStop
from structuredbandits.identification._search_loop import Found, look, note, search
from structuredbandits.identification._weights import weights_on_demand
from structuredbandits.problems import Problem, load_problem
from structuredbandits.simulation.seeds import noise_sequence
from structuredbandits.simulation.task import draws_of
from structuredbandits.structure import Structure
from structuredbandits.structure.parameters import show_theta

#: Names of the rules; the first two use the structure.
RULES = ("track", "round-robin", "lucb", "track-and-stop")


@dataclass(frozen=True, eq=False, repr=False)
class Identification:
    """What a search, or each of several simulated ones, found.

    Attributes
    ----------
    rule, delta, budget
        As asked for.
    answers : tuple of str, one per run
        The arm that was named.
    stopping_times : (runs,) int array
        Rewards that were used.
    confidence : (runs,) array
        Probability at least with which the answer is a best arm; 0 where nothing can be said,
        which includes a grid of points that is too coarse for the rewards.
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

    On a continuous Θ that is the grid's θ, unless the structure has sound cells (``lipschitz=`` or
    ``sound=True``), with which it holds for every θ. If a grid without cells turns out too coarse,
    since a θ between the grid points has another best arm and no grid point fits nearly as well,
    a `StructureWarning` says so and the ``confidence`` is 0.

    Parameters
    ----------
    problem
        A problem or the name of an embedded one; or a bare structure, whose rewards are then
        of its own family: Gaussian with its sigma, Bernoulli with its prizes, or `Bounded`.
    theta
        The hidden parameter to simulate; leave it out if ``rewards`` are given.
    rule
        "track": pull in the proportions that distinguish the estimated θ soonest from those with
        another best arm. "round-robin": pull in turn the arms whose means vary over the plausible
        θ. "lucb" and "track-and-stop" do not use the structure; they are baselines.
    delta
        Probability of a wrong answer that is accepted.
    budget
        Number of pulls after which the arm that seems best is named, instead of ``delta``.
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
    >>> found.answer, found.pulls.tolist()  # only "b" distinguishes the two θ
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
        return _result(rule, delta, budget, structure, found, [block], None)
    if theta is None:
        raise InvalidInput("there is no θ to simulate; give theta, or rewards to search for real.")
    n_runs = _read_count("runs", runs)
    place = world.parameters.resolve(theta)
    draws = draws_of(world, place)
    blocks, found = [], []
    for run in range(n_runs):
        block, floats = new_block(structure.sigma), _scratch(structure)
        noise, sign = first_words(noise_sequence(seed, run)), structure.sign
        found.append(
            search(asked, floats, block, draws, sign, log_delta, until_certain, limit, noise)
        )
        blocks.append(block)
    truth = structure.sign * world.means_at(place)
    best = truth >= truth.max() - structure.tolerance
    return _result(rule, delta, budget, structure, found, blocks, best)


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
    blocks: list[np.ndarray],
    best: np.ndarray | None,
) -> Identification:
    doubts = np.exp(np.minimum([one.log_doubt for one in found], 0.0))
    seen = [rows_of(block) for block in blocks]
    if rule in RULES[:2]:
        doubts = _doubt_coarse_grids(structure, found, seen, doubts, delta)
    else:  # these know only whether they are certain enough
        doubts = np.where(doubts == 0.0, delta, 1.0)
    return Identification(
        rule,
        float(delta),
        budget,
        tuple(structure.arms[one.answer] for one in found),
        np.array([one.rounds for one in found], dtype=np.int64),
        1.0 - doubts,
        np.array([evidence.counts for evidence in seen]).astype(np.int64),
        None if best is None else np.array([bool(best[one.answer]) for one in found]),
    )


def _doubt_coarse_grids(
    structure: Structure,
    found: list[Found],
    seen: list[Evidence],
    doubts: np.ndarray,
    delta: float,
) -> np.ndarray:
    """Withdraw the certainty of runs for which the grid is too coarse, and warn of it."""
    between = [
        too_coarse(structure, evidence.counts, evidence.means, one.answer, delta)
        for one, evidence in zip(found, seen, strict=True)
    ]
    coarse = np.array([theta is not None for theta in between])
    if coarse.any():
        theta = between[int(coarse.argmax())]
        runs = f"in {int(coarse.sum()):,} of {len(found):,} runs " if len(found) > 1 else ""
        warnings.warn(
            f"the grid over Θ is too coarse for this search {runs}around θ = {show_theta(theta)}: "
            "no grid point fits nearly as well, and another arm may be the best there, so that "
            "nothing is certain; use more points, or sound cells (lipschitz= or sound=True).",
            StructureWarning,
            stacklevel=4,
        )
    return np.where(coarse, 1.0, doubts)


def _make_rule(rule: str, structure: Structure, delta: float) -> Any:
    name = str(rule).strip().lower()
    if name not in RULES:
        raise InvalidPolicy(f"there is no rule {rule!r}; {suggestion(rule, RULES)}")
    if name in RULES[2:]:
        kind = LUCB if name == "lucb" else TrackAndStop
        return kind(math.log(delta), float(structure.sigma.max()))
    if not structure.exact:
        return _make_cell_rule(name, structure, delta)
    # Limited rewards are sub-Gaussian with the same sigma, and `too_coarse` measures by it.
    joint, optimal = gaussian_tables(structure), np.ascontiguousarray(structure.optimal)
    if name == "track":
        return Track(joint, optimal, weights_on_demand(structure).rows)
    return RoundRobin(joint, optimal, math.log(delta), structure.tolerance)


def _make_cell_rule(name: str, structure: Structure, delta: float) -> Any:
    cells = cells_of(structure)
    if not cells.certain.any():
        raise InvalidPolicy(
            f"rule {name!r} cannot end, since the bounds of the best arms overlap at every θ; use "
            "more grid points, narrower bounds, or rule='lucb'."
        )
    if name == "track":
        return TrackCells(cells, cell_weights_on_demand(structure).rows)
    return RoundRobinCells(cells, math.log(delta), structure.tolerance)


def _read_problem(
    problem: Problem | Structure | str, environment: Environment | None
) -> tuple[Structure, Environment]:
    if isinstance(problem, str):
        problem = load_problem(problem)
    structure = problem if isinstance(problem, Structure) else problem.structure
    if environment is None:
        environment = (
            default_environment(problem) if isinstance(problem, Structure) else problem.environment
        )
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
