"""What is known: Θ, the arms' mean rewards as functions of θ, and how noisy rewards are.

It does not depend on policies, environments or the embedded problems.
"""

from structuredbandits.structure._files import read_structure, structure_from_bytes
from structuredbandits.structure._finite import Finite
from structuredbandits.structure._grids import Box, Interval
from structuredbandits.structure._piecewise import PiecewiseLinear, Segment
from structuredbandits.structure.parameters import (
    FloatArray,
    Parameters,
    Theta,
    as_number,
    brief,
    read_only,
    show_theta,
)
from structuredbandits.structure.reward_family import FAMILIES, Rewards
from structuredbandits.structure.structure import Structure, require_structure
from structuredbandits.structure.validation import StructureOptions

__all__ = [
    "FAMILIES",
    "Box",
    "Finite",
    "FloatArray",
    "Interval",
    "Parameters",
    "PiecewiseLinear",
    "Rewards",
    "Segment",
    "Structure",
    "StructureOptions",
    "Theta",
    "as_number",
    "brief",
    "read_only",
    "read_structure",
    "require_structure",
    "show_theta",
    "structure_from_bytes",
]
