"""An index on the value of information: what an arm's reward tells about all arms, and its price.

The rule is deterministic, uses the structure's own model, and knows how many rounds may follow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits._compiled import inline, kernel
from structuredbandits.confidence.evidence import Evidence, evidence_of
from structuredbandits.confidence.memory import Memory
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.algorithm import Algorithm, Snapshot
from structuredbandits.policies.lengths import LengthTable, length_table, rounds_after_this
from structuredbandits.policies.normal_distribution import TAIL, chance_and_density
from structuredbandits.policies.parameter_checks import LARGEST, positive
from structuredbandits.policies.protocol import Moment, decide, implements, learn, restore
from structuredbandits.policies.registration import register
from structuredbandits.policies.structured.hierarchical_model import (
    ErrorModel,
    list_plausible,
    posterior_of_mean,
    tree_rows,
    weigh_all,
    weigh_arm,
)
from structuredbandits.policies.structured.shrunken_model import shrunken_model
from structuredbandits.policies.ties import share_of_ties, take_larger
from structuredbandits.structure.interaction_length import Length, read_length

if TYPE_CHECKING:
    from structuredbandits.structure import Structure

# An arm is considered if it resolves the doubt at no more than this many times the least regret.
_WITHIN = 2.0
# A rival whose gain at one θ, over all rounds to come, is below this share of a standard deviation
# is left out there.
_NEGLIGIBLE = 1e-5
_HEIGHT = 1.0 / math.sqrt(2.0 * math.pi)
# Rows of the scratch numbers; the last two are an arm's mean and variance at one θ.
_SCORES, _MEANS, _GAINS, _CHANCES, _RATES, _MEANS_HERE, _VARIANCES_HERE, _ROWS = range(8)


class ValueAgent(NamedTuple):
    """Parameters of the value of information in compiled code."""

    model: ErrorModel
    lengths: LengthTable


class ValueMemory(NamedTuple):
    """Memory of a run: the posterior over θ, each arm's mean given θ, and scratch numbers."""

    integers: np.ndarray  # (1, parameters) the plausible θ
    floats: np.ndarray  # (tree rows, parameters) log likelihoods; row 0 holds weights
    marks: np.ndarray  # none: no confidence set is kept
    means: np.ndarray  # (parameters, arms) mean of an arm's true mean given θ
    variances: np.ndarray  # (parameters, arms) its variance
    scratch: np.ndarray  # (rows, arms)
    by_gain: np.ndarray  # (arms, arms) for each rival, all arms' means weighted by its gain
    by_chance: np.ndarray  # (arms, arms) and weighted by its chance


