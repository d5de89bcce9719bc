"""From a log to a structure: one group-by, an estimate, and a report of where it is weak.

This room must not know policies, services or terminals.
"""

from structuredbandits.learning.cells import Cells, RowCounts, read_cells
from structuredbandits.learning.estimate import Learned, Repairs, estimate_structure
from structuredbandits.learning.learn import LearnedStructure, learn_structure
from structuredbandits.learning.practice import simulate_survey
from structuredbandits.learning.report import LearningReport, ThinCell, learning_report

__all__ = [
    "Cells",
    "Learned",
    "LearnedStructure",
    "LearningReport",
    "Repairs",
    "RowCounts",
    "ThinCell",
    "estimate_structure",
    "learn_structure",
    "learning_report",
    "read_cells",
    "simulate_survey",
]
