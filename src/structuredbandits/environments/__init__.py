"""Where rewards come from, as frozen descriptions that a simulator or a loop can draw from.

This room must not know policies.
"""

from structuredbandits.environments.bernoulli import Bernoulli
from structuredbandits.environments.gaussian import Gaussian
from structuredbandits.environments.protocol import (
    Environment,
    NormalEnvironment,
    TableEnvironment,
)
from structuredbandits.environments.ratings import Ratings
from structuredbandits.environments.streams import RewardStream

__all__ = [
    "Bernoulli",
    "Environment",
    "Gaussian",
    "NormalEnvironment",
    "Ratings",
    "RewardStream",
    "TableEnvironment",
]
