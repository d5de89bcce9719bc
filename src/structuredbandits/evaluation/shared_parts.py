"""What other packages use of off-policy evaluation: columns of logs, fixed shares, influences."""

from structuredbandits.evaluation._decision_log import (
    latest_rows,
    read_probabilities,
    read_rewards,
)
from structuredbandits.evaluation._interval_choice import has_lost_weight, influence_of
from structuredbandits.evaluation._target_policy import fixed_target, named_arms, shares_of

__all__ = [
    "fixed_target",
    "has_lost_weight",
    "influence_of",
    "latest_rows",
    "named_arms",
    "read_probabilities",
    "read_rewards",
    "shares_of",
]
