"""Bandit policies that use what is known about how the arms' rewards depend on one another."""

from structuredbandits._version import __version__

__all__ = ["__version__"]
