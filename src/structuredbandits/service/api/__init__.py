"""The HTTP API: one file per resource, and what all of them share."""

from structuredbandits.service.api.app import create_app

__all__ = ["create_app"]
