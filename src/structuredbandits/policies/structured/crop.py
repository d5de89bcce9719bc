"""CROP: refute what is too optimistic by the pulls that a pessimistic θ asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits._compiled import inline
from structuredbandits._compiled.lazy_rows import LazyRows, fill_row
from structuredbandits.confidence.evidence import Evidence
from structuredbandits.confidence.joint_set import (
    JointTables,
    best_fit,
    fill_misfits,
    joint_tables,
    scratch_memory,
)
from structuredbandits.confidence.memory import Memory
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.parameter_checks import positive
from structuredbandits.policies.registration import register
from structuredbandits.policies.structured.exploration_plans import CLOSE, hypotheses_of
from structuredbandits.policies.structured.score_policy import ScoreAlgorithm, scores_of

if TYPE_CHECKING:
    from structuredbandits.structure import Structure

# Rows of a run's floats.
_SCORES, _MISFITS, _WEIGHTS = 0, 1, 2


class CROPAgent(NamedTuple):
    """Parameters of CROP in compiled code."""

    joint: JointTables
    best_arms: np.ndarray  # (parameters,) the best arm of each θ, the first one of several
    best_means: np.ndarray  # (parameters,)
    information_scale: np.ndarray  # (arms,) sqrt(2) sigma
    tolerance: float
    rates: LazyRows  # (parameters, arms) pulls per log t that refute the competing θ
    plans: LazyRows  # (parameters, 2 arms) proportions that resolve a conflict, and that refute
    alpha: float
    log_z: float


@register(
    summary="Refute optimistic parameters by the pulls that a pessimistic one calls informative.",
    use="A few separate parameters that are right, and a long horizon; not for fine grids.",
    needs=("exact means",),
    colour="green",
    line="dash-dot",
    order=218,
)
@dataclass(frozen=True, repr=False)
class CROP(ScoreAlgorithm):
    """The arm that is best at all plausible θ, else argmin_k n_k / w_k of the most pessimistic θ.

    Let M(θ) = Σ_k n_k (mu_hat_k − mu_k(θ))² / (2 sigma_k²), or the log likelihood that θ lacks if
    rewards are Bernoulli or bounded. θ is plausible while M(θ) − min M ≤ log(z t^alpha). If one arm
    is best at all plausible θ, it is pulled. Otherwise θ̄ is the plausible θ of the smallest best
    mean, of several the one that fits best, and the arm is the one of the smallest n_k / w_k, where
    w is the first of these that applies:

    1. *conflict*: the plausible θ with the best arm and the best mean of θ̄ that fit nearly as well
       as θ̄, M(θ) − M(θ̄) ≤ log(z (log2 t + 2)^alpha), ask for different exploration: w tells them
       apart.
    2. *feasible*: the lower bound's pulls at θ̄ refute, once per unit of log t, every plausible θ
       with a best mean that is not smaller than that of θ̄: w are these pulls.
    3. *fallback*: w refutes all θ with a best mean that is not smaller than that of θ̄.

    Each w minimises the regret at θ̄. Nothing is explored for its own sake, so regret is bounded
    where the structure allows it; elsewhere it is within a constant factor of the lower bound. All
    of this follows from the counts, the means and t, so a stored run needs nothing else.

    Parameters
    ----------
    alpha
        Power of t in the confidence level; the paper's is 2.
    z
        Constant of the confidence level. None: the number of θ, as in the paper. Whatever z and
        alpha are, the θ that fits best is plausible.

    Notes
    -----
    The fallback refutes all optimistic θ, the nearest neighbour of θ̄ too. If their means differ by
    d, that takes about 2 sigma²/d² pulls of one arm for a few of another, so on a fine grid a wrong
    θ̄ can last as many rounds. The paper is about finitely many, separate θ; a coarser grid or
    another policy serves a continuous Θ better.

    Choices of ours: of several best arms at a θ the first one counts; the best arm of θ̄ is pulled
    as often as the most pulled arm of a program that gives it no pulls; proportions closer than
    1e-6 are equal; where only some arms are allowed and w has none of them, the best allowed arm at
    θ̄ is pulled. Programs use Gaussian divergences with the structure's sigma, also for other
    rewards. The conditions of the three cases and their programs are our reading of the paper; no
    numbers of the paper were reproduced.

    References
    ----------
    K.-S. Jun, C. Zhang, "Crush optimism with pessimism: structured bandits beyond asymptotic
    optimality", NeurIPS 2020.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0, 0.5], [1.0, 2.0, 0.5]], sigma=1.0)
    >>> policy = CROP().start(known, seed=7)
    >>> policy.probabilities()  # the first θ is the pessimistic one, and arm 2 would refute it
    {'1': 0.5, '2': 0.5, '3': 0.0}
    """

    alpha: float = positive(2.0)
    z: float | None = positive(None)
    name: ClassVar[str] = "crop"

    def check(self, structure: Structure) -> None:
        if not structure.exact:
            loose = (structure.lower < structure.upper).any(axis=0)
            raise InvalidPolicy(
                f"crop needs exact means, but arm {structure.arms[int(loose.argmax())]!r} has "
                "bounds; use a policy such as ucb-c."
            )

    def agent(self, structure: Structure, rounds: int, horizon: int) -> CROPAgent:
        known = hypotheses_of(structure)
        return CROPAgent(
            joint_tables(structure),
            known.best_arms,
            known.best_means,
            known.scale,
            known.tolerance,
            known.rates.rows,
            known.plans.rows,
            float(self.alpha),
            math.log(structure.n_parameters if self.z is None else self.z),
        )

    def memory(self, structure: Structure) -> Memory:
        columns = max(structure.n_parameters, structure.n_arms)
        return scratch_memory(structure.n_arms, 3, columns)


@inline
def _require(rows: LazyRows, parameter: int) -> None:
    """Have a row computed."""
    if not rows.filled[parameter]:
        fill_row(rows.address, parameter)
        if not rows.filled[parameter]:
            raise ArithmeticError("a linear program of crop could not be solved")


@inline
def _agree(agent: Any, misfits: np.ndarray, limit: float, allowed: np.ndarray, scores: Any) -> bool:
    """Score 1 for the allowed arms that are best of them at all plausible θ; whether there is one.

    All other arms get 0.
    """
    means = agent.joint.lower
    for place in range(allowed.size):
        scores[place] = 1.0
    left = allowed.size
    for parameter in range(means.shape[1]):
        if misfits[parameter] <= limit:
            best = -math.inf
            for place in range(allowed.size):
                best = max(best, means[allowed[place], parameter])
            for place in range(allowed.size):
                worse = means[allowed[place], parameter] < best - agent.tolerance
                if worse and scores[place] == 1.0:
                    scores[place] = 0.0
                    left -= 1
            if left == 0:
                return False
    return True


@inline
def _pessimist(agent: Any, misfits: np.ndarray, limit: float) -> int:
    """The plausible θ of the smallest best mean; of several, the one that fits best."""
    lowest, chosen = math.inf, -1
    n_parameters = agent.best_means.size
    for parameter in range(n_parameters):
        if misfits[parameter] <= limit:
            lowest = min(lowest, agent.best_means[parameter])
    for parameter in range(n_parameters):
        low = agent.best_means[parameter] <= lowest + agent.tolerance
        if misfits[parameter] <= limit and low:  # noqa: SIM102  # Numba types chosen as an index
            if chosen < 0 or misfits[parameter] < misfits[chosen]:
                chosen = parameter
    return chosen


@inline
def _equivalent(agent: Any, parameter: int, other: int) -> bool:
    """Whether two θ have the same best arm and the same best mean."""
    distance = abs(agent.best_means[parameter] - agent.best_means[other])
    same = agent.best_arms[parameter] == agent.best_arms[other]
    return bool(same and distance <= agent.tolerance)


@inline
def _conflict(agent: Any, misfits: np.ndarray, limit: float, nearly: float, theta: int) -> bool:
    """Whether θ that are equivalent to ``theta`` and fit as well explore in other proportions."""
    values, n_arms = agent.rates.values, agent.information_scale.size
    own = values[theta, agent.best_arms[theta]]  # the best arm's is the largest of all
    for parameter in range(agent.best_means.size):
        fits = misfits[parameter] <= limit and misfits[parameter] <= misfits[theta] + nearly
        if parameter != theta and fits and _equivalent(agent, theta, parameter):
            _require(agent.rates, parameter)
            other = values[parameter, agent.best_arms[parameter]]
            if (own > 0.0) != (other > 0.0):
                return True
            for arm in range(n_arms):
                if own > 0.0 and other > 0.0:
                    distance = values[theta, arm] / own - values[parameter, arm] / other
                    if abs(distance) > CLOSE:
                        return True
    return False


@inline
def _feasible(agent: Any, misfits: np.ndarray, limit: float, theta: int) -> bool:
    """Whether the lower bound's pulls at ``theta`` refute all plausible θ that are optimistic."""
    means, n_arms = agent.joint.lower, agent.information_scale.size
    for parameter in range(agent.best_means.size):
        if misfits[parameter] <= limit and not _equivalent(agent, theta, parameter):
            # The best mean of every plausible θ is at least that of theta.
            information = 0.0
            for arm in range(n_arms):
                difference = means[arm, parameter] - means[arm, theta]
                scaled = difference / agent.information_scale[arm]
                information += agent.rates.values[theta, arm] * (scaled * scaled)
            if information < 1.0 - CLOSE:
                return False
    return True


