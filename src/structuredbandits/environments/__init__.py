"""Environments: frozen descriptions of reward distributions, for the simulator and for loops."""

from structuredbandits.environments._bernoulli import Bernoulli
from structuredbandits.environments._bounded import Bounded
from structuredbandits.environments._environment import (
    Environment,
    NormalEnvironment,
    TableEnvironment,
    require_environment,
)
from structuredbandits.environments._gaussian import Gaussian, default_environment
from structuredbandits.environments._persons import Persons, PersonStream
from structuredbandits.environments._ratings import Ratings
from structuredbandits.environments._reward_stream import RewardStream

__all__ = [
    "Bernoulli",
    "Bounded",
    "Environment",
    "Gaussian",
    "NormalEnvironment",
    "PersonStream",
    "Persons",
    "Ratings",
    "RewardStream",
    "TableEnvironment",
    "default_environment",
    "require_environment",
]
