"""What follows from a structure before any pull: the competitive arms and the expected regret.

It does not depend on policies, simulations or plots.
"""

from structuredbandits.theory._analysis import Analysis
from structuredbandits.theory._analysis_table import AnalysisTable
from structuredbandits.theory._analyze import C_epsilon, analyze
from structuredbandits.theory._bounds import (
    PullsBound,
    RegretBound,
    ThompsonBound,
    coverage_failure,
)
from structuredbandits.theory._fair_share import share_above_fair
from structuredbandits.theory._regions import Region
from structuredbandits.theory.lower_bound import LowerBound, lower_bound

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
