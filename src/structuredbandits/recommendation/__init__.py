"""Which policy suits a structure, from how many interactions on, and how fast types are recognised.

Everything is simulated in worlds that the structure allows; nothing here is used by a policy.
"""

from structuredbandits.recommendation._comparison import CANDIDATES, Candidate
from structuredbandits.recommendation._gain_by_length import GainByLength, gain_by_length
from structuredbandits.recommendation._recommend import Recommendation, recommend
from structuredbandits.recommendation._rounds_to_know import RoundsToKnow, rounds_to_know
from structuredbandits.recommendation.worlds import draw_true_means

__all__ = [
    "CANDIDATES",
    "Candidate",
    "GainByLength",
    "Recommendation",
    "RoundsToKnow",
    "draw_true_means",
    "gain_by_length",
    "recommend",
    "rounds_to_know",
]
