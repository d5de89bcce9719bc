"""The service over HTTP: one file a resource, and what all of them share.

This room knows FastAPI. It must not know SQL, nor how decisions are made.
"""

from structuredbandits.service.api.app import create_app

__all__ = ["create_app"]
