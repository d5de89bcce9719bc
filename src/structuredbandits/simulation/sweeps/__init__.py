"""Grids of simulations too large for one sitting or one machine, kept in a folder that resumes.

This room cuts a grid into pieces, has joblib do them somewhere, and keeps one file a piece. It must
not know how a run is simulated, nor which machines there are.
"""

from structuredbandits.simulation.sweeps.results import SweepResults, load_sweep
from structuredbandits.simulation.sweeps.sweep import sweep

__all__ = ["SweepResults", "load_sweep", "sweep"]
