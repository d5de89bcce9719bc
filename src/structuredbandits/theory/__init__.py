"""What follows from a structure before any pull: which arms compete, and what regret to expect.

This room must not know policies, simulations or pictures.
"""

from structuredbandits.theory.analysis import C_epsilon, analyze
from structuredbandits.theory.bounds import (
    PullsBound,
    RegretBound,
    ThompsonBound,
    coverage_failure,
)
from structuredbandits.theory.diagnostics import share_above_fair
from structuredbandits.theory.lower_bound import LowerBound, lower_bound
from structuredbandits.theory.regions import Region
from structuredbandits.theory.report import Analysis
from structuredbandits.theory.table import AnalysisTable

__all__ = [
    "Analysis",
    "AnalysisTable",
    "C_epsilon",
    "LowerBound",
    "PullsBound",
    "Region",
    "RegretBound",
    "ThompsonBound",
    "analyze",
    "coverage_failure",
    "lower_bound",
    "share_above_fair",
]
