"""The probabilities of the next choice, compiled, for many subjects at once.

An operation `share` is found by the type of an agent, as `decide` is. An algorithm for whose agent
it is registered has ``shares_are_compiled``. The results are within a thousandth of
`Policy.probabilities`, which is slower.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structuredbandits._compiled import borrow, by_type, kernel, unowned
from structuredbandits.confidence.memory import Memory, confidence_state
from structuredbandits.policies.candidates import competitive_candidates
from structuredbandits.policies.classical.thompson import ThompsonAgent
from structuredbandits.policies.competitive import CompetitiveAgent
from structuredbandits.policies.joint_competitive import JointAgent
from structuredbandits.policies.max_of_normals import Normals, add_largest
from structuredbandits.policies.protocol import (
    _registered,
    implements,
    index_or_infinity,
    leading_mean,
)
from structuredbandits.policies.run_kernels import recall
from structuredbandits.policies.structured.hierarchical import HierarchicalAgent
from structuredbandits.policies.structured.hierarchical_model import (
    list_plausible,
    posterior_of_mean,
)
from structuredbandits.policies.structured.value_of_information import ValueAgent, score_arms

# θ whose weights together are below this are left out.
_NEGLIGIBLE = 3e-4
# Rows of scratch numbers, each as long as the arms: three for the quadrature, three of our own.
_SCRATCH_ROWS = 6


class Workspace(NamedTuple):
    """What the quadrature reads and where it calculates; made once for many subjects."""

    normals: Normals
    scratch: np.ndarray  # (6, arms)
    work: np.ndarray  # (2 arms + 1, most points + 2)


def share(
    agent: Any,
    memory: Any,
    evidence: Any,
    allowed: np.ndarray,
    n_allowed: int,
    moment: Any,
    generator: Any,
    space: Workspace,
    shares: np.ndarray,
) -> None:
    """Write the probability of each of the first ``n_allowed`` allowed arms to ``shares``: (arms,).

    ``shares`` is 0 everywhere before.
    """
    raise TypeError("share is for compiled code")


@by_type(share)
def _share(
    agent: Any,
    memory: Any,
    evidence: Any,
    allowed: Any,
    n_allowed: Any,
    moment: Any,
    generator: Any,
    space: Any,
    shares: Any,
) -> Any:
    own = _registered("share", agent)
    return _share_by_index if own is None and _registered("index", agent) is not None else own


def _share_by_index(
    agent: Any,
    memory: Any,
    evidence: Any,
    allowed: Any,
    n_allowed: Any,
    moment: Any,
    generator: Any,
    space: Any,
    shares: Any,
) -> Any:
    leader = leading_mean(evidence, allowed, n_allowed)
    best, fewest, ties = -math.inf, math.inf, 0
    values = space.scratch[0]
    for place in range(n_allowed):
        arm = allowed[place]
        value = index_or_infinity(agent, evidence, arm, leader, n_allowed, moment, generator)
        values[place] = value
        pending = evidence.pending[arm] if value == math.inf else 0.0
        if value > best or (value == best and pending < fewest) or ties == 0:
            best, fewest, ties = value, pending, 1
        elif value == best and pending == fewest:
            ties += 1
    for place in range(n_allowed):
        arm = allowed[place]
        if values[place] == best and (best < math.inf or evidence.pending[arm] == fewest):
            shares[arm] = 1.0 / ties


@implements(share, ThompsonAgent)
def _share_of_thompson(
    agent: Any,
    memory: Any,
    evidence: Any,
    allowed: Any,
    n_allowed: Any,
    moment: Any,
    generator: Any,
    space: Any,
    shares: Any,
) -> Any:
    fewest, ties = math.inf, 0
    for place in range(n_allowed):
        arm = allowed[place]
        if evidence.counts[arm] == 0.0:
            if evidence.pending[arm] < fewest:
                fewest, ties = evidence.pending[arm], 1
            elif evidence.pending[arm] == fewest:
                ties += 1
    if ties > 0:  # what was never seen comes first
        for place in range(n_allowed):
            arm = allowed[place]
            if evidence.counts[arm] == 0.0 and evidence.pending[arm] == fewest:
                shares[arm] = 1.0 / ties
        return
    scratch = space.scratch
    means, deviations, won = scratch[3], scratch[4], scratch[5]
    for place in range(n_allowed):
        arm = allowed[place]
        means[place] = evidence.means[arm]
        deviations[place] = agent.widths[arm] * evidence.scales[arm]
        won[place] = 0.0
    add_largest(space.normals, means, deviations, n_allowed, 1.0, scratch, space.work, won)
    for place in range(n_allowed):
        shares[allowed[place]] = won[place]


@implements(share, CompetitiveAgent)
@implements(share, JointAgent)
def _share_of_competitive(
    agent: Any,
    memory: Any,
    evidence: Any,
    allowed: Any,
    n_allowed: Any,
    moment: Any,
    generator: Any,
    space: Any,
    shares: Any,
) -> Any:
    candidates, count = competitive_candidates(agent.tables, confidence_state(memory), allowed)
    share(
        agent.inner,
        memory,
        evidence,
        candidates,
        count,
        moment,
        generator,
        space,
        shares,
    )


@implements(share, HierarchicalAgent)
def _share_of_hierarchical(
    agent: Any,
    memory: Any,
    evidence: Any,
    allowed: Any,
    n_allowed: Any,
    moment: Any,
    generator: Any,
    space: Any,
    shares: Any,
) -> Any:
    tree, model = memory.floats, agent.model
    numbers = np.empty(model.log_prior.size, dtype=np.int64)
    count = list_plausible(model, tree[1], tree[0], numbers)
    least = _NEGLIGIBLE / count
    scratch = space.scratch
    means, deviations, won = scratch[3], scratch[4], scratch[5]
    for place in range(n_allowed):
        won[place] = 0.0
    for number in range(count):
        weight = tree[0, number]
        if weight < least:
            continue
        for place in range(n_allowed):
            mean, variance = posterior_of_mean(model, evidence, numbers[number], allowed[place])
            means[place], deviations[place] = mean, agent.spread * math.sqrt(variance)
        add_largest(space.normals, means, deviations, n_allowed, weight, scratch, space.work, won)
    for place in range(n_allowed):
        shares[allowed[place]] = won[place]


@implements(share, ValueAgent)
def _share_of_value(
    agent: Any,
    memory: Any,
    evidence: Any,
    allowed: Any,
    n_allowed: Any,
    moment: Any,
    generator: Any,
    space: Any,
    shares: Any,
) -> Any:
    score_arms(agent, memory, evidence, allowed[:n_allowed], moment)
    scores, best, ties = memory.scratch[0], -math.inf, 0
    for place in range(n_allowed):
        if scores[place] > best or ties == 0:
            best, ties = scores[place], 1
        elif scores[place] == best:
            ties += 1
    for place in range(n_allowed):
        if scores[place] == best:
            shares[allowed[place]] = 1.0 / ties


@kernel
def share_many(
    agent: Any,
    memory: Memory,
    blocks: np.ndarray,
    decided: np.ndarray,
    horizon: int,
    allowed: np.ndarray,
    addresses: np.ndarray,
    normals: Normals,
) -> np.ndarray:
    """Probability of each arm for each of many subjects, from their evidence: (subjects, arms)."""
    agent, memory = unowned(agent), unowned(memory)
    generator = borrow(addresses)
    shares = np.zeros((blocks.shape[0], blocks.shape[2]))
    scratch = np.empty((_SCRATCH_ROWS, blocks.shape[2]))
    work = np.empty((2 * blocks.shape[2] + 1, normals.most_points + 2))
    for subject in range(blocks.shape[0]):
        evidence, moment = recall(
            agent, memory, unowned(blocks[subject]), decided[subject], horizon
        )
        share(
            agent,
            memory,
            evidence,
            unowned(allowed),
            allowed.size,
            moment,
            generator,
            # Made for each subject: arrays live only as long as they are still named.
            Workspace(unowned(normals), unowned(scratch), unowned(work)),
            unowned(shares[subject]),
        )
        total = shares[subject].sum()
        for arm in range(blocks.shape[2]):
            shares[subject, arm] /= total
    return shares
