"""Off-policy evaluation: what another policy would have earned, estimated from a decision log."""

from structuredbandits.evaluation._evaluate import compare_policies, evaluate
from structuredbandits.evaluation._foreign_logs import read_log
from structuredbandits.evaluation._paired_difference import Difference, PolicyComparison
from structuredbandits.evaluation._synthetic_log import simulate_log
from structuredbandits.evaluation._target_policy import DecisionInput
from structuredbandits.evaluation._value_estimate import Estimate

Decision = DecisionInput
"""The former name of `DecisionInput`."""

__all__ = [
    "Decision",
    "DecisionInput",
    "Difference",
    "Estimate",
    "PolicyComparison",
    "compare_policies",
    "evaluate",
    "read_log",
    "simulate_log",
]
