"""Sweeps: grids of simulations, run on one machine or a cluster, in a folder that can be resumed.

A grid is split into pieces of some runs each; joblib distributes the pieces, and each piece writes
one file.
"""

from structuredbandits.simulation.sweeps._sweep import sweep
from structuredbandits.simulation.sweeps._sweep_results import SweepResults, load_sweep

__all__ = ["SweepResults", "load_sweep", "sweep"]
