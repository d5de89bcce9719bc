"""Where everything is kept: one set of tables, for SQLite and PostgreSQL.

This room knows SQL. It must not know policies, experiments' rules or HTTP.
"""

from structuredbandits.service.storage.database import Database, open_database, reachable
from structuredbandits.service.storage.migrate import migrate, schema_version

__all__ = ["Database", "migrate", "open_database", "reachable", "schema_version"]
