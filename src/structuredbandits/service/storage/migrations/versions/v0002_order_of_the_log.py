"""Adds the number of rewards before each decision, and audit numbers that are not reused.

Before it `migrate` works through a large log in batches.
"""

import sqlalchemy as sa
from alembic import op

from structuredbandits.service.storage.migrations import reward_counts

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

work = reward_counts.work


def upgrade() -> None:
    """Count the earlier rewards of existing decisions by their times."""
    connection = op.get_bind()
    while work(connection) is not None:
        pass
    finished = sa.text("DELETE FROM counters WHERE name LIKE :name")
    connection.execute(finished, {"name": f"{reward_counts.PROGRESS}%"})
    if connection.dialect.name == "sqlite":
        _number_the_audit_once()


def _number_the_audit_once() -> None:
    # SQLite reuses the number of a deleted last row unless the table forbids it, and lines of the
    # audit log are deleted with their subject.
    options = {"sqlite_autoincrement": True}
    with op.batch_alter_table("audit", recreate="always", table_kwargs=options):
        pass
