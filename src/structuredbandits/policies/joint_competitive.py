"""Algorithm-C's memory when the confidence set is a joint one: recomputed after each reward.

Steps 2 and 3 read it as they read the paper's set.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from structuredbandits.confidence.joint_set import JointTables, settle
from structuredbandits.confidence.memory import confidence_state
from structuredbandits.confidence.sorted_tables import SortedTables
from structuredbandits.policies.protocol import implements, learn, restore


class JointAgent(NamedTuple):
    """Parameters of Algorithm-C with a joint confidence set in compiled code."""

    inner: Any  # the classical agent of step 3
    informative: Any  # an informative agent, or Uninformative
    tables: SortedTables
    joint: JointTables
    alpha: float  # the set of round t is for delta = t^-alpha
    pull_each_arm_first: bool


@implements(restore, JointAgent)
def _restore(agent: Any, memory: Any, evidence: Any, moment: Any) -> Any:
    log_one_over_delta = agent.alpha * moment.log_t
    state, misfits = confidence_state(memory), memory.floats[0]
    settle(agent.tables, agent.joint, evidence, state, misfits, log_one_over_delta)


@implements(learn, JointAgent)
def _learn(agent: Any, memory: Any, evidence: Any, arm: Any, moment: Any) -> Any:
    log_one_over_delta = agent.alpha * moment.log_t
    state, misfits = confidence_state(memory), memory.floats[0]
    settle(agent.tables, agent.joint, evidence, state, misfits, log_one_over_delta)
