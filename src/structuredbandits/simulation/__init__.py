"""Simulation: many runs of many policies on identical rewards, with exact regret."""

from structuredbandits.simulation._results import Results, load_results
from structuredbandits.simulation._simulate import simulate

__all__ = ["Results", "load_results", "simulate"]
