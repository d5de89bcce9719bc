"""The published figures, each by an id: settings, simulation, pictures and the claims they support.

This room must not know the command line nor how a report is laid out.
"""

from __future__ import annotations

from structuredbandits.experiments.catalogue import experiment_ids, load_experiment
from structuredbandits.experiments.experiment import Claim, Experiment, Outcome
from structuredbandits.experiments.running import reproduce, run

__all__ = [
    "Claim",
    "Experiment",
    "Outcome",
    "experiment_ids",
    "load_experiment",
    "reproduce",
    "run",
]
