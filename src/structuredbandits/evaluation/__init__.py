"""What another policy would have earned, from a log of decisions and their probabilities.

This room must not know services or terminals.
"""

from structuredbandits.evaluation.estimate import Estimate
from structuredbandits.evaluation.evaluate import evaluate
from structuredbandits.evaluation.practice import simulate_log
from structuredbandits.evaluation.targets import Decision

__all__ = ["Decision", "Estimate", "evaluate", "simulate_log"]
