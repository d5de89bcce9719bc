"""Problems to try policies on: a structure, its environment, and the θ to simulate.

It does not depend on policies or simulations.
"""

from structuredbandits.problems._catalogue import (
    ProblemRow,
    describe_problems,
    load_problem,
    load_structure,
    problem_names,
)
from structuredbandits.problems._clicks import click_problem
from structuredbandits.problems._problem import Problem

__all__ = [
    "Problem",
    "ProblemRow",
    "click_problem",
    "describe_problems",
    "load_problem",
    "load_structure",
    "problem_names",
]
