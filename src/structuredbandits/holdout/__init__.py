"""The lift of a policy over a holdout group, with intervals that are valid at every time."""

from structuredbandits.holdout._lift import lift
from structuredbandits.holdout._lift_result import (
    Lift,
    LiftInterval,
    lift_sentence,
    readable_time,
)
from structuredbandits.holdout._sample_ratio import SampleRatio

__all__ = ["Lift", "LiftInterval", "SampleRatio", "lift", "lift_sentence", "readable_time"]
