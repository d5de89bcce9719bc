"""What is known: Θ, the arms' mean rewards as functions of θ, and how noisy rewards are.

This room must not know policies, environments or embedded problems.
"""

from structuredbandits.structure.files import read_structure
from structuredbandits.structure.parameters import Box, Finite, Interval, Parameters, Theta
from structuredbandits.structure.piecewise import PiecewiseLinear, Segment
from structuredbandits.structure.structure import Structure

__all__ = [
    "Box",
    "Finite",
    "Interval",
    "Parameters",
    "PiecewiseLinear",
    "Segment",
    "Structure",
    "Theta",
    "read_structure",
]
