"""The figures of the paper by ID: settings, simulation, figures and the claims they support.

It does not depend on the command line or on reports.
"""

from __future__ import annotations

from structuredbandits.experiments._experiment_ids import (
    experiment_ids,
    experiments_with_data,
    load_experiment,
)
from structuredbandits.experiments.experiment import Claim, Outcome, PaperExperiment
from structuredbandits.experiments.runner import reproduce, run

Experiment = PaperExperiment
"""The former name of `PaperExperiment`."""

__all__ = [
    "Claim",
    "Experiment",
    "Outcome",
    "PaperExperiment",
    "experiment_ids",
    "experiments_with_data",
    "load_experiment",
    "reproduce",
    "run",
]
