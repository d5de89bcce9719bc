"""A Bayesian index that starts from each arm's mean in the population and knows no θ.

It has the warm start and the horizon of the structured policies, but not the structure: what a
structured policy earns beyond it comes from θ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from structuredbandits.confidence.joint_set import scratch_memory
from structuredbandits.confidence.memory import Memory
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.lengths import LengthTable, length_table, rounds_after_this
from structuredbandits.policies.parameter_checks import LARGEST, positive
from structuredbandits.policies.registration import register
from structuredbandits.policies.structured.hierarchical_index import gittins_bonus
from structuredbandits.policies.structured.population import Population, population_of
from structuredbandits.policies.structured.score_policy import ScoreAlgorithm, scores_of
from structuredbandits.structure.interaction_length import Length, read_length

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class PriorIndexAgent(NamedTuple):
    """Parameters of the index in compiled code."""

    population: Population
    lengths: LengthTable


@register(
    summary="An index per arm that starts from the arm's overall mean and ignores the structure.",
    use="The baseline that has the same warm start as a structured policy, and no structure.",
    needs=("horizon",),
    colour="olive",
    order=116,
)
@dataclass(frozen=True, repr=False)
class PriorIndex(ScoreAlgorithm):
    """m_k + √v_k · b(R v_k / noise²), with m_k, v_k the posterior mean and variance of arm k alone.

    The prior of arm k is N(mean over θ, variance between θ + mean squared standard error); its
    rewards change the belief about itself only. R is the number of rounds to come and b the
    finite-horizon Gittins index of a normal arm, as in `HierarchicalIndex`.

    Parameters
    ----------
    noise
        Standard deviation of one reward. None: what the structure's own counts and standard errors
        imply, or its sigma if they imply nothing (see `reward_variance`).

    length
        Number of interactions of a subject, as in `ValueOfInformation`.

    References
    ----------
    T. Lattimore, "Regret analysis of the finite-horizon Gittins index strategy for multi-armed
    bandits", COLT 2016.

    Examples
    --------
    >>> from structuredbandits.structure import Structure
    >>> known = Structure.from_table([[1.0, 0.0], [1.0, 1.2]], arms=["a", "b"], sigma=1.0)
    >>> PriorIndex().start(known, horizon=1).pull()
    'a'
    >>> PriorIndex().start(known, horizon=100).pull()
    'b'
    """

    noise: float | None = positive(None, at_most=LARGEST)
    length: Length | None = None
    name: ClassVar[str] = "prior-index"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "length", read_length(self.length, InvalidPolicy))

    def agent(self, structure: Structure, rounds: int, horizon: int) -> PriorIndexAgent:
        lengths = length_table(self.length, structure.length)
        return PriorIndexAgent(population_of(structure, self.noise), lengths)

    def memory(self, structure: Structure) -> Memory:
        return scratch_memory(structure.n_arms, 1, structure.n_arms)


@scores_of(PriorIndexAgent)
def _score(agent: Any, floats: Any, evidence: Any, allowed: Any, moment: Any) -> Any:
    means, variances, noise = agent.population
    rounds = rounds_after_this(agent.lengths, moment) + 1.0
    for place in range(allowed.size):
        arm = allowed[place]
        mean, variance = means[arm], variances[arm]
        if evidence.counts[arm] > 0.0 and variance > 0.0:
            sampling = noise[arm] / evidence.counts[arm]
            trust = variance / (variance + sampling)
            mean += trust * (evidence.means[arm] - mean)
            variance = trust * sampling
        bonus = gittins_bonus(rounds * variance / noise[arm])
        floats[0, place] = mean + math.sqrt(variance) * bonus