@inline
def _weigh_arms(
    agent: Any, misfits: np.ndarray, limit: float, log_t: float, theta: int, weights: np.ndarray
) -> None:
    """Write w, the proportions in which the arms are pulled, into ``weights``: (arms,)."""
    n_arms = agent.information_scale.size
    _require(agent.rates, theta)
    nearly = agent.log_z + agent.alpha * math.log(log_t / math.log(2.0) + 2.0)
    conflict = _conflict(agent, misfits, limit, nearly, theta)
    if not conflict and _feasible(agent, misfits, limit, theta):
        for arm in range(n_arms):
            weights[arm] = agent.rates.values[theta, arm]
        return
    _require(agent.plans, theta)
    first = 0 if conflict else n_arms
    for arm in range(n_arms):
        weights[arm] = agent.plans.values[theta, first + arm]


@inline
def _track(
    agent: Any, evidence: Evidence, allowed: np.ndarray, theta: int, weights: Any, scores: Any
) -> None:
    """Score −n_k / w_k; the means at θ if no allowed arm has a weight."""
    some = False
    for place in range(allowed.size):
        some = some or weights[allowed[place]] > 0.0
    for place in range(allowed.size):
        arm = allowed[place]
        if not some:
            scores[place] = agent.joint.lower[arm, theta]
        elif weights[arm] > 0.0:
            scores[place] = -(evidence.counts[arm] + evidence.pending[arm]) / weights[arm]
        else:
            scores[place] = -math.inf


@scores_of(CROPAgent)
def _score(agent: Any, floats: Any, evidence: Any, allowed: Any, moment: Any) -> Any:
    scores, misfits, weights = floats[_SCORES], floats[_MISFITS], floats[_WEIGHTS]
    fill_misfits(agent.joint, evidence, misfits)
    smallest = misfits[best_fit(misfits, agent.best_means.size)]
    limit = smallest + max(agent.log_z + agent.alpha * moment.log_t, 0.0)
    if not _agree(agent, misfits, limit, allowed, scores):
        theta = _pessimist(agent, misfits, limit)
        _weigh_arms(agent, misfits, limit, moment.log_t, theta, weights)
        _track(agent, evidence, allowed, theta, weights, scores)