@register(
    summary="The least regret per value of information, over the rounds that may follow.",
    use="Any structure, few or many interactions per visitor; also called `default`.",
    needs=("horizon",),
    colour="blue",
    line="solid",
    order=125,
)
@dataclass(frozen=True, repr=False)
class ValueOfInformation(Algorithm):
    """Pull the arm that resolves what is worth knowing at the least regret, if that still pays.

    The model is that of `Hierarchical`: a prior over θ, and means that are known up to their
    standard errors; exact means have none, and bounds count as a uniform distribution. Let g be the
    arm with the largest expected mean. A rival j beats it with some chance, by an expected gain
    r_j; not knowing which arm is best costs r = Σ_j r_j per round. A reward of arm k tells about
    rival j at the rate x² / (2 noise_k²), where x is the difference between the means of arm k
    expected if j is better (weighted by the gain) and if it is not; G_k is the sum of these rates,
    weighted by r_j. With R rounds to follow, arm k is worth a pull if R · G_k exceeds what the pull
    costs, E[mean_g] − E[mean_k]. Of the arms that are worth it, and g, it pulls the one with the
    smallest (regret of a pull)² / G_k, among those that resolve all doubt at no more than twice the
    least regret. Where R rounds resolve the doubt with no arm (R · G_k < r for all of them), it
    pulls the one of the largest R · G_k less its cost. If no other arm is worth it, it pulls g.

    For one normal arm and a known one, R · G_k = cost is close to the boundary of Chernoff and Ray,
    that of the finite-horizon Gittins index: within 3 % where the rounds to follow are worth 20 or
    more rewards, and too low below. Where rewards tell about other arms it counts that as well.
    Pulls whose rewards are pending count as the information that they are going to bring.

    Parameters
    ----------
    length
        Number of interactions of a subject: its mean, or pairs of a length and its share. None: the
        run's ``horizon`` if it has one, else the structure's ``length``, else a wide distribution.
    noise
        Standard deviation of one reward. None: what the structure implies (see `reward_variance`).
    use_prior
        False to leave the structure's prior aside.
    doubt
        Plain means with standard errors are first shrunk to their arm's overall mean, as far as
        their noise warrants. To the variance that is left, (doubt · standard error)² is added: the
        subjects who are served are another sample than those whose data were learned from.

    Notes
    -----
    Its choices are not random. For logged probabilities give it a floor, ``floor=0.02``: a floor f
    costs f times the mean gap of all arms per round, and no more.

    References
    ----------
    H. Chernoff, S. N. Ray, "A Bayes sequential sampling inspection plan", Annals of Mathematical
    Statistics 36, 1965; D. Russo, B. Van Roy, "Learning to optimize via information-directed
    sampling", Operations Research 66(1), 2018.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.7]], sigma=1.0, standard_errors=[[0.1, 0.3]])
    >>> ValueOfInformation(length=2).start(known).pull()
    '1'
    >>> ValueOfInformation(length=1000).start(known).pull()
    '2'
    """

    length: Length | None = None
    noise: float | None = positive(None, at_most=LARGEST)
    use_prior: bool = True
    doubt: float = positive(1.0, at_most=LARGEST)
    shares_are_compiled: ClassVar[bool] = True
    name: ClassVar[str] = "value-of-information"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "length", read_length(self.length, InvalidPolicy))

    def agent(self, structure: Structure, rounds: int, horizon: int) -> ValueAgent:
        model = shrunken_model(structure, self.noise, bool(self.use_prior), float(self.doubt))
        return ValueAgent(model, length_table(self.length, structure.length))

    def memory(self, structure: Structure) -> Memory:
        n_parameters, n_arms = structure.n_parameters, structure.n_arms
        whole: Any = ValueMemory(
            np.zeros((1, n_parameters), dtype=np.int64),
            np.zeros((tree_rows(n_arms), n_parameters)),
            np.zeros(0, dtype=np.int16),
            np.zeros((n_parameters, n_arms)),
            np.zeros((n_parameters, n_arms)),
            np.zeros((_ROWS, n_arms)),
            np.zeros((n_arms, n_arms)),
            np.zeros((n_arms, n_arms)),
        )
        return whole  # type: ignore[no-any-return]  # compiled code asks only for its fields

    def probabilities(self, snapshot: Snapshot, allowed: np.ndarray) -> np.ndarray:
        result = np.zeros(snapshot.n_arms)
        values = value_scores(
            snapshot.agent, snapshot.memory, snapshot.block, allowed, snapshot.moment
        )
        result[allowed] = share_of_ties(values, np.zeros(allowed.size))
        return result


@inline
def _believe(agent: ValueAgent, memory: ValueMemory, evidence: Evidence, arm: int) -> None:
    """Mean and variance of an arm's true mean at every θ."""
    for parameter in range(memory.means.shape[0]):
        mean, variance = posterior_of_mean(agent.model, evidence, parameter, arm)
        memory.means[parameter, arm] = mean
        memory.variances[parameter, arm] = variance


