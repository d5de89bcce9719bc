"""UCB-g: regional bandits, where the arms of a group share a θ and groups know nothing of others.

The scores here also serve WAGP, which is the case of one group that never explores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structuredbandits.confidence.joint_set import scratch_memory
from structuredbandits.confidence.memory import Memory
from structuredbandits.errors import InvalidPolicy
from structuredbandits.policies.parameter_checks import positive
from structuredbandits.policies.registration import register
from structuredbandits.policies.structured.invertible_arms import (
    Curves,
    curves_of,
    mean_at_theta,
    theta_from_mean,
)
from structuredbandits.policies.structured.score_policy import ScoreAlgorithm, scores_of

if TYPE_CHECKING:
    from structuredbandits.structure import Structure


class RegionalAgent(NamedTuple):
    """Parameters of UCB-g and WAGP in compiled code."""

    curves: Curves
    group_of: np.ndarray  # (arms,) int64
    reach: np.ndarray  # (groups,) D2, 0 for no exploration
    unit: np.ndarray  # (groups,) sqrt(alpha) * (largest sigma) / D1
    power: float  # gamma2 / gamma1


@register(
    summary="Upper confidence bound for groups of arms, each with a parameter of its own.",
    use="Regions or groups whose arms share a scalar parameter.",
    needs=("monotone means",),
    colour="wine",
    order=210,
)
@dataclass(frozen=True, repr=False)
class UCBG(ScoreAlgorithm):
    """argmax_k mu_k(θ̂_m) + D2 (sqrt(2 alpha sigma² log t / N_m) / D1)^(gamma2/gamma1), m = group.

    Within group m, θ̂_m is the mean of what its arms say about θ, weighted by their pulls, and N_m
    is their number. D1 |θ − θ'|^gamma1 ≤ |mu_k(θ) − mu_k(θ')| ≤ D2 |θ − θ'|^gamma2 must hold for
    the arms of a group. Needs a scalar θ and means that are strictly monotone in it.

    Parameters
    ----------
    alpha
        Width of the confidence bound.
    groups
        Names of the arms of each group, for example ``(("a", "b"), ("c",))``; all arms in one group
        if None.
    d1, d2
        The constants of the condition; for gamma1 = gamma2 = 1 and None they are the smallest and
        the largest slope in the group.
    gamma1, gamma2
        Its exponents.

    References
    ----------
    Z. Wang, R. Zhou, C. Shen, "Regional multi-armed bandits with partial informativeness", IEEE
    Transactions on Signal Processing 66(21), 2018.
    """

    alpha: float = positive(3.0)
    groups: tuple[tuple[str, ...], ...] | None = None
    d1: float | None = positive(None)
    d2: float | None = positive(None)
    gamma1: float = positive(1.0)
    gamma2: float = positive(1.0)
    name: ClassVar[str] = "ucb-g"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.gamma1, self.gamma2) != (1.0, 1.0) and None in (self.d1, self.d2):
            raise InvalidPolicy(
                "UCBG can derive d1 and d2 only for gamma1 = gamma2 = 1; give both."
            )
        if self.groups is not None:
            try:
                plain = tuple(tuple(map(str, group)) for group in self.groups)
            except TypeError:
                raise InvalidPolicy(
                    f"the groups are {self.groups!r}; give the names of each group's arms, for "
                    "example (('a', 'b'), ('c',))."
                ) from None
            object.__setattr__(self, "groups", plain)

    def check(self, structure: Structure) -> None:
        curves_of(structure, self.name)
        self._group_of(structure)

    def _group_of(self, structure: Structure) -> np.ndarray:
        """Number of each arm's group: (arms,)."""
        if self.groups is None:
            return np.zeros(structure.n_arms, dtype=np.int64)
        found = np.full(structure.n_arms, -1, dtype=np.int64)
        for number, group in enumerate(self.groups):
            for arm in group:
                place = structure.arm_index(arm)
                if found[place] >= 0:
                    raise InvalidPolicy(f"arm {arm!r} is in two groups; put each arm into one.")
                found[place] = number
        if (found < 0).any():
            arm = structure.arms[int(found.argmin())]
            raise InvalidPolicy(f"arm {arm!r} is in no group; put each arm into one.")
        return np.unique(found, return_inverse=True)[1].astype(np.int64)

    def agent(self, structure: Structure, rounds: int, horizon: int) -> RegionalAgent:
        curves = curves_of(structure, self.name)
        group_of = self._group_of(structure)
        slopes = np.abs(np.diff(curves.means, axis=1) / np.diff(curves.theta))
        reach, unit = [], []
        for group in range(int(group_of.max()) + 1):
            inside = group_of == group
            known = slopes[inside]
            reach.append(float(known.max()) if self.d2 is None else self.d2)
            lowest = float(known.min()) if self.d1 is None else self.d1
            unit.append(math.sqrt(self.alpha) * float(structure.sigma[inside].max()) / lowest)
        return RegionalAgent(
            curves, group_of, np.array(reach), np.array(unit), self.gamma2 / self.gamma1
        )

    def memory(self, structure: Structure) -> Memory:
        return scratch_memory(structure.n_arms, 3, structure.n_arms)


@scores_of(RegionalAgent)
def _score(agent: Any, floats: Any, evidence: Any, allowed: Any, moment: Any) -> Any:
    scores, pulls, theta = floats[0], floats[1], floats[2]
    n_groups = agent.reach.size
    for group in range(n_groups):
        pulls[group] = 0.0
        theta[group] = 0.0
    for arm in range(agent.group_of.size):
        if evidence.counts[arm] > 0.0:
            said = theta_from_mean(agent.curves, arm, evidence.means[arm])
            pulls[agent.group_of[arm]] += evidence.counts[arm]
            theta[agent.group_of[arm]] += evidence.counts[arm] * said
    for group in range(n_groups):
        if pulls[group] > 0.0:
            theta[group] /= pulls[group]
    for place in range(allowed.size):
        arm = allowed[place]
        group = agent.group_of[arm]
        scores[place] = math.inf
        if pulls[group] > 0.0:
            scores[place] = mean_at_theta(agent.curves, arm, theta[group])
            if agent.reach[group] > 0.0:
                error = agent.unit[group] * moment.width / math.sqrt(pulls[group])
                scores[place] += agent.reach[group] * error**agent.power
