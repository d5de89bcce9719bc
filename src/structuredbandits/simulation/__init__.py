"""Many runs of many policies on the same luck: the compiled loop, its random streams, the results.

This room must not know figures of a paper, files of experiments or services.
"""

from structuredbandits.simulation.results import Results, load_results
from structuredbandits.simulation.runner import simulate

__all__ = ["Results", "load_results", "simulate"]