@implements(restore, ValueAgent)
def _restore(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
    weigh_all(agent.model, memory.floats, evidence)
    for arm in range(evidence.counts.size):
        _believe(agent, memory, evidence, arm)


@implements(learn, ValueAgent)
def _learn(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
    weigh_arm(agent.model, memory.floats, evidence, arm)
    _believe(agent, memory, evidence, arm)


@inline
def _expect(memory: ValueMemory, n_plausible: int, allowed: np.ndarray) -> int:
    """Write the expected mean of each allowed arm; returns the place of the largest."""
    weights, parameters, expected = memory.floats[0], memory.integers[0], memory.scratch[_MEANS]
    for place in range(allowed.size):
        expected[place] = 0.0
    for row in range(n_plausible):
        weight, means = weights[row], memory.means[parameters[row]]
        for place in range(allowed.size):
            expected[place] += weight * means[allowed[place]]
    leader = 0
    for place in range(1, allowed.size):
        if expected[place] > expected[leader]:
            leader = place
    return leader


@inline
def _compare(
    memory: ValueMemory,
    weight: float,
    tail: float,
    n_allowed: int,
    leader: int,
    best: int,
    rival: int,
) -> None:
    """Add the gain and the chance of a rival at one θ to its sums.

    The rival is compared with the arm that is best at θ; the best arm itself with the leader.
    """
    means, variances = memory.scratch[_MEANS_HERE], memory.scratch[_VARIANCES_HERE]
    other = leader if rival == best else best
    ahead = means[rival] - means[other]
    spread = variances[rival] + variances[other]
    gain, chance, density = ahead, 1.0, 0.0
    if spread > 0.0:
        deviation = math.sqrt(spread)
        ratio = ahead / deviation
        if ratio < tail:
            return
        chance, density = chance_and_density(ratio)
        density /= deviation
        gain = ahead * chance + spread * density
    if gain <= 0.0:
        return
    gain, chance, density = weight * gain, weight * chance, weight * density
    memory.scratch[_GAINS, rival] += gain
    memory.scratch[_CHANCES, rival] += chance
    by_gain, by_chance = memory.by_gain[rival], memory.by_chance[rival]
    for place in range(n_allowed):
        by_gain[place] += gain * means[place]
        by_chance[place] += chance * means[place]
    if spread > 0.0:  # where the rival wins its own mean is higher, and the other's lower
        mine, others = variances[rival], variances[other]
        by_gain[rival] += mine * chance
        by_gain[other] -= others * chance
        by_chance[rival] += mine * density
        by_chance[other] -= others * density


@inline
def _compare_all(
    memory: ValueMemory, n_plausible: int, allowed: np.ndarray, leader: int, rounds: float
) -> None:
    """Gain, chance and conditional means of every rival of the leader."""
    n_allowed = allowed.size
    here, spreads = memory.scratch[_MEANS_HERE], memory.scratch[_VARIANCES_HERE]
    for rival in range(n_allowed):
        memory.scratch[_GAINS, rival] = 0.0
        memory.scratch[_CHANCES, rival] = 0.0
        for place in range(n_allowed):
            memory.by_gain[rival, place] = 0.0
            memory.by_chance[rival, place] = 0.0
    for row in range(n_plausible):
        parameter, best = memory.integers[0, row], leader
        means, variances = memory.means[parameter], memory.variances[parameter]
        for place in range(n_allowed):  # side by side, so that sums over arms are fast
            here[place] = means[allowed[place]]
            spreads[place] = variances[allowed[place]]
        for place in range(n_allowed):
            if here[place] > here[best]:
                best = place
        weight = memory.floats[0, row]
        # The gain of a rival that is behind by z deviations is at most the density there.
        size = rounds * weight * _HEIGHT / _NEGLIGIBLE
        tail = max(-math.sqrt(2.0 * math.log(max(size, 1.0))), TAIL)
        for rival in range(n_allowed):
            if rival != leader or best != leader:
                _compare(memory, weight, tail, n_allowed, leader, best, rival)


@inline
def _rate(agent: ValueAgent, memory: ValueMemory, allowed: np.ndarray, rival: int, k: int) -> float:
    """The rate at which one reward of the arm at place k tells whether the rival is better."""
    chance = memory.scratch[_CHANCES, rival]
    mean = memory.scratch[_MEANS, k]
    if chance < 1.0:
        mean = (mean - memory.by_chance[rival, k]) / (1.0 - chance)
    shift = memory.by_gain[rival, k] / memory.scratch[_GAINS, rival] - mean
    return float(shift * shift / (2.0 * agent.model.noise[allowed[k]]))


@inline
def _inform(
    agent: ValueAgent, memory: ValueMemory, evidence: Evidence, allowed: np.ndarray
) -> float:
    """Write G_k of each allowed arm; returns the cost r of not knowing the best arm."""
    gains, rates, n_allowed = memory.scratch[_GAINS], memory.scratch[_RATES], allowed.size
    cost = 0.0
    for place in range(n_allowed):
        rates[place] = 0.0
    for rival in range(n_allowed):
        if gains[rival] > 0.0:
            coming = 0.0  # pending rewards are going to tell this much
            for place in range(n_allowed):
                pending = evidence.pending[allowed[place]]
                if pending > 0.0:
                    coming += pending * _rate(agent, memory, allowed, rival, place)
            left = gains[rival] * math.exp(-coming)
            cost += left
            for place in range(n_allowed):
                rates[place] += left * _rate(agent, memory, allowed, rival, place)
    return cost


@inline
def score_arms(
    agent: ValueAgent, memory: ValueMemory, evidence: Evidence, allowed: np.ndarray, moment: Moment
) -> None:
    """Write the score of each allowed arm, of which the largest is pulled."""
    scores, expected = memory.scratch[_SCORES], memory.scratch[_MEANS]
    n_allowed = allowed.size
    n_plausible = list_plausible(
        agent.model, memory.floats[1], memory.floats[0], memory.integers[0]
    )
    leader = _expect(memory, n_plausible, allowed)
    for place in range(n_allowed):
        scores[place] = expected[place]
    rounds = rounds_after_this(agent.lengths, moment)
    if rounds <= 0.0 or n_allowed == 1:
        return
    _compare_all(memory, n_plausible, allowed, leader, rounds)
    cost = _inform(agent, memory, evidence, allowed)
    rates, worth, least, largest = memory.scratch[_RATES], 0, math.inf, 0.0
    for place in range(n_allowed):
        gap = expected[leader] - expected[place]
        if place != leader and rounds * rates[place] <= gap:
            rates[place] = 0.0  # not worth a pull
        elif rates[place] > 0.0:
            worth += 1 if place != leader else 0
            rates[place] = min(rates[place] / cost, 1.0)
            least = min(least, (gap + cost) / rates[place])
            largest = max(largest, rates[place])
    if worth == 0:
        return
    for place in range(n_allowed):
        regret = expected[leader] - expected[place] + cost
        scores[place] = -math.inf
        if rates[place] > 0.0 and regret / rates[place] <= _WITHIN * least:
            scores[place] = -regret * regret / rates[place]
    if rounds * largest < 1.0:  # the doubt cannot be resolved in time: what pays most
        for place in range(n_allowed):
            gap = expected[leader] - expected[place]
            scores[place] = rounds * rates[place] * cost - gap


@implements(decide, ValueAgent)
def _decide(
    agent: Any, memory: Any, evidence: Any, allowed: Any, moment: Any, generator: Any
) -> Any:
    score_arms(agent, memory, evidence, allowed, moment)
    best, chosen, ties = -math.inf, -1, 0
    for place in range(allowed.size):
        value, arm = memory.scratch[_SCORES, place], np.int64(allowed[place])
        best, chosen, ties = take_larger(best, chosen, ties, value, arm, generator)
    return chosen


@kernel
def value_scores(
    agent: ValueAgent, memory: Any, block: np.ndarray, allowed: np.ndarray, moment: Moment
) -> np.ndarray:
    """Score of each allowed arm: (allowed,)."""
    score_arms(agent, memory, evidence_of(block), allowed, moment)
    result: np.ndarray = memory.scratch[_SCORES, : allowed.size].copy()
    return result
