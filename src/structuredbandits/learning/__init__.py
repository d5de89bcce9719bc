"""Learn structures from logs: one group-by, an estimate, and a report of its weak places.

It does not depend on policies or services.
"""

from structuredbandits.learning._cells import Cells, RowCounts, read_cells
from structuredbandits.learning._learn import (
    LearnedStructure,
    learn_structure,
    learn_structure_with_report,
)
from structuredbandits.learning._learning_report import LearningReport, ThinCell, learning_report
from structuredbandits.learning._segment_columns import doubtful_segments
from structuredbandits.learning.estimation import Learned, Repairs, estimate_structure
from structuredbandits.learning.kinds import KindsReport, LearnedKinds, learn_kinds
from structuredbandits.learning.synthetic_survey import simulate_survey

__all__ = [
    "Cells",
    "KindsReport",
    "Learned",
    "LearnedKinds",
    "LearnedStructure",
    "LearningReport",
    "Repairs",
    "RowCounts",
    "ThinCell",
    "doubtful_segments",
    "estimate_structure",
    "learn_kinds",
    "learn_structure",
    "learn_structure_with_report",
    "learning_report",
    "read_cells",
    "simulate_survey",
]
