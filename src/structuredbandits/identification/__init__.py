"""Best-arm identification: pull until the best arm is known with the given confidence."""

from structuredbandits.identification._identify import Identification, identify

__all__ = ["Identification", "identify"]
