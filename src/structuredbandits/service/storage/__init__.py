"""The storage of the service: one set of tables, for SQLite and PostgreSQL."""

from structuredbandits.service.storage.database import Database, open_database, reachable
from structuredbandits.service.storage.migrate import migrate, schema_version

__all__ = ["Database", "migrate", "open_database", "reachable", "schema_version"]
