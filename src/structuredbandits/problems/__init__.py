"""Problems to try policies on: a structure, where its rewards come from, and the θ to try.

This room must not know policies or simulations.
"""

from structuredbandits.problems.catalogue import (
    ProblemRow,
    describe_problems,
    load_problem,
    load_structure,
    problem_names,
)
from structuredbandits.problems.problem import Problem

__all__ = [
    "Problem",
    "ProblemRow",
    "describe_problems",
    "load_problem",
    "load_structure",
    "problem_names",
]
